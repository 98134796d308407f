"""An archive copied to a claim: by a pod that mounts the claim for as long as it takes, and `kubectl exec`.

The pod has the job's own image, user and pull secrets, so what may run the job may write for it. It is removed in any
case; where this process is killed, the pod's deadline ends it.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import shutil
from typing import TYPE_CHECKING

from shoal.kubernetes.client.connection import NO_KUBECTL
from shoal.kubernetes.code import program, resources_of
from shoal.kubernetes.labels import COMPONENT
from shoal.kubernetes.operator.api import Object
from shoal.kubernetes.operator.client import Client
from shoal.kubernetes.operator.kinds import PODS
from shoal.kubernetes.operator.observe import waits_for
from shoal.kubernetes.security import restrict
from shoal.resources import ReplicaSpec, TFJob
from shoal.resources.code import CODE_NAME
from shoal.runs import RunError

if TYPE_CHECKING:
    from shoal.kubernetes.client.delivery import Delivery

DEADLINE_SECONDS = 3600
"""How long the pod may live."""

START_SECONDS = 300.0
"""How long it may take to run."""

LOOK_SECONDS = 0.3
FOLDER = "/shoal/claim"
OF_POD = ("securityContext", "imagePullSecrets", "serviceAccountName", "nodeSelector", "tolerations", "affinity")
WAIT = f"import time; time.sleep({DEADLINE_SECONDS})"
LOOK = "import os, sys; sys.exit(not os.path.exists(sys.argv[1]))"


async def upload(client: Client, namespace: str, job: TFJob, delivery: Delivery) -> None:
    """Put the archive on the claim, unless it is there. Raises RunError where that cannot be done."""
    if shutil.which("kubectl") is None:
        raise RunError(*NO_KUBECTL)
    source = delivery.spec().claim
    assert source is not None
    pod = _pod(next(iter(job.replicas.values())), namespace, source.name)
    name = pod["metadata"]["name"]
    await client.create(PODS, pod)
    try:
        await _until_running(client, namespace, name)
        execute = ["kubectl", *(("--context", delivery.context) if delivery.context else ()), "--namespace", namespace]
        execute += ["exec", "--stdin", name, "--", "python3", "-c"]
        path = f"{FOLDER}/{source.path}"
        if (await _run([*execute, LOOK, path], None))[0] == 0:
            return
        delivery.tell(f"copying it to the claim {source.name}")
        delivery.file.seek(0)
        code, told = await _run([*execute, program("receive"), path, source.digest], delivery.file.fileno())
        if code != 0:
            raise RunError(
                f"cannot copy the code to the claim {source.name}: {told}",
                "may the job's user (the pod's securityContext) write there?",
            )
    finally:
        await client.delete(PODS, namespace, name, grace_seconds=0)


def _pod(replica: ReplicaSpec, namespace: str, claim: str) -> Object:
    template: Object = replica.template["spec"]
    own = replica.container
    container: Object = {key: own[key] for key in ("image", "imagePullPolicy") if key in own}
    container |= {"name": CODE_NAME, "command": ["python3", "-c", WAIT], "resources": resources_of(own)}
    container["volumeMounts"] = [{"name": "claim", "mountPath": FOLDER}]
    spec: Object = {
        **{key: template[key] for key in OF_POD if key in template},
        "restartPolicy": "Never",
        "activeDeadlineSeconds": DEADLINE_SECONDS,
        "automountServiceAccountToken": False,
        "containers": [container],
        "volumes": [{"name": "claim", "persistentVolumeClaim": {"claimName": claim}}],
    }
    restrict(spec)
    about = {"name": f"{CODE_NAME}-{secrets.token_hex(4)}", "namespace": namespace, "labels": {COMPONENT: CODE_NAME}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": about, "spec": spec}


async def _until_running(client: Client, namespace: str, name: str) -> None:
    why = ""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(START_SECONDS):
            while True:
                pod = await client.get(PODS, namespace, name)
                if pod.status.phase == "Running":
                    return
                why = waits_for(pod, next(iter(pod.status.container_statuses), None)) or pod.status.phase
                if pod.status.phase != "Pending":
                    break
                await asyncio.sleep(LOOK_SECONDS)
    raise RunError(f"the pod that writes to the claim does not run: {why}", "is the claim bound, and the image there?")


async def _run(command: list[str], stdin: int | None) -> tuple[int, str]:
    """The exit code, and the last line of what it complained of."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL if stdin is None else stdin,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        _, complaints = await process.communicate()
    except asyncio.CancelledError:
        process.kill()
        await process.wait()
        raise
    lines = complaints.decode(errors="replace").strip().splitlines()
    # kubectl's own last line says with which code the command ended.
    told = [line for line in lines if not line.startswith("command terminated with exit code")]
    return await process.wait(), told[-1] if told else "kubectl says no more"

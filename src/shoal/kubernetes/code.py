"""`code` as an init container that brings it into the pod, before anything else of the pod runs.

An archive is unpacked by the Python of the job's own image, so no second image is needed; a repository is fetched by an
image that has git. The container that trains sees the folder read-only: one that is started again in its pod finds
what the first one found.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from shoal.kubernetes.cluster_config import Object
from shoal.resources import CodeSpec, GitSource, TFJob
from shoal.resources.code import ARCHIVE_KEY, ARCHIVE_NAME, CODE_NAME, CODE_PATH, SECRET_NAME

GIT_IMAGE = "alpine/git:v2.49.1"
PACKED_PATH = "/shoal/archive"

SECRET_PATH = "/shoal/code-secret"

FETCH = """\
set -e
export GIT_DIR="$3/.git" GIT_WORK_TREE="$3" GIT_TERMINAL_PROMPT=0
if [ -n "$5" ]; then
  if [ ! -r "$5/password" ]; then
    echo "the Secret has no key password; it is of type kubernetes.io/basic-auth" >&2
    exit 1
  fi
  export SECRET="$5" GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0="credential.$1.helper"
  export GIT_CONFIG_VALUE_0='!told() {
    if [ "$1" != get ]; then return; fi
    echo "username=$(cat "$SECRET/username" 2>/dev/null || echo git)"
    echo "password=$(cat "$SECRET/password")"
  }; told'
fi
git init --quiet
git fetch --quiet --depth 1 -- "$1" "$2"
git checkout --quiet --force FETCH_HEAD
if [ ! -d "$4" ]; then echo "there is no folder ${4#"$3"/} at $2 of $1" >&2; exit 1; fi
"""
"""URL, revision, folder, the folder within it that replicas start in, and a folder with username and password or "".
With GIT_DIR named, git does not ask who owns the folder: the volume is root's, whoever fetches. The password goes to
the URL alone, not to where its server may send git, and is nowhere in the folder that replicas see."""


def add_code(job: TFJob, spec: Object, container: Object) -> None:
    """Have the pod `spec` fetch the job's code, and its training `container` start in it."""
    code = job.spec.code
    if code is None:
        return
    volumes: list[Object] = [{"name": CODE_NAME, "emptyDir": {}}]
    mounts: list[Object] = [{"name": CODE_NAME, "mountPath": CODE_PATH}]
    if code.git:
        fetching = _git(code, code.git)
        if code.git.secret_name:
            volumes.append({"name": SECRET_NAME, "secret": {"secretName": code.git.secret_name}})
            mounts.append({"name": SECRET_NAME, "mountPath": SECRET_PATH, "readOnly": True})
    else:
        source, archive, digest = _archive(code)
        volumes.append({"name": ARCHIVE_NAME, **source})
        mounts.append({"name": ARCHIVE_NAME, "mountPath": PACKED_PATH, "readOnly": True})
        command = ["python3", "-c", program("unpack"), f"{PACKED_PATH}/{archive}", digest, CODE_PATH]
        fetching = {key: container[key] for key in ("image", "imagePullPolicy") if key in container}
        fetching["command"] = command
    if resources := resources_of(container):
        fetching["resources"] = resources
    first = {"name": CODE_NAME, **fetching, "volumeMounts": mounts}
    # What it complains of comes with the pod's status, and so into the job's.
    first["terminationMessagePolicy"] = "FallbackToLogsOnError"
    spec["initContainers"] = [first, *(spec.get("initContainers") or [])]
    spec["volumes"] = [*(spec.get("volumes") or []), *volumes]
    mount = {"name": CODE_NAME, "mountPath": CODE_PATH, "readOnly": True}
    container["volumeMounts"] = [*(container.get("volumeMounts") or []), mount]
    container.setdefault("workingDir", code.folder)


@cache
def program(name: str) -> str:
    """The text of a program of `shoal.code` that runs in pods."""
    return files("shoal.code").joinpath(f"{name}.py").read_text(encoding="utf-8")


def _git(code: CodeSpec, git: GitSource) -> Object:
    secret = SECRET_PATH if git.secret_name else ""
    command = ["sh", "-c", FETCH, "sh", git.url, git.revision, CODE_PATH, code.folder, secret]
    return {"image": git.image or GIT_IMAGE, "command": command}


def _archive(code: CodeSpec) -> tuple[Object, str, str]:
    """(the source of the volume that holds the archive, its path within, its digest)"""
    if code.config_map:
        return {"configMap": {"name": code.config_map.name}}, ARCHIVE_KEY, code.config_map.digest
    assert code.claim is not None  # a rule of the manifest
    return {"persistentVolumeClaim": {"claimName": code.claim.name}}, code.claim.path, code.claim.digest


def resources_of(container: Object) -> Object:
    """What the training container asks for, but for devices. Init containers have ended before it starts, so the pod
    needs no more than without them; and a namespace with a quota takes no container that asks for nothing."""
    wanted: dict[str, Any] = container.get("resources") or {}
    kept = {
        kind: {name: amount for name, amount in wanted[kind].items() if "/" not in name}
        for kind in ("requests", "limits")
        if wanted.get(kind)
    }
    return {kind: amounts for kind, amounts in kept.items() if amounts}

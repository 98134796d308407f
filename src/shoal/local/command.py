"""A container's command as a process of this machine: arguments, environment, working directory.

`command` and `args` run as they are, with Kubernetes' `$(VAR)` expansion
(https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/). `python` is
the interpreter that Shoal runs in, also inside a shell: its folder comes first in PATH. `image` is not used, nor are
sidecars and init containers.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from shoal.local.process import LaunchError
from shoal.local.volumes import Mounts, values_of
from shoal.resources import Other, TFJob
from shoal.training import ReplicaId

_PYTHON = re.compile(r"python(3(\.\d+)?)?")
_REFERENCE = re.compile(r"\$\$|\$\(([^)]*)\)")
_LABEL = re.compile(r"metadata\.(labels|annotations)\['(?P<key>[^']+)'\]")


def argv_of(container: Mapping[str, Any], id: ReplicaId, env: Mapping[str, str], mounts: Mounts) -> tuple[str, ...]:
    """The program and its arguments. Raises LaunchError for a container that relies on its image's entry point.

    Images of Python and of TensorFlow have no entry point, so manifests for them often put the program into `args`
    alone. That is what runs here if it names a program of this machine.
    """
    command = list(container.get("command") or [])
    arguments = list(container.get("args") or [])
    if not command and not (arguments and _is_program(arguments[0])):
        raise LaunchError(
            f"{id}: the container has no command; that of its image is not known on this machine",
            'say what to run, as in command: ["python", "train.py"]',
        )
    words = [mounts.translate(expand(str(word), env)) for word in [*command, *arguments]]
    if _PYTHON.fullmatch(Path(words[0]).name):
        words[0] = sys.executable
    return tuple(words)


def _is_program(word: str) -> bool:
    return bool(_PYTHON.fullmatch(Path(word).name)) or shutil.which(word) is not None


def environment_of(
    job: TFJob,
    id: ReplicaId,
    container: Mapping[str, Any],
    others: Iterable[Other],
    mounts: Mounts,
    given: Mapping[str, str],
) -> dict[str, str]:
    """The user's environment, the container's over it, and over both what Shoal has `given`, such as TF_CONFIG."""
    others = list(others)
    env = {name: value for name, value in os.environ.items() if not name.startswith("SHOAL_") or name == "SHOAL_HOME"}
    env.pop("TF_CONFIG", None)
    env["PYTHONUNBUFFERED"] = "1"
    env["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), env.get("PATH", os.defpath)])
    for source in container.get("envFrom") or []:
        prefix = source.get("prefix", "")
        values = _all_values(source, id, others)
        env |= {f"{prefix}{key}": mounts.translate(value) for key, value in values.items()}
    for variable in container.get("env") or []:
        value = _value(job, id, variable, others, env)
        if value is not None:
            env[variable["name"]] = mounts.translate(value)
    return env | dict(given)


def working_directory(container: Mapping[str, Any], mounts: Mounts, source: Path) -> Path:
    """Where the replica starts: `workingDir` where it lies in a volume, else the folder of the manifest, where a
    user's scripts are."""
    wanted = container.get("workingDir")
    translated = mounts.translate(wanted) if wanted else wanted
    return Path(translated) if translated and translated != wanted else source


def expand(text: str, env: Mapping[str, str]) -> str:
    """`$(NAME)` becomes the variable's value, `$$` a dollar; a name that is not set stays as it is written. A name goes
    up to the first bracket that closes, whatever is in it."""

    def value(found: re.Match[str]) -> str:
        name = found[1]
        return "$" if name is None else env.get(name, found[0])

    return _REFERENCE.sub(value, text)


def _value(
    job: TFJob, id: ReplicaId, variable: Mapping[str, Any], others: list[Other], env: Mapping[str, str]
) -> str | None:
    source = variable.get("valueFrom")
    if not source:
        return expand(str(variable.get("value") or ""), env)
    for key, kind in (("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret")):
        if ref := source.get(key):
            values = values_of(kind, ref["name"], others)
            if values is not None and ref["key"] in values:
                return values[ref["key"]]
            if ref.get("optional"):
                return None
            raise LaunchError(
                f"{id}: {variable['name']} comes from key {ref['key']!r} of the {kind} {ref['name']!r}, "
                "which is not in the manifest",
                f"add the {kind} to the file as a document of its own, or give the variable a value",
            )
    if ref := source.get("fieldRef"):
        return _field(job, id, str(ref["fieldPath"]), variable["name"])
    raise LaunchError(
        f"{id}: {variable['name']} comes from {next(iter(source))}, which only Kubernetes knows",
        "give the variable a value",
    )


def _field(job: TFJob, id: ReplicaId, path: str, name: str) -> str:
    """What the downward API would say (https://kubernetes.io/docs/concepts/workloads/pods/downward-api/)."""
    known = {
        "metadata.name": f"{job.name}-{id}",
        "metadata.namespace": job.metadata.namespace or "default",
        "metadata.uid": f"{job.name}-{id}",
        "spec.nodeName": socket.gethostname(),
        "spec.serviceAccountName": "default",
        "status.hostIP": "127.0.0.1",
        "status.podIP": "127.0.0.1",
        "status.podIPs": "127.0.0.1",
    }
    if path in known:
        return known[path]
    if label := _LABEL.fullmatch(path):
        template = job.replicas[id.role].template
        return str(((template.get("metadata") or {}).get(label[1]) or {}).get(label["key"], ""))
    raise LaunchError(f"{id}: {name} comes from the field {path!r}, which only Kubernetes knows", "give it a value")


def _all_values(source: Mapping[str, Any], id: ReplicaId, others: list[Other]) -> dict[str, str]:
    for key, kind in (("configMapRef", "ConfigMap"), ("secretRef", "Secret")):
        if ref := source.get(key):
            values = values_of(kind, ref["name"], others)
            if values is None and not ref.get("optional"):
                raise LaunchError(
                    f"{id}: envFrom names the {kind} {ref['name']!r}, which is not in the manifest",
                    "add it to the file as a document of its own",
                )
            return values or {}
    return {}

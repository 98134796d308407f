"""Images with Python, made without a registry: Debian's smallest system by debootstrap, packages by uv.

The system is made once and kept in the cache; so are the packages, under the hash of what was asked for.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.cluster.cache import locked
from tests.cluster.errors import ClusterError
from tests.cluster.images import REGISTRY, Image, layer_of, layers_folder
from tests.cluster.programs import tool

# Debian 12, whatever the machine runs: its Python is one that TensorFlow has wheels for.
SUITE, PYTHON = "bookworm", "3.11"
SITE_PACKAGES = f"usr/local/lib/python{PYTHON}/dist-packages"
INCLUDE = ("python3", "ca-certificates")
NOT_NEEDED = ("var/cache/apt", "var/lib/apt/lists", "usr/share/doc", "usr/share/man", "usr/share/locale", "var/log")
OVERRIDES = Path(__file__).parents[2] / "requirements" / "overrides.txt"
# Sources of kernels for other compilers, and tests: half a gigabyte that no run reads.
NOT_NEEDED_OF_PACKAGES = ("include", "tests", "testing.a")


def python_image(
    name: str,
    requirements: Sequence[str] = (),
    trees: Mapping[str, Path] | None = None,
    command: Sequence[str] = ("python3",),
    debian: Sequence[str] = (),
) -> Image:
    """An image with Python in which `requirements` are installed, and each of `trees` lies under the path it is given.
    `debian` are packages of the system's.

    `requirements` are as pip takes them, such as "tensorflow-cpu>=2.21,<2.22". Python is `python3` and `python`.
    The name is completed to one of no registry: shoal.test/NAME:1.
    """
    layers = [_system_layer((*INCLUDE, *debian))]
    if requirements:
        layers.append(_packages_layer(requirements))
    layers += [layer_of(tree, prefix, leave_out=("__pycache__",)) for prefix, tree in (trees or {}).items()]
    environment = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1"}
    return Image(f"{REGISTRY}/{name}:1", layers, command, environment)


def _system_layer(include: Sequence[str]) -> Path:
    kept = layers_folder() / f"debian-{SUITE}-{_hash(include, NOT_NEEDED)}.layer.tar"
    with locked(kept.parent / "debian.lock"):
        if not kept.exists():
            with tempfile.TemporaryDirectory(dir=kept.parent) as folder:
                root = Path(folder) / "root"
                _debootstrap(root, include)
                (root / "usr" / "bin" / "python").symlink_to("python3")
                layer_of(root).rename(kept)
    return kept


def _debootstrap(root: Path, include: Sequence[str]) -> None:
    print(f"making Debian {SUITE} with {', '.join(include)}, once …", file=sys.stderr)
    options = ["--variant=minbase", f"--include={','.join(include)}"]
    command = [tool("debootstrap", "debootstrap"), *options, SUITE, str(root)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ClusterError(
            f"{' '.join(command)} failed:\n{done.stdout[-2000:]}", "can this machine reach Debian's packages?"
        )
    for each in NOT_NEEDED:
        shutil.rmtree(root / each)
    # debootstrap unpacks device files, which a layer must not have.
    shutil.rmtree(root / "dev")
    (root / "dev").mkdir()
    (root / "var" / "log").mkdir()


def _packages_layer(requirements: Sequence[str]) -> Path:
    kept = layers_folder() / f"python-{_hash(sorted(requirements), NOT_NEEDED_OF_PACKAGES)}.layer.tar"
    with locked(kept.parent / "packages.lock"):
        if not kept.exists():
            with tempfile.TemporaryDirectory(dir=kept.parent) as folder:
                root = Path(folder) / "packages"
                _install(requirements, root)
                layer_of(root, SITE_PACKAGES, leave_out=NOT_NEEDED_OF_PACKAGES).rename(kept)
    return kept


def _install(requirements: Sequence[str], target: Path) -> None:
    uv = Path(sys.executable).parent / "uv"
    platform = ["--python-version", PYTHON, "--python-platform", "x86_64-manylinux_2_31", "--only-binary", ":all:"]
    # Without bytecode each pod would compile TensorFlow for half a minute before it imports it. Times of files are
    # lost in a layer, so bytecode must not depend on them.
    options = ["--quiet", "--compile-bytecode", "--python", sys.executable, "--target", str(target)]
    # Beside the small TensorFlow the large one must not come.
    command = [str(uv), "pip", "install", f"--override={OVERRIDES}", *options, *platform]
    env = {**os.environ, "PYC_INVALIDATION_MODE": "UNCHECKED_HASH"}
    done = subprocess.run([*command, *requirements], env=env, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ClusterError(f"{' '.join([*command, *requirements])} failed:\n{done.stderr}", "make setup")


def _hash(*what: object) -> str:
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()[:12]

"""An image of a job's folder, built by a real builder and run by a real node."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from tests.cluster.api.commands import COMMAND
from tests.cluster.dockerfile import ArchivedImage
from tests.cluster.kubectl import Kubectl
from tests.cluster.node_level.cluster import NodeCluster
from tests.cluster.pods import container, pod
from tests.cluster.programs import tool
from tests.cluster.python_image import python_image

SCRIPT = "import os; print('trains in', os.getcwd(), 'as', os.getuid())\n"

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """The environment of a machine with buildah alone, whose storage has a base image. As in `built_by_dockerfile`, it
    asks for nothing that a container may not have."""
    buildah = Path(tool("buildah", "buildah"))
    folder = tmp_path_factory.mktemp("buildah")
    storage = folder / "storage.conf"
    places = f'graphroot = "{folder}/graph"\nrunroot = "{folder}/run"\n'
    storage.write_text(f'[storage]\ndriver = "vfs"\n{places}')
    (folder / "bin").mkdir()
    (folder / "bin" / "buildah").symlink_to(buildah)
    # An engine that does not answer, as behind a client of Docker's that is left alone.
    (folder / "bin" / "docker").write_text("#!/bin/sh\nexit 1\n")
    (folder / "bin" / "docker").chmod(0o755)
    path = f"{folder}/bin:/usr/sbin:/sbin:/bin"
    environment = {"CONTAINERS_STORAGE_CONF": str(storage), "BUILDAH_ISOLATION": "chroot", "PATH": path}
    base = folder / "base.tar"
    with base.open("wb") as stream:
        python_image("python-with-pip", ["pip>=25"]).write(stream)
    subprocess.run(["buildah", "pull", f"oci-archive:{base}"], check=True, env={**os.environ, **environment})
    return {**os.environ, **environment}


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(SCRIPT)
    (tmp_path / "model.bin").write_bytes(b"not for the image")
    (tmp_path / ".gitignore").write_text("*.bin\n")
    # It is there already, so no index is asked.
    (tmp_path / "requirements.txt").write_text("pip>=25\n")
    trains = container("tensorflow", image="shoal.test/python-with-pip:1", command=["python3", "train.py"])
    spec = {"tfReplicaSpecs": {"Worker": {"template": {"spec": {"containers": [trains]}}}}}
    job = {"apiVersion": "shoal.dev/v1", "kind": "TFJob", "metadata": {"name": "digits"}, "spec": spec}
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(job))
    return tmp_path / "job.yaml"


def image(environment: Mapping[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([*COMMAND, "image", *words], env=environment, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def test_an_image_is_built_of_what_is_packed_and_runs(
    builds: Mapping[str, str], manifest: Path, node_cluster: NodeCluster, namespace: Kubectl, tmp_path: Path
) -> None:
    built = image(builds, str(manifest))
    assert built.returncode == 0, built.stderr
    name = built.stdout.strip()
    assert name.startswith("digits:")
    assert len(name) == len("digits:") + 12
    # What the builder says is beside the data.
    assert "COPY requirements.txt" in built.stderr
    assert image(builds, str(manifest)).stdout.strip() == name

    archive, complete = tmp_path / "image.tar", f"shoal.test/{name}"
    subprocess.run(["buildah", "push", name, f"docker-archive:{archive}:{complete}"], check=True, env=builds)
    node_cluster.load(ArchivedImage(complete, archive))
    listing = "import os; exec(open('train.py').read()); print(sorted(os.listdir()))"
    main = container(image=complete, imagePullPolicy="Never", command=["python3", "-c", listing])
    namespace.apply(pod("trains", [main], securityContext={"runAsNonRoot": True}))
    namespace.wait_for("pod/trains", lambda each: each["status"].get("phase") in ("Succeeded", "Failed"), timeout=60)
    assert namespace("logs", "trains").splitlines() == [
        "trains in /shoal/code as 1000",
        "['.gitignore', 'job.yaml', 'requirements.txt', 'train.py']",
    ]


def test_a_build_that_fails_is_the_builders_fault(builds: Mapping[str, str], manifest: Path) -> None:
    manifest.with_name("requirements.txt").write_text("no such requirement\n")
    done = image(builds, str(manifest), "--tag", "other:1")
    assert (done.returncode, done.stdout) == (1, "")
    assert "error: buildah could not build it: exit code " in done.stderr


def test_an_image_that_no_registry_takes_is_not_named(builds: Mapping[str, str], manifest: Path) -> None:
    manifest.with_name("requirements.txt").unlink()
    done = image(builds, str(manifest), "--tag", "127.0.0.1:1/digits:1", "--push")
    assert (done.returncode, done.stdout) == (1, "")
    assert "error: buildah could not push 127.0.0.1:1/digits:1: exit code " in done.stderr


def test_a_builder_that_does_not_work_here_is_refused(builds: Mapping[str, str], manifest: Path) -> None:
    for name in ("docker", "podman"):
        done = image(builds, str(manifest), "--builder", name)
        assert (done.returncode, done.stderr.splitlines()[0]) == (2, f"error: {name} does not work here")

"""A packed folder on its way to the pods of jobs: as a ConfigMap up to its limit, beyond it as a file on a claim.

Both are named by what is in them, so code that is there already is not sent again. The ConfigMap belongs to the jobs
that use it, and Kubernetes removes it with the last of them. It is written after its job, and as the job's from the
first moment: pods wait for it, and there is no time at which it is nobody's and would be left behind, or an earlier
job's alone and would go with that.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO

from shoal.code.pack import Archive, PackedFile
from shoal.kubernetes.client.connection import FIELD_MANAGER
from shoal.kubernetes.client.upload import upload
from shoal.kubernetes.labels import COMPONENT
from shoal.kubernetes.operator.api import NotFoundError, Object
from shoal.kubernetes.operator.client import Client
from shoal.kubernetes.operator.kinds import CLAIMS, CONFIG_MAPS, JOBS
from shoal.kubernetes.operator.views import Job
from shoal.resources import ClaimArchive, CodeSpec, ConfigMapArchive, TFJob
from shoal.resources.code import ARCHIVE_KEY, CODE_NAME
from shoal.runs import RunError

LIMIT_BYTES = 1000 * 1024
"""Of an archive in a ConfigMap, which takes 1 MiB of data
(https://kubernetes.io/docs/concepts/configuration/configmap/)."""


@dataclass(frozen=True)
class Delivery:
    """An archive, the file that it is in, and the claim that takes what no ConfigMap does. `tell` is told, in a
    sentence, of what takes its time."""

    archive: Archive
    file: BinaryIO
    claim: str | None
    tell: Callable[[str], None]
    context: str | None = None

    def spec(self) -> CodeSpec:
        """What a job says to get it. Raises RunError where it is too large, and there is no claim."""
        digest = self.archive.digest
        if self.fits:
            return CodeSpec(config_map=ConfigMapArchive(name=self._name, digest=digest))
        if self.claim is None:
            hint = "name what is not needed in .shoalignore, or a claim that takes it: --code-claim"
            raise RunError(_too_large(self.archive), hint)
        return CodeSpec(claim=ClaimArchive(name=self.claim, path=f"{CODE_NAME}/{digest}.tar.gz", digest=digest))

    async def prepare(self, client: Client, namespace: str, job: TFJob) -> None:
        """Find out whether the server would take the ConfigMap; or put the archive on the claim, by a pod that is made
        as those of `job` are."""
        if self.fits:
            await client.apply(CONFIG_MAPS, self._config_map(namespace), dry_run=True)
            return
        assert self.claim is not None
        try:
            await client.get(CLAIMS, namespace, self.claim)
        except NotFoundError:
            hint = "make it, or name another: kubectl get pvc"
            raise RunError(f"there is no claim {self.claim!r} in the namespace {namespace!r}", hint) from None
        await upload(client, namespace, job, self)

    async def send(self, client: Client, job: Job) -> None:
        """Give a job that was just created its code. Where that fails, the job is taken back."""
        if not self.fits:
            return
        owned = self._config_map(job.metadata.namespace)
        about = {"apiVersion": job.api_version, "kind": "TFJob", "name": job.metadata.name, "uid": job.metadata.uid}
        owned["metadata"]["ownerReferences"] = [about]
        try:
            # Each owner is booked as a writer of its own, so that it adds itself and takes away no other.
            await client.apply(CONFIG_MAPS, owned, manager=f"{FIELD_MANAGER}-{job.metadata.uid}")
        except BaseException:
            await client.delete(JOBS[job.api_version], job.metadata.namespace, job.metadata.name, uid=job.metadata.uid)
            raise

    @property
    def fits(self) -> bool:
        """Whether a ConfigMap takes it."""
        return self.archive.size <= LIMIT_BYTES

    @property
    def _name(self) -> str:
        return f"{CODE_NAME}-{self.archive.short_digest}"

    def _config_map(self, namespace: str) -> Object:
        """Without the label by which operators watch their own: each of them would be sent the archive."""
        self.file.seek(0)
        return {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": self._name, "namespace": namespace, "labels": {COMPONENT: CODE_NAME}},
            "immutable": True,
            "binaryData": {ARCHIVE_KEY: base64.b64encode(self.file.read()).decode()},
        }


def size_of(count: int) -> str:
    """`3.1 MiB`; of bytes."""
    return f"{count / 2**20:.1f} MiB" if count >= 2**20 else f"{count / 2**10:.1f} KiB"


def _too_large(archive: Archive) -> str:
    def line(file: PackedFile) -> str:
        return f"  {size_of(file.size):>11}  {file.path}"

    limit = f"the code is {size_of(archive.size)} packed, and a ConfigMap takes {size_of(LIMIT_BYTES)}"
    return "\n".join([f"{limit}; the largest files are", *map(line, archive.largest())])

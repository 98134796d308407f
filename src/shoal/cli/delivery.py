"""What `shoal run` does about a job's code before the job exists: packs a folder, resolves a revision, or says that a
script beside the manifest will not be there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.cli.place import On, need_kubernetes
from shoal.cli.terminal import refuse, say

if TYPE_CHECKING:
    from shoal.kubernetes.client.delivery import Delivery
    from shoal.resources import Document, TFJob


@contextmanager
def delivery_of(
    folder: Path | None, claim: str | None, on: On, context: str | None, documents: Sequence[Document]
) -> Iterator[Delivery | None]:
    """The packed folder, as long as it is needed; None where no folder is to be sent."""
    if folder is None:
        if claim is not None:
            refuse("--code-claim says where code goes, and there is none to send", "name its folder, as in --code .")
        if on is not On.LOCAL:
            _mention_scripts(documents)
        yield None
        return
    if on is On.LOCAL:
        refuse(
            "--code sends a folder to a cluster, and the jobs run on this machine",
            "here replicas start in the manifest's folder; or add --on kubernetes",
        )
    need_kubernetes()
    import tempfile

    from shoal.code.pack import pack, refuse_other_code
    from shoal.kubernetes.client.delivery import Delivery, size_of

    refuse_other_code(documents, "--code")
    with tempfile.TemporaryFile() as file:
        archive = pack(folder, file)
        count = len(archive.files)
        say(f"packed {count} {'file' if count == 1 else 'files'} of {folder}, {size_of(archive.size)}")
        yield Delivery(archive, file, claim, say, context)


def pin_code(job: TFJob) -> None:
    """Have a job that takes its code from Git name the commit, so that all its replicas get the same, at any time."""
    git = job.spec.code.git if job.spec.code else None
    if git is not None and not git.is_pinned:
        from shoal.code.git import pin

        wanted = git.revision
        pin(git)
        say(f"{job.name}: {wanted} of {git.url} is {git.revision}")


def _mention_scripts(documents: Sequence[Document]) -> None:
    """A script that stands beside the manifest is found on this machine, and not in a pod."""
    from shoal.cli.linting import scripts_of

    for document in documents:
        job = document.job
        if job is None:
            continue
        if script := next(iter(scripts_of(job, document.source).values()), None):
            say(f"{job.name}: {script.name} must be in the image: it is not sent along")
            say(f"hint: --code {script.parent} sends its folder")

"""`spec.code`: where a job's scripts come from when they are not in its image.

Each source is named so that every restart of a replica sees the same bytes: an archive by its digest, a repository by a
commit.
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import Field

from shoal.resources.base import Model, NonEmpty

CODE_PATH = "/shoal/code"
"""Where a container finds the code."""

CODE_NAME = "shoal-code"
"""The volume that holds it, and the init container that fills the volume."""

ARCHIVE_NAME = "shoal-code-archive"
"""The volume that an archive comes in."""

SECRET_NAME = "shoal-code-secret"
"""The volume with the repository's password."""

ARCHIVE_KEY = "code.tar.gz"
"""The key of a ConfigMap under which the archive stands."""

COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
"""A full commit id: SHA-1 or SHA-256."""

# Neither may begin like an option: both are words of a command line.
Repository = Annotated[str, Field(pattern="^[^-]")]
Revision = Annotated[str, Field(pattern="^[^-]")]
PathWithin = Annotated[str, Field(min_length=1, max_length=1024)]
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class GitSource(Model):
    """A folder of a Git repository at one revision."""

    url: Repository = Field(description="The repository, as `git fetch` takes it.")
    revision: Revision = Field(
        description="A full commit id; or a branch or tag, which `shoal run` resolves to one when it submits the job."
    )
    path: PathWithin | None = Field(
        default=None, description="The folder within it that replicas start in. Default: its root."
    )
    image: NonEmpty | None = Field(
        default=None, description="An image with git and sh that fetches it. Default: alpine/git, at a fixed version."
    )
    secret_name: NonEmpty | None = Field(
        default=None,
        description="A Secret of type kubernetes.io/basic-auth, for a repository over HTTPS that asks for a password. "
        "On one machine git's own credentials serve.",
    )

    @property
    def is_pinned(self) -> bool:
        """Whether the revision is one that cannot come to mean something else."""
        return COMMIT.fullmatch(self.revision) is not None


class ConfigMapArchive(Model):
    """A tar.gz in a ConfigMap."""

    name: NonEmpty = Field(description="The ConfigMap, whose binaryData holds the archive as code.tar.gz.")
    digest: Digest = Field(description="SHA-256 of the archive, in hexadecimal: other bytes are not unpacked.")


class ClaimArchive(Model):
    """A tar.gz on a claim."""

    name: NonEmpty = Field(description="The PersistentVolumeClaim.")
    path: PathWithin = Field(description="The archive's path within it.")
    digest: Digest = Field(description="SHA-256 of the archive, in hexadecimal: other bytes are not unpacked.")


class CodeSpec(Model):
    """The code of all replicas: exactly one source."""

    git: GitSource | None = Field(default=None, description="A Git repository.")
    config_map: ConfigMapArchive | None = Field(
        default=None, description="An archive in a ConfigMap, as `shoal run --code` makes it."
    )
    claim: ClaimArchive | None = Field(
        default=None, description="An archive on a claim, as `shoal run --code --code-claim` puts it there."
    )

    @property
    def folder(self) -> str:
        """Where replicas start."""
        return f"{CODE_PATH}/{self.git.path.strip('/')}" if self.git and self.git.path else CODE_PATH

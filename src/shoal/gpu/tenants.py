"""Who may talk to the broker: a YAML file with the hashes of tokens, and what each tenant may hold.

    tenants:
      vision: {tokens: [<sha256 of a token, in hex>], gpus: 4, gpuMemory: 64Gi, maxPriority: 2}
    agents:
      gpu-host-1: {tokens: [<sha256>]}
    admins:
      ops: {tokens: [<sha256>]}

A token is 256 random bits, so that its plain SHA-256 tells nothing of it. Several of one name let it be replaced.

The file is people's, and never written. Tenants that admins grant through the API are in a file beside it,
`NAME.granted.yaml`, which has `tenants` alone; what stands in the first file counts.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from shoal.pool.quota import Quota
from shoal.pool.request import WHOLE
from shoal.resources.quantity import Quantity, parse_quantity

Hash = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class Role(StrEnum):
    TENANT = "tenant"
    AGENT = "agent"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Caller:
    """Whose token it was. An agent's name is its host's."""

    role: Role
    name: str


class TenantsError(ValueError):
    """The file cannot be used; the message names file and field."""


class _Named(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel)

    tokens: list[Hash] = Field(min_length=1)


class Grant(_Named):
    """What a tenant may hold, and whose tokens are its own."""

    gpus: Annotated[float, Field(ge=0)] | None = None
    gpu_memory: Quantity | None = None
    max_priority: int = 0

    @property
    def quota(self) -> Quota:
        memory = None if self.gpu_memory is None else int(parse_quantity(self.gpu_memory)) // (1 << 20)
        return Quota(None if self.gpus is None else round(self.gpus * WHOLE), memory)


class _Granted(BaseModel):
    model_config = ConfigDict(extra="forbid")

    tenants: dict[str, Grant] = {}


class _File(_Granted):
    agents: dict[str, _Named] = {}
    admins: dict[str, _Named] = {}


class Tenants:
    """What the files say. Raises TenantsError, and OSError where the first cannot be read."""

    def __init__(self, path: Path) -> None:
        said, self.granted = _read(path, _File), read_granted(path)
        self.written = frozenset(said.tenants)
        """Whom people have written down."""
        tenants = {**self.granted, **said.tenants}
        self.quotas = {name: tenant.quota for name, tenant in tenants.items()}
        self.max_priority = {name: tenant.max_priority for name, tenant in tenants.items()}
        self._callers = [
            (hash, Caller(role, name))
            for role, named in ((Role.TENANT, tenants), (Role.AGENT, said.agents), (Role.ADMIN, said.admins))
            for name, each in named.items()
            for hash in each.tokens
        ]

    def caller(self, token: str) -> Caller | None:
        """Whose it is."""
        return self.bearer(token_hash(token))

    def bearer(self, given: str) -> Caller | None:
        """Whose token has this hash. Every one is compared, each in constant time."""
        found = None
        for hash, caller in self._callers:
            if hmac.compare_digest(hash, given):
                found = caller
        return found


def granted_path(path: Path) -> Path:
    """Where tenants are that admins have granted."""
    return path.with_name(f"{path.stem}.granted{path.suffix}")


def read_granted(path: Path) -> dict[str, Grant]:
    """Those beside the file at `path`. Raises TenantsError."""
    granted = granted_path(path)
    return _read(granted, _Granted).tenants if granted.exists() else {}


def write_granted(path: Path, tenants: dict[str, Grant]) -> None:
    """All of them, or none: the file is never seen half written. Raises OSError."""
    granted = granted_path(path)
    body = _Granted(tenants=tenants).model_dump(by_alias=True, exclude_defaults=True)
    new = granted.with_name(f"{granted.name}.new")
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        yaml.safe_dump(body, file)
        file.flush()
        os.fsync(file.fileno())
    new.replace(granted)


F = TypeVar("F", bound=_Granted)


def _read(path: Path, form: type[F]) -> F:
    try:
        said = form.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")) or {})
    except yaml.YAMLError as fault:
        raise TenantsError(f"{path}: no YAML: {fault}") from fault
    except ValidationError as fault:
        told = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in fault.errors())
        raise TenantsError(f"{path}: {told}") from fault
    return said


def new_token() -> str:
    """256 random bits."""
    return secrets.token_urlsafe(32)


def token_hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def matches(token: str, hash: str) -> bool:
    """Whether this is the token, in constant time."""
    return hmac.compare_digest(token_hash(token), hash)

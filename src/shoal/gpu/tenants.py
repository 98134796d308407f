"""Who may talk to the broker: a YAML file with the hashes of tokens, and what each tenant may hold.

    tenants:
      vision: {tokens: [<sha256 of a token, in hex>], gpus: 4, gpuMemory: 64Gi, maxPriority: 2}
    agents:
      gpu-host-1: {tokens: [<sha256>]}
    admins:
      ops: {tokens: [<sha256>]}

A token is 256 random bits, so that its plain SHA-256 tells nothing of it. Several of one name let it be replaced.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

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


class _Tenant(_Named):
    gpus: Annotated[float, Field(ge=0)] | None = None
    gpu_memory: Quantity | None = None
    max_priority: int = 0

    @property
    def quota(self) -> Quota:
        memory = None if self.gpu_memory is None else int(parse_quantity(self.gpu_memory)) // (1 << 20)
        return Quota(None if self.gpus is None else round(self.gpus * WHOLE), memory)


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    tenants: dict[str, _Tenant] = {}
    agents: dict[str, _Named] = {}
    admins: dict[str, _Named] = {}


class Tenants:
    """What the file says. Raises TenantsError, and OSError where it cannot be read."""

    def __init__(self, path: Path) -> None:
        try:
            said = _File.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")) or {})
            self.quotas = {name: tenant.quota for name, tenant in said.tenants.items()}
        except yaml.YAMLError as fault:
            raise TenantsError(f"{path}: no YAML: {fault}") from fault
        except ValidationError as fault:
            told = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in fault.errors())
            raise TenantsError(f"{path}: {told}") from fault
        self.max_priority = {name: tenant.max_priority for name, tenant in said.tenants.items()}
        self._callers = [
            (hash, Caller(role, name))
            for role, named in ((Role.TENANT, said.tenants), (Role.AGENT, said.agents), (Role.ADMIN, said.admins))
            for name, each in named.items()
            for hash in each.tokens
        ]

    def caller(self, token: str) -> Caller | None:
        """Whose it is. Every hash is compared, each in constant time."""
        found, given = None, token_hash(token)
        for hash, caller in self._callers:
            if hmac.compare_digest(hash, given):
                found = caller
        return found


def new_token() -> str:
    """256 random bits."""
    return secrets.token_urlsafe(32)


def token_hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def matches(token: str, hash: str) -> bool:
    """Whether this is the token, in constant time."""
    return hmac.compare_digest(token_hash(token), hash)

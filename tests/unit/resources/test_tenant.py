"""What makes a tenant, and what does not."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from shoal.resources.tenant import NFSExport, Tenant


def granted(**more: Any) -> Tenant:
    return Tenant(**{"name": "team-a", "cpu": "64", "memory": "256Gi", **more})


def test_gpus_are_granted_only_where_they_are_named() -> None:
    assert granted().gpus == 0


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "Team"),
        ("name", "team.a"),
        ("name", "kube-system"),
        ("name", "default"),
        ("name", "t" * 64),
        ("cpu", "0"),
        ("cpu", "-1"),
        ("memory", "much"),
        ("gpus", -1),
        ("pods", 0),
        ("members", ["dev example"]),
        ("members", ["system:admin"]),
        ("groups", ["system:authenticated"]),
        ("members", [""]),
        ("egress", ["10.1.0.5/16"]),
        ("egress", ["example.com"]),
        ("ingress_from", ["Upper"]),
    ],
)
def test_what_makes_no_tenant(field: str, value: object) -> None:
    with pytest.raises(ValidationError) as refused:
        granted(**{field: value})
    assert refused.value.errors()[0]["loc"][0] == field


def test_names_of_users_as_identity_providers_write_them() -> None:
    names = ["dev@example.com", "oidc:dev", "https://issuer.example#42"]
    assert granted(members=names).members == names


def test_an_export_is_a_server_and_a_folder() -> None:
    export = NFSExport.read("nfs.example:/team-a/")
    assert (export.server, export.path) == ("nfs.example", "/team-a")
    assert NFSExport.read("nfs.example:/").path == "/"
    for text in ("nfs.example", "nfs.example:team", ":/team", "nfs.example:/a/../b"):
        with pytest.raises(ValueError, match="is no export; write SERVER:/PATH"):
            NFSExport.read(text)

"""Which objects a tenant is, and what of them has changed."""

from __future__ import annotations

from typing import Any

import msgspec

from shoal.kubernetes.tenants.difference import differences
from shoal.kubernetes.tenants.kinds import Stored, kind_of
from shoal.kubernetes.tenants.objects import tenant_objects
from shoal.kubernetes.tenants.use import Use
from shoal.resources.tenant import NFSExport, Tenant


def tenant(**more: Any) -> Tenant:
    return Tenant(**{"name": "team-a", "cpu": "64", "memory": "256Gi", **more})


def one(kind: str, **more: Any) -> dict[str, Any]:
    return next(each for each in tenant_objects(tenant(**more)) if each["kind"] == kind)


def stored(object: dict[str, Any]) -> Stored:
    return msgspec.convert(object, Stored)


def test_members_come_in_last_and_everything_is_found_by_its_label() -> None:
    objects = tenant_objects(tenant(members=["dev"]))
    assert objects[-1]["kind"] == "RoleBinding"
    kinds = [each["kind"] for each in objects]
    assert kinds.index("ValidatingAdmissionPolicyBinding") < kinds.index("Namespace") < kinds.index("ResourceQuota")
    assert {each["metadata"]["labels"]["shoal.dev/tenant"] for each in objects} == {"team-a"}
    for each in objects:
        assert each["metadata"].get("namespace") == ("team-a" if kind_of(each).namespaced else None)


def test_the_quota_bounds_every_name_of_a_gpu_and_what_leads_around_the_network_policy() -> None:
    hard = one("ResourceQuota", gpus=8, pods=20, storage="1Ti")["spec"]["hard"]
    assert hard == {
        "requests.cpu": "64",
        "requests.memory": "256Gi",
        "requests.nvidia.com/gpu": "8",
        "requests.shoal.dev/gpu": "8",
        "requests.bitfusion.io/gpu": "8",
        "services.nodeports": "0",
        "services.loadbalancers": "0",
        "pods": "20",
        "requests.storage": "1Ti",
    }
    assert one("ResourceQuota")["spec"]["hard"]["requests.nvidia.com/gpu"] == "0"


def test_containers_that_say_nothing_request_no_more_than_the_tenant_has() -> None:
    (limits,) = one("LimitRange")["spec"]["limits"]
    assert limits["defaultRequest"] == {"cpu": "1", "memory": "2Gi"}
    assert "default" not in limits
    (limits,) = one("LimitRange", memory="1Gi")["spec"]["limits"]
    assert limits["defaultRequest"]["memory"] == limits["max"]["memory"] == "1Gi"


def test_every_pod_security_mode_is_restricted() -> None:
    labels = one("Namespace")["metadata"]["labels"]
    assert {labels[f"pod-security.kubernetes.io/{mode}"] for mode in ("enforce", "audit", "warn")} == {"restricted"}


def test_no_export_is_allowed_unless_it_is_named() -> None:
    (without,) = one("ValidatingAdmissionPolicy")["spec"]["validations"]
    assert without["expression"] == "object.spec.storage.all(s, !has(s.nfs) || false)"
    (named,) = one("ValidatingAdmissionPolicy", nfs=[NFSExport.read('n"fs:/a')])["spec"]["validations"]
    assert r's.nfs.server == "n\"fs"' in named["expression"]


def test_differences_name_fields_and_hide_what_is_secret() -> None:
    before, after = one("ResourceQuota", gpus=8), one("ResourceQuota", gpus=4, pods=3)
    assert differences(stored(before), stored(after)) == [
        "spec.hard.requests.nvidia.com/gpu: 8 → 4",
        "spec.hard.requests.shoal.dev/gpu: 8 → 4",
        "spec.hard.requests.bitfusion.io/gpu: 8 → 4",
        "spec.hard.pods: none → 3",
    ]
    bindings = (one("RoleBinding", members=[name]) for name in ("old", "new"))
    assert differences(*map(stored, bindings)) == ["subjects: without old", "subjects: with new"]
    secret = {"metadata": {"name": "pool"}, "data": {"token": "c2VjcmV0"}}
    told = differences(stored(secret), stored({**secret, "data": {"token": "b3RoZXI="}}))
    assert told == ["data.token: changed"]
    assert differences(stored(before), stored(before)) == []


def test_a_share_of_nothing_is_nothing() -> None:
    assert Use("cpu", "500m", "2").share == 0.25
    assert Use("gpu", "0", "0").share == 0.0

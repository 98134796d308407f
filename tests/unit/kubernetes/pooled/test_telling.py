"""What is said of a lease, and when its servers count as reachable."""

from __future__ import annotations

from shoal.kubernetes.pooled.broker import Lease, Share
from shoal.kubernetes.pooled.telling import lent, queued


def lease(state: str, *addresses: str, place: int | None = None, reason: str = "") -> Lease:
    shares = tuple(Share("h" if i == 0 else "g", i, 100.0, each) for i, each in enumerate(addresses))
    return Lease("lease-1", state, reason, place=place, shares=shares)


def test_a_lease_is_served_once_all_its_servers_have_addresses() -> None:
    assert lease("running", "h:1", "g:1").served
    assert not lease("running", "h:1", "").served, "an agent has just started again"
    assert not lease("granted", "h:1", "g:1").served


def test_why_a_pod_waits() -> None:
    waits = queued(lease("queued", place=3, reason="no GPU is free"))
    assert (waits.reason, waits.message) == ("GPUsAwaited", "place 3 in the queue of the pool; no GPU is free")
    assert queued(lease("queued")).message == "the pool has yet to look at it"
    assert queued(lease("granted")).reason == queued(lease("running", "")).reason == "GPUsStarting"


def test_what_is_lent() -> None:
    assert lent(lease("running", "h:1")).message == "lease-1 lends 1 GPU of h"
    assert lent(lease("running", "h:1", "g:1")).message == "lease-1 lends 2 GPUs of g, h"

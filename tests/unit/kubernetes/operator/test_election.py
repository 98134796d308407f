"""Leader election, on clocks that the test moves."""

from __future__ import annotations

import asyncio

import pytest

from shoal.kubernetes.operator.api import UnreachableError
from shoal.kubernetes.operator.client import WRITE_SECONDS
from shoal.kubernetes.operator.election import LEASE_SECONDS, Election, LeadershipLostError
from shoal.kubernetes.operator.kinds import LEASES
from tests.unit.kubernetes.operator.memory_api import MemoryAPI

pytestmark = pytest.mark.looptime


class Unreliable(MemoryAPI):
    """An API that can be cut off."""

    cut = False

    async def get(self, kind: object, namespace: str | None, name: str) -> object:
        if self.cut:
            raise UnreachableError("no route")
        return await super().get(kind, namespace, name)  # type: ignore[arg-type]


def candidate(api: MemoryAPI, identity: str) -> Election:
    return Election(api, "default", "operator", identity, clock=asyncio.get_running_loop().time)


async def leads(election: Election, within: float) -> bool:
    try:
        await asyncio.wait_for(election.acquire(), within)
    except TimeoutError:
        return False
    return True


async def test_one_leads_and_the_other_waits() -> None:
    api = MemoryAPI()
    first, second = candidate(api, "first"), candidate(api, "second")
    assert await leads(first, 1)
    holding = asyncio.create_task(first.hold())
    assert not await leads(second, 200)
    assert first.held()
    assert not second.held()
    holding.cancel()


async def test_a_lease_that_is_given_back_is_taken_at_once() -> None:
    api = MemoryAPI()
    first, second = candidate(api, "first"), candidate(api, "second")
    await first.acquire()
    await first.release()
    assert not first.held()
    assert await leads(second, 3)
    assert (await api.get(LEASES, "default", "operator")).spec.lease_transitions == 1


async def test_a_dead_holder_is_followed_only_when_it_has_stopped_trusting_its_lease() -> None:
    api = MemoryAPI()
    first, second = candidate(api, "first"), candidate(api, "second")
    await first.acquire()
    began = asyncio.get_running_loop().time()
    while not await leads(second, 0.5):
        assert not (first.held() and second.held())
    assert not first.held()
    waited = asyncio.get_running_loop().time() - began
    assert LEASE_SECONDS <= waited <= LEASE_SECONDS + 5


async def test_one_that_is_cut_off_ends_while_its_last_write_can_still_be_under_way() -> None:
    api = Unreliable()
    first = candidate(api, "first")
    await first.acquire()
    began = asyncio.get_running_loop().time()
    api.cut = True
    with pytest.raises(LeadershipLostError):
        await first.hold()
    assert asyncio.get_running_loop().time() - began <= LEASE_SECONDS
    assert not first.held()


async def test_a_short_interruption_is_survived() -> None:
    api = Unreliable()
    first = candidate(api, "first")
    await first.acquire()
    holding = asyncio.create_task(first.hold())
    for _ in range(10):
        api.cut = True
        await asyncio.sleep(LEASE_SECONDS - WRITE_SECONDS - 5)
        assert first.held()
        api.cut = False
        await asyncio.sleep(5)
    assert not holding.done()
    holding.cancel()


async def test_one_whose_lease_was_taken_ends() -> None:
    api = MemoryAPI()
    first = candidate(api, "first")
    await first.acquire()
    await api.patch(LEASES, "default", "operator", {"spec": {"holderIdentity": "second"}})
    with pytest.raises(LeadershipLostError):
        await first.hold()
    assert not first.held()


async def test_a_container_that_is_restarted_finds_its_own_lease() -> None:
    api = MemoryAPI()
    await candidate(api, "pod-1").acquire()
    assert await leads(candidate(api, "pod-1"), 1)

"""The queue, on a clock that jumps."""

from __future__ import annotations

import asyncio

import pytest

from shoal.kubernetes.operator.backoff import Backoff
from shoal.kubernetes.operator.work_queue import WorkQueue

pytestmark = pytest.mark.looptime


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def queue(waits: list[float]) -> WorkQueue[str]:
    return WorkQueue(waits.append)


async def take(queue: WorkQueue[str]) -> str | None:
    return await asyncio.wait_for(queue.get(), 1000)


async def is_empty(queue: WorkQueue[str]) -> bool:
    try:
        await asyncio.wait_for(queue.get(), 0.01)
    except TimeoutError:
        return True
    return False


async def test_a_key_waits_once_however_often_it_is_added(queue: WorkQueue[str]) -> None:
    for key in ("a", "b", "a", "a"):
        queue.add(key)
    assert queue.depth == 2
    assert [await take(queue), await take(queue)] == ["a", "b"]
    assert await is_empty(queue)


async def test_a_key_is_never_with_two_workers_and_is_not_forgotten(queue: WorkQueue[str]) -> None:
    queue.add("a")
    await take(queue)
    queue.add("a")
    queue.add("a")
    assert await is_empty(queue)
    queue.done("a")
    assert await take(queue) == "a"
    queue.done("a")
    assert await is_empty(queue)


async def test_a_timer_fires_on_time(queue: WorkQueue[str]) -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    queue.add_after("a", 5)
    assert await take(queue) == "a"
    assert loop.time() - began == pytest.approx(5)


async def test_the_earlier_timer_counts(queue: WorkQueue[str]) -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    queue.add_after("a", 5)
    queue.add_after("a", 2)
    queue.add_after("a", 9)
    assert await take(queue) == "a"
    assert loop.time() - began == pytest.approx(2)
    queue.done("a")
    await asyncio.sleep(20)
    assert queue.depth == 0


async def test_a_pass_makes_earlier_timers_void(queue: WorkQueue[str]) -> None:
    queue.add_after("a", 5)
    queue.add("a")
    await take(queue)
    queue.done("a")
    await asyncio.sleep(20)
    assert queue.depth == 0


async def test_a_timer_that_fires_during_a_pass_asks_for_another(queue: WorkQueue[str]) -> None:
    queue.add("a")
    await take(queue)
    queue.add_after("a", 1)
    await asyncio.sleep(2)
    assert queue.depth == 0
    queue.done("a")
    assert queue.depth == 1


async def test_no_time_left_is_now(queue: WorkQueue[str]) -> None:
    queue.add_after("a", -3)
    assert queue.depth == 1


async def test_failures_in_a_row_wait_longer_each_time(queue: WorkQueue[str]) -> None:
    pauses = [queue.retry("a") for _ in range(12)]
    assert 0.1 <= pauses[0] <= 0.2
    assert all(later > earlier for earlier, later in zip(pauses[:6:2], pauses[2:8:2], strict=True))
    assert 15 <= pauses[-1] <= 30
    queue.forget_failures("a")
    assert queue.retry("a") <= 0.2


async def test_it_is_measured_how_long_a_key_waits(queue: WorkQueue[str], waits: list[float]) -> None:
    queue.add("a")
    await asyncio.sleep(3)
    await take(queue)
    assert waits == [pytest.approx(3)]


async def test_nobody_waits_at_a_closed_queue(queue: WorkQueue[str]) -> None:
    waiting = asyncio.create_task(queue.get())
    await asyncio.sleep(0.01)
    queue.add("a")
    queue.close()
    assert await waiting is None
    assert await queue.get() is None


async def test_many_workers_share_the_work_and_no_key_is_lost() -> None:
    queue: WorkQueue[int] = WorkQueue()
    at_work: set[int] = set()
    passes: dict[int, int] = {}

    async def work() -> None:
        while (key := await queue.get()) is not None:
            assert key not in at_work
            at_work.add(key)
            await asyncio.sleep(0.7)
            passes[key] = passes.get(key, 0) + 1
            at_work.discard(key)
            queue.done(key)

    workers = [asyncio.create_task(work()) for _ in range(5)]
    for _ in range(4):
        for key in range(20):
            queue.add(key)
        await asyncio.sleep(1)
    await asyncio.sleep(60)
    queue.close()
    await asyncio.gather(*workers)
    assert set(passes) == set(range(20))
    assert max(passes.values()) <= 4


def test_pauses_are_jittered() -> None:
    assert len({Backoff().next() for _ in range(20)}) > 10

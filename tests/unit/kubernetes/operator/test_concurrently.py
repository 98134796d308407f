"""Many requests at once, but not too many, and none after a refusal."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from shoal.kubernetes.operator.concurrently import concurrently

pytestmark = pytest.mark.looptime


async def test_no_more_than_the_limit_and_all_of_them() -> None:
    at_once = most = done = 0

    async def call() -> None:
        nonlocal at_once, most, done
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(1)
        at_once -= 1
        done += 1

    began = asyncio.get_running_loop().time()
    await concurrently([call] * 100, 10)
    assert (most, done) == (10, 100)
    assert asyncio.get_running_loop().time() - began == pytest.approx(10, abs=0.1)


async def test_after_a_refusal_nothing_new_is_begun_and_nothing_is_cut_off() -> None:
    begun, done = [], []

    async def call(number: int) -> None:
        begun.append(number)
        await asyncio.sleep(1 + number / 100)
        if number == 3:
            raise ValueError("no")
        done.append(number)

    with pytest.raises(ValueError, match="no"):
        await concurrently((partial(call, number) for number in range(50)), 5)
    assert begun == [0, 1, 2, 3, 4, 5, 6, 7]
    assert done == [0, 1, 2, 4, 5, 6, 7]


async def test_nothing_to_do() -> None:
    await concurrently([], 5)

"""Many requests at once, but not too many, and no more of them once one was refused.

A namespace that is out of quota refuses the second pod like the thousandth; asking all the same would keep the API
server busy for everybody.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable


async def concurrently(calls: Iterable[Callable[[], Coroutine[None, None, object]]], limit: int) -> None:
    """Run all calls, at most `limit` at a time. Raises the first exception after those that had begun are done."""
    left = iter(calls)
    faults: list[Exception] = []

    async def work() -> None:
        for call in left:
            try:
                await call()
            except Exception as fault:
                faults.append(fault)
            if faults:
                return

    await asyncio.gather(*(work() for _ in range(limit)))
    if faults:
        raise faults[0]

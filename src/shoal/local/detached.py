"""The supervisor that `shoal run --detach` leaves behind: `python -m shoal.local.detached NAME prefork|spawn`."""

from __future__ import annotations

import asyncio
import sys

from shoal.local.running import Interruption, look_after
from shoal.local.runs import find


def main() -> None:
    name, launcher = sys.argv[1:]
    asyncio.run(_look_after(name, prefork=launcher == "prefork"))


async def _look_after(name: str, prefork: bool) -> None:
    with Interruption() as interruption:
        await look_after(find(name), interruption, prefork=prefork)


if __name__ == "__main__":
    main()

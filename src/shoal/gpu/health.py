"""What is said of a GPU of the pool, by what the broker tells of its host."""

from __future__ import annotations

from typing import Any


def gpu_state(host: dict[str, Any], gpu: dict[str, Any]) -> str:
    """`ok` where it can be lent, else why it cannot."""
    return "silent" if host["silent"] else "sick" if not gpu["healthy"] else "drained" if host["drained"] else "ok"

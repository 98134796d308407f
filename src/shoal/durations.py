"""How long something has taken, in the words that people read."""

from __future__ import annotations


def format_seconds(seconds: float) -> str:
    """`7 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 86400} d {whole % 86400 // 3600} h"

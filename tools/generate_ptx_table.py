"""Write which PTX the software GPU has into docs/software-gpu.md, from the compiler's own table.

uv run python tools/generate_ptx_table.py
"""

from __future__ import annotations

from pathlib import Path

from shoal.cuda.soft.compile import kernel  # noqa: F401 - it brings in every family of instructions
from shoal.cuda.soft.compile.special import NAMES
from shoal.cuda.soft.compile.table import TABLE, Entry

PAGE = Path(__file__).resolve().parents[1] / "docs" / "software-gpu.md"
START, END = "<!-- Written by tools/generate_ptx_table.py: -->\n", "<!-- end of what is written -->\n"
FAMILIES = ("arithmetic", "functions", "bits", "comparison", "moves", "memory", "atomics", "warp", "control")


def generate() -> str:
    """A row for each group of instructions that are built together."""
    groups: dict[tuple[str, str, object], list[Entry]] = {}
    for entry in TABLE.values():
        groups.setdefault((entry.family, entry.forms, entry.emit), []).append(entry)
    lines = ["| | instructions | forms |", "|---|---|---|"]
    for family in FAMILIES:
        name = family
        for (own, forms, _), entries in groups.items():
            if own == family:
                lines.append(f"| {name} | {' '.join(f'`{entry.opcode}`' for entry in entries)} | {forms} |")
                name = ""
    lines.append(f"| registers | {' '.join(f'`{name}`' for name in NAMES.split())} | |")
    return "\n".join(lines) + "\n"


def put(page: str) -> str:
    before, _, rest = page.partition(START)
    _, _, after = rest.partition(END)
    return before + START + generate() + END + after


if __name__ == "__main__":
    PAGE.write_text(put(PAGE.read_text()))

"""Tables as commands show them: no lines, headings in bold, and each cell as it is written, since what a program is
called, or says, may look like markup."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

BAR_CELLS = 10


def table(
    heading: Sequence[str],
    rows: Iterable[Iterable[str | Text]],
    *,
    wrap: Collection[str] = (),
    right: Collection[str] = (),
) -> Table:
    """On a narrow terminal the columns `wrap` give way, and no others. Numbers stand in the columns `right`."""
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for column in heading:
        made.add_column(Text(column), no_wrap=column not in wrap, justify="right" if column in right else "left")
    for row in rows:
        made.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    return made


def bar(percent: float) -> str:
    """Ten cells, as many of them full as the percentage says."""
    full = min(BAR_CELLS, round(percent / 100 * BAR_CELLS))
    return "█" * full + "░" * (BAR_CELLS - full)

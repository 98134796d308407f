"""What the site does to links that leave docs/, and that no page is left out of its navigation."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from tools.docs_site import on_files, without_links_outside


@pytest.mark.parametrize(
    ("page", "written", "shown"),
    [
        ("a.md", "[values](../charts/shoal/values.yaml)", "values (`charts/shoal/values.yaml`)"),
        ("a.md", "[benchmarks/x.md](../benchmarks/x.md#all)", "benchmarks/x.md"),
        ("decisions/1.md", "[why](../../benchmarks/clients.md)", "why (`benchmarks/clients.md`)"),
        ("decisions/1.md", "[it](../operator.md#kueue)", "[it](../operator.md#kueue)"),
        (
            "a.md",
            "[it](operator.md), [that](https://example.com/..)",
            "[it](operator.md), [that](https://example.com/..)",
        ),
    ],
)
def test_a_link_to_a_file_that_is_no_page_becomes_its_path(page: str, written: str, shown: str) -> None:
    assert without_links_outside(written, page) == shown


def test_pages_that_nobody_has_listed_are_found_all_the_same() -> None:
    class Files:
        def documentation_pages(self) -> list[Any]:
            pages = ("decisions/1.md", "deep.md", "index.md", "new.md")
            return [SimpleNamespace(src_uri=page) for page in pages]

    config = SimpleNamespace(nav=[{"Home": "index.md"}, {"Part": [{"Inner": ["deep.md"]}]}])
    on_files(Files(), config)
    assert config.nav[2:] == [{"More": ["new.md"]}, {"Decisions": ["decisions/1.md"]}]

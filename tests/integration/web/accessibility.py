"""What axe-core finds wrong with a page."""

from __future__ import annotations

from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page


def faults(page: Page, **options: Any) -> list[tuple[str, str]]:
    """Rule, and the first element that breaks it; `options` are those of axe.run."""
    found = Axe().run(page, options=options).response["violations"]
    return [(each["id"], each["nodes"][0]["html"]) for each in found]

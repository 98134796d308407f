from __future__ import annotations

import pytest

from shoal.runs import RunError
from shoal.web.live import Page, Pages


class Making:
    """Makes a page of what it has, or refuses."""

    def __init__(self, **parts: str) -> None:
        self.parts = parts
        self.refuses = False
        self.looks = 0

    def __call__(self) -> dict[str, str]:
        self.looks += 1
        if self.refuses:
            raise RunError("the cluster is silent", "is it up?")
        return dict(self.parts)


async def looked(page: Page) -> Page:
    page.pause = 0.0
    await page.look(newest=True)
    return page


async def test_only_what_has_changed_is_told():
    making = Making(a="1", b="1")
    page = await looked(Page(making))
    first = page.version
    making.parts["b"] = "2"
    await looked(page)
    assert page.news(first) == {"version": first + 1, "fault": "", "fragments": {"b": "2"}}
    await looked(page)
    assert page.version == first + 1, "nothing has changed"


async def test_what_has_come_gone_or_moved_is_told_with_the_order():
    making = Making(a="1", b="1")
    page = await looked(Page(making))
    seen = page.version
    making.parts = {"c": "1", "b": "1"}
    await looked(page)
    assert page.news(seen) == {"version": seen + 1, "fault": "", "fragments": {"c": "1"}, "order": ["c", "b"]}
    making.parts = {"b": "1", "c": "1"}
    await looked(page)
    assert page.news(seen + 1)["order"] == ["b", "c"]


async def test_a_place_that_falls_silent_leaves_what_was_known():
    making = Making(a="1")
    making.refuses = True
    with pytest.raises(RunError):
        await looked(Page(making))
    making.refuses = False
    page = await looked(Page(making))
    making.refuses = True
    await looked(page)
    assert page.news(0)["fault"] == "the cluster is silent; is it up?"
    assert page.news(0)["fragments"] == {"a": "1"}
    making.refuses = False
    await looked(page)
    assert page.fault == ""


async def test_many_browsers_share_one_look():
    making = Making(a="1")
    page = Page(making)
    for _ in range(5):
        await page.look()
    assert making.looks == 1


async def test_events_end_when_the_server_leaves():
    ending = False
    pages = Pages(lambda: ending)
    page = pages.page("jobs", Making(a="1"))
    told = pages.events(page, 0)
    assert '"a":"1"' in await anext(told)
    ending = True
    assert [each async for each in told] == []

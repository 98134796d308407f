"""What MkDocs cannot know of this repository, as its hooks: pages that the navigation does not list, and links to files
that are no pages.

`mkdocs.yml` names this file. A page is written once, for readers of the repository and of the site: a link to a file
outside docs/ leads there in the repository, and in the site its path stands in its place.
"""

from __future__ import annotations

import posixpath
import re
from typing import Any

DOCS = "docs"
OUTSIDE = re.compile(r"\[(?P<text>[^\]\[]*)\]\((?P<target>(?:\.\./)+[^)\s]*)\)")
DECISIONS = "decisions/"


def on_files(files: Any, config: Any) -> Any:
    """Add what is not listed: decisions in a section of their own, other pages under More."""
    listed = set(_pages(config.nav))
    left = sorted(page.src_uri for page in files.documentation_pages() if page.src_uri not in listed)
    decisions = [page for page in left if page.startswith(DECISIONS)]
    others = [page for page in left if not page.startswith(DECISIONS)]
    if others:
        config.nav.append({"More": others})
    if decisions:
        config.nav.append({"Decisions": decisions})
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Write paths for links that leave docs/."""
    return without_links_outside(markdown, page.file.src_uri)


def without_links_outside(markdown: str, page: str) -> str:
    """`page` is its path in docs/."""

    def told(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(DOCS, posixpath.dirname(page), link["target"].partition("#")[0]))
        if path == DOCS or path.startswith(f"{DOCS}/"):
            return link[0]
        return link["text"] if path in link["text"] else f"{link['text']} (`{path}`)"

    return OUTSIDE.sub(told, markdown)


def _pages(nav: Any) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    inner = nav.values() if isinstance(nav, dict) else nav
    return [page for part in inner for page in _pages(part)]

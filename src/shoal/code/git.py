"""A Git source on this machine: its revision as a commit, and the commit as a folder. Both take `git`, with the
credentials and the configuration that the user has."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from shoal.resources import GitSource
from shoal.runs import RunError


def pin(source: GitSource) -> None:
    """Replace a branch or a tag by the commit that it names now. Raises RunError where there is none."""
    if source.is_pinned:
        return
    listed = _git("asking", source, "ls-remote", "--", source.url)
    commits = {name: commit for commit, _, name in (line.partition("\t") for line in listed.splitlines())}
    wanted = source.revision
    # Git's own order; `^{}` is the commit of a tag that is an object of its own (gitrevisions(7)).
    for name in (wanted, f"refs/tags/{wanted}^{{}}", f"refs/tags/{wanted}", f"refs/heads/{wanted}"):
        if name in commits:
            source.revision = commits[name]
            return
    raise RunError(
        f"{source.url} has no branch or tag {wanted!r}", "name one that it has, or a commit by its full id (40 digits)"
    )


def fetch(source: GitSource, folder: Path) -> None:
    """Fetch a pinned revision, without its history, into `folder`, which is there. Raises RunError."""
    _git("preparing for", source, "init", "--quiet", str(folder))
    within = ("-C", str(folder))
    _git("fetching", source, *within, "fetch", "--quiet", "--depth", "1", "--", source.url, source.revision)
    _git("checking out", source, *within, "checkout", "--quiet", "--force", "FETCH_HEAD")
    if source.path and not (folder / source.path).is_dir():
        raise RunError(
            f"there is no folder {source.path} at {source.revision} of {source.url}", "spec.code.git.path names it"
        )


def _git(doing: str, source: GitSource, *words: str) -> str:
    # Variables of a hook's, say, would have git work on another repository than the one it is told of.
    env = {name: value for name, value in os.environ.items() if name not in ("GIT_DIR", "GIT_WORK_TREE")}
    try:
        done = subprocess.run(
            ["git", *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            env={**env, "GIT_TERMINAL_PROMPT": "0"},
        )
    except FileNotFoundError:
        raise RunError("there is no git here, which spec.code.git needs", "https://git-scm.com/downloads") from None
    if done.returncode != 0:
        told = done.stderr.strip().splitlines()
        raise RunError(
            f"{doing} {source.url} failed: {told[-1] if told else f'git ended with {done.returncode}'}",
            f"try it by hand: git ls-remote {source.url}",
        )
    return done.stdout

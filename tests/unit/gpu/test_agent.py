from __future__ import annotations

import asyncio
from pathlib import Path

import httpx2
import pytest

from shoal.gpu.agent import Agent, Kept, StateError
from shoal.pool.inventory import GPU
from shoal.pool.lease import Grant
from shoal.pool.report import Answer
from shoal.pool.request import Share

GRANT = Grant("l", "t", (Share("h", 0, 500),), 1, "hash")


def test_what_is_held_is_read_again_as_it_was_written(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "state")
    assert kept.read() == ()
    kept.write((GRANT,))
    assert kept.read() == (GRANT,)
    with pytest.raises(StateError, match="state: another agent holds it"):
        Kept(tmp_path / "state")


def test_a_file_that_cannot_be_read_is_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "leases.json").write_text("[{")
    with pytest.raises(StateError, match=r"leases.json: .*; remove it to end all leases"):
        Kept(tmp_path).read()


async def test_a_lease_that_ends_before_its_server_is_there_leaves_none(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    agent = Agent("h", "127.0.0.1", (GPU("A"),), kept, httpx2.AsyncClient())
    for number, grants in ((1, (GRANT,)), (2, ())):
        agent._holdings.report()
        agent._act(agent._holdings.heed(Answer(number, "s", grants), 0.0))
        assert kept.read() == (GRANT,)
    await asyncio.gather(*agent._tasks)
    assert not agent._servers
    assert kept.read() == ()


async def test_a_server_that_cannot_be_started_ends_its_lease(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.gpu.agent.SERVER", (str(tmp_path / "none"),))
    kept = Kept(tmp_path)
    agent = Agent("h", "127.0.0.1", (GPU("A"),), kept, httpx2.AsyncClient())
    agent._holdings.report()
    agent._act(agent._holdings.heed(Answer(1, "s", (GRANT,)), 0.0))
    await asyncio.gather(*agent._tasks)
    assert kept.read() == ()

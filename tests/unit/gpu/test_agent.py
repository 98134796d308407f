from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest

from shoal.gpu.agent import Agent, Kept, StateError
from shoal.gpu.plugin.devices import Device, SourceError
from shoal.gpu.plugin.software import Software
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
    agent = Agent("h", "127.0.0.1", Software(1, 16_000, "A"), kept, httpx2.AsyncClient())
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
    agent = Agent("h", "127.0.0.1", Software(1, 16_000, "A"), kept, httpx2.AsyncClient())
    agent._holdings.report()
    agent._act(agent._holdings.heed(Answer(1, "s", (GRANT,)), 0.0))
    await asyncio.gather(*agent._tasks)
    assert kept.read() == ()


async def test_the_broker_is_told_of_a_gpu_that_fails_and_of_one_that_recovers(tmp_path: Path) -> None:
    class Failing(Software):
        said: Sequence[bool] | None = (True, True)

        def devices(self) -> list[Device]:
            if self.said is None:
                raise SourceError("no driver any more")
            return [replace(each, healthy=ok) for each, ok in zip(super().devices(), self.said, strict=True)]

    source = Failing(2, 16_000, "A")
    agent = Agent("h", "127.0.0.1", source, Kept(tmp_path), httpx2.AsyncClient(), 0.0)
    looking = asyncio.create_task(agent._look_after())
    for said, healthy in (((True, False), [True, False]), ((True, True), [True, True]), (None, [False, False])):
        agent._news.clear()
        Failing.said = said
        await asyncio.wait_for(agent._news.wait(), 60)
        assert agent._holdings.report().gpus == tuple(GPU("A", 16_000, each) for each in healthy)
    looking.cancel()


async def test_a_server_is_told_which_gpus_it_serves_and_how_much_of_them(tmp_path: Path) -> None:
    agent = Agent("h", "127.0.0.1", Software(2, 16_000, "A"), Kept(tmp_path), httpx2.AsyncClient())
    grant = Grant("l", "t", (Share("g", 0, 1000), Share("h", 1, 250)))
    assert agent._lent(grant) == [{"id": "software-1", "model": "A", "memory_mib": 4000}]

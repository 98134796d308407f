"""What the operator looks at first."""

from __future__ import annotations

import asyncio

from shoal.kubernetes.operator.caches import key_of
from shoal.kubernetes.operator.controller import Controller
from shoal.kubernetes.operator.metrics import Metrics
from tests.unit.kubernetes.operator.memory_api import MemoryAPI
from tests.unit.kubernetes.operator.objects import job


def test_a_job_that_runs_does_not_wait_for_those_that_have_ended() -> None:
    async def first() -> None:
        controller = Controller(MemoryAPI(), Metrics(), "test")
        running = job(version=99, name="running", Worker=1, status={"phase": "Running"})
        ended = [job(version, f"ended-{version}", {"phase": "Succeeded"}, Worker=1) for version in range(1, 40)]
        controller.caches.jobs["shoal.dev/v1"].replace([*ended, running], "100")
        controller.look_at_all()
        order = [await controller.queue.get() for _ in range(2)]
        assert order[0] == key_of(ended[0])  # no pause before the first
        assert order[1] == key_of(running)
        rest = {await controller.queue.get() for _ in range(38)}  # and the others come all the same
        assert rest == {key_of(each) for each in ended[1:]}

    asyncio.run(first())

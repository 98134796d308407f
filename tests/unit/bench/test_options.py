"""Options, roles, and the job that is made of them."""

from __future__ import annotations

import re

import pytest

from shoal.bench.job import manifest
from shoal.bench.options import (
    DataFormat,
    DataName,
    Device,
    Model,
    OptionError,
    TrainOptions,
    VariableUpdate,
    check_roles,
    parse_roles,
)
from shoal.resources import Strategy, parse
from shoal.training.lint import Severity, lint


def test_flags_say_what_is_not_as_by_default() -> None:
    assert TrainOptions().flags == []
    options = TrainOptions(Model.VGG16, batch_size=8, use_fp16=True, device=Device.CPU, data_format=DataFormat.NCHW)
    assert options.flags == ["--model=vgg16", "--batch-size=8", "--device=cpu", "--data-format=NCHW", "--use-fp16"]
    assert (options.batch, TrainOptions(Model.ALEXNET).batch) == (8, 512)


def test_data_needs_a_folder_and_a_name() -> None:
    with pytest.raises(OptionError, match="--data-name imagenet needs --data-dir"):
        TrainOptions(data_name=DataName.IMAGENET)
    from pathlib import Path

    with pytest.raises(OptionError, match="--data-dir is not read with synthetic data"):
        TrainOptions(data_dir=Path("x"))


def test_roles_are_read() -> None:
    assert parse_roles("ps=1,worker=2") == {"ps": 1, "worker": 2}
    assert parse_roles(" worker=1 , chief=1") == {"worker": 1, "chief": 1}


@pytest.mark.parametrize(
    "text", ["", "ps=1", "worker", "worker=0", "worker=-1", "worker=1,worker=2", "boss=1", "worker=1,chief=2"]
)
def test_roles_that_cannot_be_are_refused(text: str) -> None:
    with pytest.raises(OptionError, match=re.escape(f"--job {text}")):
        parse_roles(text)


@pytest.mark.parametrize(
    ("update", "roles", "problem"),
    [
        (VariableUpdate.PARAMETER_SERVER, ["worker"], "needs a ps"),
        (VariableUpdate.REPLICATED, ["worker"], "one process"),
        (VariableUpdate.COLLECTIVE_ALL_REDUCE, ["ps", "worker"], "no parameter servers"),
        (VariableUpdate.INDEPENDENT, ["ps", "worker"], "no parameter servers"),
    ],
)
def test_roles_that_do_not_go_with_the_update_are_refused(
    update: VariableUpdate, roles: list[str], problem: str
) -> None:
    with pytest.raises(OptionError, match=problem):
        check_roles(update, roles)


@pytest.mark.parametrize(
    ("update", "roles", "strategy", "replicas"),
    [
        ("parameter_server", {"ps": 1, "worker": 2}, Strategy.PARAMETER_SERVER, {"ps": 1, "worker": 2, "chief": 1}),
        ("collective_all_reduce", {"worker": 2}, Strategy.ALL_REDUCE, {"worker": 2}),
        ("independent", {"worker": 3}, Strategy.INDEPENDENT, {"worker": 3}),
    ],
)
def test_the_job_is_a_valid_one_and_its_replicas_run_the_benchmark(
    update: str, roles: dict[str, int], strategy: Strategy, replicas: dict[str, int]
) -> None:
    options = TrainOptions(Model.INCEPTION3, variable_update=VariableUpdate(update))
    job = parse(manifest("bench", options, roles, image="i", gpus=2))
    assert job.strategy is strategy
    assert {role.value: spec.count for role, spec in job.replicas.items()} == replicas
    assert not [finding for finding in lint(job, {}) if finding.severity is Severity.ERROR]
    for role, spec in job.replicas.items():
        command = spec.container["command"]
        assert command[:4] == ["shoal", "bench", "train", "--model=inception3"]
        limits = spec.container.get("resources", {}).get("limits", {})
        assert limits == ({"shoal.dev/gpu": 2} if role.value == "worker" else {})

"""The driver API as data, and what is generated from it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shoal.cuda.api.__main__ import files
from shoal.cuda.api.answers import ALIASES, OWN_VARIANTS, REMOTE, WRITTEN, Mode, answers
from shoal.cuda.api.functions import Parameter, functions, results
from shoal.cuda.api.messages import messages
from shoal.cuda.server.session import Session

ROOT = Path(__file__).parents[3]


def test_what_is_checked_in_is_what_is_generated() -> None:
    for name, text in files().items():
        assert (ROOT / name).read_text(encoding="utf-8") == text, f"{name}: run python -m shoal.cuda.api"


def test_a_function_is_in_one_table_and_is_one_of_the_api() -> None:
    named = [*REMOTE, *ALIASES, *(symbol for group in WRITTEN.values() for symbol in group.split())]
    assert len(named) == len(set(named))
    assert {functions()[symbol].stream for symbol in named} == {"legacy"}


def test_what_is_written_by_hand_is_there() -> None:
    code = "".join(path.read_text() for path in (ROOT / "native").glob("*.c"))
    defined = set(re.findall(r"^EXPORT CUresult (cu\w+)\(", code, re.M))
    assert defined == {symbol for group in WRITTEN.values() for symbol in group.split()} | set(OWN_VARIANTS)


@pytest.mark.parametrize(
    ("symbol", "name", "version", "stream"),
    [
        ("cuMemAlloc", "cuMemAlloc", 2000, "legacy"),
        ("cuMemAlloc_v2", "cuMemAlloc", 3020, "legacy"),
        ("cuCtxCreate_v4", "cuCtxCreate", 12050, "legacy"),
        ("cuCtxGetDevice_v2", "cuCtxGetDevice", 13000, "legacy"),
        ("cuMemcpyHtoD_v2_ptds", "cuMemcpyHtoD", 7000, "ptds"),
        ("cuLaunchKernel_ptsz", "cuLaunchKernel", 7000, "ptsz"),
        ("cuGetProcAddress_v2", "cuGetProcAddress", 12000, "legacy"),
    ],
)
def test_a_symbol_is_known_by_the_name_and_version_that_it_is_asked_for(
    symbol: str, name: str, version: int, stream: str
) -> None:
    found = functions()[symbol]
    assert (found.name, found.version, found.stream) == (name, version, stream)


def test_of_a_name_and_stream_no_version_is_there_twice() -> None:
    keys = [(each.name, each.version, each.stream) for each in functions().values()]
    assert len(keys) == len(set(keys))


def test_parameters_are_read_with_their_types() -> None:
    assert functions()["cuCtxSynchronize"].parameters == ()
    assert functions()["cuMemAlloc_v2"].parameters == (
        Parameter("CUdeviceptr*", "dptr"),
        Parameter("size_t", "bytesize"),
    )
    assert functions()["cuLaunchKernel"].parameters[-1] == Parameter("void**", "extra")
    assert results()[700] == "CUDA_ERROR_ILLEGAL_ADDRESS"


@pytest.mark.parametrize(
    ("symbol", "mode"),
    [
        ("cuMemAlloc_v2", Mode.SYNC),
        ("cuLaunchKernel", Mode.POSTED),
        ("cuLaunchKernel_ptsz", Mode.POSTED),
        ("cuMemsetD8_v2", Mode.POSTED),
        ("cuMemsetD8_v2_ptds", Mode.POSTED),
        ("cuStreamCreate", Mode.SYNC),
        ("cuCtxGetCurrent", Mode.LOCAL),
    ],
)
def test_how_a_function_is_answered(symbol: str, mode: Mode) -> None:
    assert answers()[symbol].mode is mode


@pytest.mark.parametrize(
    ("symbol", "why"),
    [
        ("cuGetExportTable", "private tables"),
        ("cuMemAllocManaged", "share"),
        ("cuGraphLaunch_ptsz", "graphs"),
        ("cuGraphicsMapResources", "other interfaces"),
        ("cuMemAlloc", "32-bit"),
        ("cuLaunchCooperativeKernel", "wait for one another"),
    ],
)
def test_what_is_refused_says_why(symbol: str, why: str) -> None:
    assert answers()[symbol].mode is None
    assert why in answers()[symbol].why


def test_the_fields_of_a_message_are_the_parameters_that_go_in_and_what_it_gives_those_that_come_out() -> None:
    by_name = {each.name: each for each in messages().values()}
    assert len(by_name) == len(messages())
    assert (by_name["fill_32"].fields, by_name["fill_32"].gives, by_name["fill_32"].mode) == ("QIQQ", "", Mode.POSTED)
    assert (by_name["address_range"].fields, by_name["address_range"].gives) == ("Q", "QQ")
    assert (by_name["elapsed"].fields, by_name["elapsed"].gives) == ("QQ", "f")
    assert by_name["active_blocks"].layout.size == 20


def test_the_server_has_a_method_for_each_message() -> None:
    for message in messages().values():
        assert callable(getattr(Session, message.name)), message

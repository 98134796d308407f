"""What `libcuda.so.1` shows and needs: it is loaded into images with an old glibc, and beside other people's names."""

from __future__ import annotations

import re
import subprocess

from shoal.cuda.api.functions import functions
from shoal.cuda.environment import CLIENT

LIBRARY = str(CLIENT / "libcuda.so.1")
OLDEST = (2, 17)


def read(*command: str) -> str:
    return subprocess.run([*command, LIBRARY], check=True, capture_output=True, text=True).stdout


def test_it_shows_the_whole_api_and_nothing_else() -> None:
    shown = read("nm", "-D", "--defined-only").splitlines()
    assert {line.split()[-1] for line in shown} == set(functions())


def test_it_needs_glibc_alone_and_an_old_one() -> None:
    needed = set(re.findall(r"NEEDED.*\[(.*)\]", read("readelf", "-d")))
    assert needed <= {"libc.so.6", "libpthread.so.0", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
    versions = {tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_([\d.]+)", read("objdump", "-T"))}
    assert versions
    assert max(versions) <= OLDEST
    assert re.search(r"SONAME.*\[libcuda.so.1\]", read("readelf", "-d"))

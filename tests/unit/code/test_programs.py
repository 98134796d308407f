"""The programs that run in pods, as processes of their own, with nothing of Shoal to import."""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from shoal.code.pack import pack
from shoal.kubernetes.code import program

# As an early Python 3.11 has it, Debian 12's among them.
WITHOUT_FILTERS = "import tarfile; del tarfile.data_filter\n"


def run(name: str, *words: str, stdin: bytes = b"", before: str = "") -> tuple[int, str]:
    command = [sys.executable, "-I", "-S", "-c", before + program(name), *words]
    done = subprocess.run(command, input=stdin, capture_output=True, check=False)
    return done.returncode, done.stderr.decode().strip()


def archive_of(*entries: tarfile.TarInfo) -> bytes:
    into = io.BytesIO()
    with tarfile.open(fileobj=into, mode="w:gz") as archive:
        for entry in entries:
            archive.addfile(entry, io.BytesIO(b"x" * entry.size))
    return into.getvalue()


def entry(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname, made.size = kind, target, 1 if kind == tarfile.REGTYPE else 0
    return made


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "code").mkdir()
    return tmp_path


def unpack(place: Path, data: bytes, before: str = "") -> tuple[int, str]:
    (place / "archive").write_bytes(data)
    digest = hashlib.sha256(data).hexdigest()
    return run("unpack", str(place / "archive"), digest, str(place / "code"), before=before)


@pytest.mark.parametrize("before", ["", WITHOUT_FILTERS])
def test_a_packed_folder_is_unpacked(place, before):
    job = place / "job"
    (job / "model").mkdir(parents=True)
    (job / "train.py").write_text("import model")
    (job / "model" / "__init__.py").write_text("")
    (job / "start").write_text("#!/bin/sh")
    (job / "start").chmod(0o755)
    packed = io.BytesIO()
    pack(job, packed)
    assert unpack(place, packed.getvalue(), before) == (0, "")
    found = {path.relative_to(place / "code").as_posix() for path in (place / "code").rglob("*")}
    assert found == {"train.py", "model", "model/__init__.py", "start"}
    assert (place / "code" / "start").stat().st_mode & 0o111
    assert (place / "code" / "train.py").read_text() == "import model"


@pytest.mark.parametrize("before", ["", WITHOUT_FILTERS])
@pytest.mark.parametrize(
    "wrong",
    [
        entry("../outside"),
        entry("a/../../outside"),
        entry("out", tarfile.SYMTYPE, "../outside"),
        entry("out", tarfile.LNKTYPE, "../archive"),
        entry("device", tarfile.CHRTYPE),
    ],
    ids=lambda wrong: f"{wrong.name} {wrong.linkname}".strip(),
)
def test_nothing_leads_out_of_the_folder(place, wrong, before):
    code, told = unpack(place, archive_of(wrong), before)
    assert code == 1
    assert told.startswith(f"{place / 'archive'}: ")
    assert "Traceback" not in told
    assert not (place / "outside").exists()
    assert list((place / "code").iterdir()) == []


def test_other_bytes_are_not_unpacked(place):
    (place / "archive").write_bytes(archive_of(entry("train.py")))
    code, told = run("unpack", str(place / "archive"), "0" * 64, str(place / "code"))
    assert (code, told.partition(":")[0]) == (1, f"{place / 'archive'} is not the code that was asked for")
    assert list((place / "code").iterdir()) == []
    code, told = run("unpack", str(place / "absent"), "0" * 64, str(place / "code"))
    assert (code, told) == (1, f"{place / 'absent'}: No such file or directory")


def test_an_archive_is_received_whole_or_not_at_all(tmp_path):
    data = archive_of(entry("train.py"))
    target = tmp_path / "shoal-code" / "a.tar.gz"
    assert run("receive", str(target), "0" * 64, stdin=data) == (1, "what arrived is not what was sent")
    assert list(target.parent.iterdir()) == []
    assert run("receive", str(target), hashlib.sha256(data).hexdigest(), stdin=data) == (0, "")
    assert list(target.parent.iterdir()) == [target]
    assert target.read_bytes() == data
    (tmp_path / "file").write_text("")
    code, told = run("receive", str(tmp_path / "file" / "a.tar.gz"), "0" * 64, stdin=data)
    assert (code, "Traceback" in told) == (1, False)

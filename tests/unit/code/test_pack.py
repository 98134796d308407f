"""What is packed, and that the same files make the same bytes."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.code.pack import files_in, pack
from shoal.runs import RunError


def write(folder: Path, files: dict[str, bytes | str]) -> Path:
    for name, content in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def packed(folder: Path) -> bytes:
    into = io.BytesIO()
    archive = pack(folder, into)
    assert archive.size == len(into.getvalue())
    return into.getvalue()


def names(folder: Path) -> list[str]:
    return [path.relative_to(folder.resolve()).as_posix() for path in files_in(folder)]


NAMES = st.text("abcü .-", min_size=1, max_size=5).filter(lambda name: name.strip(". "))
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)


@settings(deadline=None, max_examples=50)
@given(st.dictionaries(PATHS, st.binary(max_size=40), min_size=1, max_size=6), st.randoms())
def test_the_same_files_make_the_same_bytes(files, random):
    """Whenever they were written, in whatever order, by whomever; and what was packed is what is unpacked."""
    # A path cannot be a file and a folder.
    files = {name: data for name, data in files.items() if not any(other.startswith(f"{name}/") for other in files)}
    shuffled = list(files.items())
    random.shuffle(shuffled)
    with tempfile.TemporaryDirectory() as folder:
        first = write(Path(folder, "first"), files)
        second = write(Path(folder, "second"), dict(shuffled))
        for path in second.rglob("*"):
            os.utime(path, (1, random.randrange(2**31)))
            path.chmod(0o700 if path.is_dir() else 0o600)
        archive = packed(first)
        assert packed(second) == archive
        with tarfile.open(fileobj=io.BytesIO(archive)) as found:
            assert {each.name: found.extractfile(each).read() for each in found} == files


def test_another_byte_or_mode_or_name_is_another_archive(tmp_path):
    folder = write(tmp_path, {"train.py": "a"})
    archives = [packed(folder)]
    (folder / "train.py").write_text("b")
    archives.append(packed(folder))
    (folder / "train.py").chmod(0o755)
    archives.append(packed(folder))
    (folder / "train.py").rename(folder / "fit.py")
    archives.append(packed(folder))
    assert len(set(archives)) == 4


IGNORING = {
    ".gitignore": "*.log\n/data\nlogs/\n!important.log\n",
    "train.py": "",
    "a.log": "",
    "important.log": "",
    "data/x": "",
    "deep/data/x": "",
    "deep/logs/x": "",
    "deep/.gitignore": "!kept.log\nsecret\n",
    "deep/kept.log": "",
    "deep/b.log": "",
    "deep/secret/x": "",
    "logs": "a file, and not the folder that the rule is about",
    "name with space.py": "",
    "module/__init__.py": "",
}


def test_the_rules_are_those_of_git(tmp_path):
    write(tmp_path, IGNORING)
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    listing = ["git", "-C", str(tmp_path), "ls-files", "--others", "--exclude-standard", "-z"]
    told = subprocess.run(listing, capture_output=True, text=True, check=True).stdout
    assert sorted(names(tmp_path)) == sorted(told.split("\0")[:-1])


def test_a_folder_of_a_repository_follows_the_rules_above_it(tmp_path):
    write(tmp_path, {".gitignore": "*.bin\n", "job/train.py": "", "job/model.bin": ""})
    assert names(tmp_path / "job") == ["model.bin", "train.py"]
    (tmp_path / ".git").mkdir()
    assert names(tmp_path / "job") == ["train.py"]


def test_shoalignore_has_the_last_word(tmp_path):
    write(tmp_path, {".gitignore": "*.csv\n", ".shoalignore": "!digits.csv\nnotes.md\n"})
    write(tmp_path, {"digits.csv": "", "other.csv": "", "notes.md": "", "train.py": ""})
    assert names(tmp_path) == [".gitignore", ".shoalignore", "digits.csv", "train.py"]


def test_what_is_never_packed(tmp_path):
    write(tmp_path, {".git/config": "", ".venv/bin/python": "", "a/__pycache__/a.pyc": "", "a/a.py": ""})
    os.mkfifo(tmp_path / "pipe")
    assert names(tmp_path) == ["a/a.py"]


def test_links_within_are_kept_and_links_that_lead_out_are_refused(tmp_path):
    folder = write(tmp_path / "job", {"a/train.py": ""})
    (folder / "b").symlink_to("a")
    (folder / "a" / "again.py").symlink_to("../a/train.py")
    with tarfile.open(fileobj=io.BytesIO(packed(folder))) as archive:
        links = {each.name: each.linkname for each in archive if each.issym()}
    assert links == {"b": "a", "a/again.py": "../a/train.py"}
    for target in ("../../secret", str(folder / "a" / "train.py")):
        (folder / "a" / "out").symlink_to(target)
        with pytest.raises(RunError, match=f"a/out is a link to {target}, which leads out of"):
            packed(folder)
        (folder / "a" / "out").unlink()


def test_a_folder_with_nothing_in_it_is_refused(tmp_path):
    write(tmp_path, {"sub/.gitignore": "*\n"})
    with pytest.raises(RunError, match="there is nothing to pack in"):
        packed(tmp_path)
    shutil.rmtree(tmp_path)
    with pytest.raises(RunError, match="is no folder"):
        packed(tmp_path)


def test_the_largest_files_come_first(tmp_path):
    write(tmp_path, {"small": "a", "large": "a" * 100, "middle": "a" * 50})
    archive = pack(tmp_path, io.BytesIO())
    assert [file.path for file in archive.largest(2)] == ["large", "middle"]

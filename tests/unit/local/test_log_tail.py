from __future__ import annotations

import pytest

from shoal.local.log_tail import LONGEST_TAIL, last_lines


@pytest.mark.parametrize(
    ("content", "count", "lines"),
    [
        (b"", 3, []),
        (b"a\nb\nc\n", 2, ["b", "c"]),
        (b"a\nb\nc", 2, ["b", "c"]),
        (b"a\nb\n", 9, ["a", "b"]),
        (b"a\n\nb\n", 2, ["", "b"]),
        (b"a\nb\n", 0, []),
        (b"gr\xc3\xb6\xc3\x9fe\n\xff\n", 2, ["größe", "\ufffd"]),
        (b" 10%\r 90%\r100%\ndone\n", 2, ["100%", "done"]),
    ],
)
def test_the_last_lines(tmp_path, content, count, lines):
    log = tmp_path / "log"
    log.write_bytes(content)
    assert last_lines(log, count) == lines


def test_a_log_that_is_not_there_has_no_lines(tmp_path):
    assert last_lines(tmp_path / "none", 3) == []
    assert last_lines(tmp_path, 3) == []


def test_of_a_long_log_only_the_end_is_read(tmp_path):
    log = tmp_path / "log"
    with log.open("wb") as file:
        file.truncate(1 << 30)  # 1 GiB that takes no space
        file.seek(0, 2)
        file.write(b"\nlast but one\nlast\n")
    assert last_lines(log, 2) == ["last but one", "last"]
    assert sum(len(line) + 1 for line in last_lines(log, 10)) <= LONGEST_TAIL

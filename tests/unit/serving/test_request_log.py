"""The file of requests, where several processes write to it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

WRITE = """
import sys, psutil
from shoal.serving.request_log import RequestLog, note
log, other = RequestLog(sys.argv[1]), RequestLog(sys.argv[1])
before = psutil.Process().io_counters().write_count
with other.request(number=2), log.request(number=1, model="m" * 20_000):
    note(code="OK")
print(psutil.Process().io_counters().write_count - before)
"""


def test_each_line_is_written_in_one_go_behind_those_of_others(tmp_path: Path) -> None:
    """However long a name is that a client has made up."""
    file = tmp_path / "requests"
    file.write_text('{"number": 0}\n')
    writes = subprocess.run([sys.executable, "-c", WRITE, str(file)], check=True, capture_output=True).stdout
    assert int(writes) == 2
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["number"] for line in lines] == [0, 1, 2]
    assert (lines[1]["model"], lines[1]["code"]) == ("m" * 20_000, "OK")

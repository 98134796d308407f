"""Ways to start Python, and scripts that fail before they begin: the same with a parent and without."""

from __future__ import annotations

import sys

import pytest

from tests.integration.launch.launching import command, launching, log, run, stand_in_tensorflow
from tests.integration.launch.test_prefork import plain, together

SCRIPT = """
import sys, os
import tensorflow
print(sys.flags.optimize, sys.flags.utf8_mode, sys.argv, __name__, "assert" if __debug__ else "no assert")
print("forked" if tensorflow.IMPORTED_BY != os.getpid() else "spawned")
sys.exit(3)
"""


def two_and_plain(folder, *argv):
    """Exit code and output of two replicas that were started together, and of a plain run."""
    launches = [command(folder, f"worker-{i}", sys.executable, *argv) for i in range(2)]

    async def scenario():
        async with launching(folder, "prefork") as launcher:
            processes = await together(launcher, *launches)
            return [(await process.wait(), log(process, folder)) for process in processes]

    return run(scenario()), plain(folder, launches[0])


@pytest.mark.parametrize(
    ("argv", "forked"),
    [
        (["train.py", "--steps", "3"], True),
        (["-u", "train.py"], True),
        (["-u", "-u", "./train.py", "-u"], True),
        (["-m", "train", "-O"], True),
        (["-um", "train"], False),
        (["-O", "train.py"], False),
        (["-X", "utf8", "train.py"], False),
        (["-c", SCRIPT, "x"], False),
        (["-E", "-c", "import sys; print(sys.flags.ignore_environment); sys.exit(3)"], None),
    ],
)
def test_flags_mean_what_they_mean_to_python(tmp_path, argv, forked):
    stand_in_tensorflow(tmp_path)
    (tmp_path / "train.py").write_text(SCRIPT)
    replicas, (code, text) = two_and_plain(tmp_path, *argv)
    assert code == 3
    if forked is not None:
        assert "spawned" in text
    assert replicas == [(3, text.replace("spawned", "forked") if forked else text)] * 2


@pytest.mark.parametrize(
    ("script", "last"),
    [
        ("import tensorflow\nimport model\n", "ValueError: no such layer"),
        ("import model\nimport tensorflow\n", "ValueError: no such layer"),
        ("import tensorflow\nimport no_such_module\n", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("import tensorflow\nx = = 1\n", "SyntaxError: invalid syntax"),
        ("import tensorflow.no_such_part\n", "ModuleNotFoundError: No module named 'tensorflow.no_such_part'"),
        ("from tensorflow import no_such_name\n", "ImportError: cannot import name 'no_such_name' from 'tensorflow'"),
    ],
)
def test_a_script_that_fails_while_it_imports_shows_its_own_traceback(tmp_path, script, last):
    stand_in_tensorflow(tmp_path)
    (tmp_path / "model.py").write_text("import tensorflow\nraise ValueError('no such layer')\n")
    (tmp_path / "train.py").write_text(script)
    replicas, expected = two_and_plain(tmp_path, "train.py")
    assert expected[0] == 1
    assert expected[1].splitlines()[-1].startswith(last)
    assert replicas == [expected] * 2, "and nothing of Shoal's in it"

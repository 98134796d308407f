"""What of a script is done ahead of all replicas. Scripts are read, never run."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from shoal.local.ahead import Step, find_module, steps_ahead

TF = Step("import", "tensorflow")


@pytest.fixture
def ahead(tmp_path):
    """The steps ahead of a script, with modules of its own beside it."""

    def steps(script: str, **modules: str) -> list[Step]:
        for name, source in modules.items():
            file = tmp_path / f"{name}.py"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(dedent(source))
        main = tmp_path / "train.py"
        main.write_text(dedent(script))
        return list(steps_ahead(main, [tmp_path]))

    return steps


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("import tensorflow as tf", [TF]),
        ("import numpy as np\nimport tensorflow as tf", [Step("import", "numpy"), TF]),
        ("import tensorflow.compat.v1 as tf", [Step("import", "tensorflow.compat.v1")]),
        ("from tensorflow import keras", [TF]),
        ("from tensorflow.keras import layers", [Step("import", "tensorflow.keras")]),
        ("import keras", [Step("import", "keras")]),
        ("import tf_keras", [Step("import", "tf_keras")]),
        ("import json, argparse, tensorflow", [TF]),
        ("'''About.'''\nfrom __future__ import annotations\nimport tensorflow", [TF]),
        ("import numpy", []),
        ("import torch", []),
        ("import tensorflow_datasets", []),
        ("", []),
        ("x = (", []),
        ("import tensorflow\n\0", []),
    ],
)
def test_heavy_imports_at_the_top(ahead, script, expected):
    assert ahead(script) == expected


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ('os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"', Step("set", "TF_CPP_MIN_LOG_LEVEL", "3")),
        ('os.environ.setdefault("KERAS_BACKEND", "tensorflow")', Step("default", "KERAS_BACKEND", "tensorflow")),
        ('os.environ["MY_OWN"] = "3"', Step("set", "MY_OWN", "3")),
    ],
)
def test_the_environment_is_set_in_its_place(ahead, line, step):
    assert ahead(f"import os\n{line}\nimport tensorflow") == [step, TF]
    assert ahead(f"import os\nimport numpy\n{line}\nimport tensorflow") == [Step("import", "numpy"), step, TF]


@pytest.mark.parametrize(
    "line",
    [
        "import warnings, logging\nwarnings.filterwarnings('ignore')\nlog = logging.getLogger(__name__)",
        "from pathlib import Path\nHERE = Path(__file__).resolve().parent",
        "import os\nSTEPS = int(os.environ.get('STEPS', '10'))",
        "import os\nSTEPS = int(os.environ['STEPS'])",
        "import os\nDEBUG = 'DEBUG' in os.environ",
        "import os\nos.environ['BATCH'] = str(32)",
        "def train(steps=int('7')):\n    configure()",
        "class Model:\n    size = 3\n    def fit(self):\n        launch_missiles()",
        "try:\n    import json\nexcept ImportError:\n    json = None",
        "x: int = 3\nx += 1\nassert x\ndel x\npass",
        "for i in range(3):\n    print(i)",
        "if True:\n    print('hello')",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import anything",
        "print('starting'.upper())",
        "numbers = [n for n in range(3)]",
    ],
)
def test_what_changes_no_import_is_passed_over(ahead, line):
    assert ahead(f"{line}\nimport tensorflow") == [TF]


@pytest.mark.parametrize(
    "line",
    [
        "import logging\nlogging.basicConfig(level='INFO')",
        "import sys\nsys.path.insert(0, 'lib')",
        "import os\nos.environ.update(TF_CPP_MIN_LOG_LEVEL='3')",
        "import os\nos.environ['TF_CPP_MIN_LOG_LEVEL'] = str(3)",
        "import os\nos.environ |= {'TF_CPP_MIN_LOG_LEVEL': '3'}",
        "import os\ndel os.environ['TF_CPP_MIN_LOG_LEVEL']",
        "import os\nenvironment = os.environ",
        "import os\nos.putenv('TF_CPP_MIN_LOG_LEVEL', '3')",
        "from os import environ as e\ne['TF_CPP_MIN_LOG_LEVEL'] = '3'",
        "def prepare(): ...\nprepare()",
        "@prepare()\ndef train(): ...",
        "def train(x=prepare()): ...",
        "class Model(prepare()): ...",
        "class Model:\n    prepare()",
        "if True:\n    import prepared",
        "while prepare(): ...",
        "with prepare():\n    pass",
        "match 3:\n    case 3: ...",
        "raise SystemExit",
        "import multiprocessing\nmultiprocessing.set_start_method('spawn')",
        "import logging\nlogging.getLogger().addHandler(None)",
    ],
)
def test_from_a_statement_that_may_prepare_an_import_on_a_script_is_on_its_own(ahead, line):
    assert ahead(f"{line}\nimport tensorflow") == []
    assert ahead(f"import tensorflow\n{line}\nimport keras") == [TF]


def test_imports_within_functions_and_conditions_are_left_to_the_script(ahead):
    assert ahead("def train():\n    import tensorflow\ntrain()") == []
    assert ahead("import sys\nif sys.argv:\n    import tensorflow") == []


def test_the_main_part_is_followed_in_the_script_alone(ahead):
    main = "if __name__ == '__main__':\n    prepare()\n"
    assert ahead(f"import model\n{main}", model=f"import tensorflow\n{main}import keras") == [
        TF,
        Step("import", "keras"),
    ]
    assert ahead(f"{main}import tensorflow") == []


def test_modules_of_its_own_are_followed_in_the_order_of_execution(ahead):
    steps = ahead(
        "import settings\nfrom model import build\nimport keras",
        settings='import os\nos.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"\nimport json',
        model="import tensorflow as tf\nimport settings\n",
    )
    assert steps == [Step("set", "TF_CPP_MIN_LOG_LEVEL", "3"), TF, Step("import", "keras")]


def test_a_module_that_prepares_something_ends_what_can_be_done_ahead(ahead):
    assert ahead("import tensorflow\nimport model\nimport keras", model="configure()") == [TF]


def test_packages_are_followed_with_their_relative_imports(ahead):
    steps = ahead(
        "from vision.models import resnet",
        **{
            "vision/__init__": "import numpy",
            "vision/models/__init__": "from . import layers",
            "vision/models/layers": "from ..base import Layer",
            "vision/base": "import tensorflow",
            "vision/models/resnet": "import keras",
        },
    )
    assert steps == [Step("import", "numpy"), TF, Step("import", "keras")]


def test_modules_that_import_each_other_are_read_once(ahead):
    assert ahead("import a", a="import b\nimport tensorflow", b="import a\nimport numpy") == [
        Step("import", "numpy"),
        TF,
    ]


def test_a_module_that_cannot_be_read_leaves_the_script_alone(ahead):
    assert ahead("import tensorflow\nimport broken", broken="x = (") == []


def test_the_library_of_shoal_imports_tensorflow_when_it_is_called(ahead):
    assert ahead("from shoal.tf import progress\nprogress()") == [TF]
    assert ahead("import shoal.tf\nimport os\nos.environ['TF_CPP_MIN_LOG_LEVEL'] = str(1)") == []


def test_a_script_that_is_not_there_has_nothing_ahead(tmp_path):
    assert steps_ahead(tmp_path / "absent.py", [tmp_path]) == ()
    assert steps_ahead(tmp_path, [tmp_path]) == ()


def test_a_script_of_a_package_begins_with_its_package(tmp_path):
    package = tmp_path / "job"
    package.mkdir()
    (package / "__init__.py").write_text("import numpy")
    (package / "layers.py").write_text("import keras")
    (package / "__main__.py").write_text("from .layers import Dense\nimport tensorflow")
    steps = steps_ahead(package / "__main__.py", [tmp_path], package="job")
    assert steps == (Step("import", "numpy"), Step("import", "keras"), TF)


def test_deep_nesting_is_no_crash(ahead):
    assert ahead(f"import tensorflow\nx = {'(' * 1000}1{')' * 1000}") == []
    assert ahead(f"x = {'+'.join(['1'] * 20_000)}\nimport tensorflow") in ([], [TF])


@pytest.mark.parametrize(
    ("name", "found"),
    [("a", "a/__init__.py"), ("a.b", "a/b.py"), ("c", "c.py"), ("d", None), ("a.d", None), ("e", None)],
)
def test_where_a_module_lies(tmp_path, name, found):
    (tmp_path / "a").mkdir()
    (tmp_path / "e").mkdir()
    for file in ("a/__init__.py", "a/b.py", "a.py", "c.py"):
        (tmp_path / file).touch()
    path = find_module(name, [Path("/nowhere"), tmp_path])
    assert path == (tmp_path / found if found else None)

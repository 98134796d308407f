"""What of a Python script can be done ahead, once for all replicas that run it: the heavy imports at its top.

The script is read, never run. Its statements are followed in the order in which Python would execute them, into
modules of its own that it imports, up to the first that could change what a later import does, such as a call that
configures logging. Imports of TensorFlow, Keras and NumPy before that point are done ahead, and with them, in their
place, the environment variables that the script sets to constants:

    import os
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf

Imports under `if`, and in functions, are left to the script. Modules that are installed are trusted not to prepare an
import of TensorFlow behind the script's back.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from shoal.local.import_environment import read_at_import

WORTH_IT = frozenset({"tensorflow", "keras", "tf_keras"})
HEAVY = WORTH_IT | {"numpy"}
"""Packages that start no thread and touch no device when imported, as is checked again when they have been."""

HARMLESS_CALLS = (
    *("print", "int", "float", "str", "bool", "len", "dict", "list", "set", "tuple", "range", "frozenset", "sorted"),
    *("min", "max", "sum", "any", "all", "zip", "enumerate", "isinstance", "hasattr", "TypeVar", "namedtuple"),
    *(
        "time",
        "datetime",
        "warnings",
        "Path",
        "pathlib",
        "os.path",
        "os.getenv",
        "os.getcwd",
        "os.environ.get",
        "environ.get",
    ),
    *("getenv", "logging.getLogger", "re.compile", "collections", "dataclass", "dataclasses", "functools", "typing"),
)
"""Calls that change no import. A name stands for all that is reached through it."""

WORDS_OF_PREPARATION = ("environ", "putenv", "basicConfig", "dictConfig", "addHandler")


class Step(NamedTuple):
    """One thing to do ahead: `import NAME`, `set NAME VALUE` or `default NAME VALUE` (of the environment)."""

    verb: str
    name: str
    value: str = ""


def steps_ahead(script: Path, search_path: Sequence[Path], package: str = "") -> tuple[Step, ...]:
    """What to do ahead of `script`; nothing where it is not worth it. `search_path` is where, beside the installed
    packages, Python looks for the script's own modules; `package` is what the script is part of, if it is run by
    `python -m`."""
    reading = _Reading(search_path)
    try:
        reading.own_module(package)
        reading.file(script, main=True, package=package)
    except _OnItsOwn:
        pass
    except (OSError, SyntaxError, ValueError, RecursionError):
        return ()
    if reading.uses_shoal and not reading.worth_it and not _prepares(script):
        # `shoal.tf` imports TensorFlow when it is called.
        reading.steps.append(Step("import", "tensorflow"))
    return tuple(reading.steps) if reading.worth_it else ()


class _OnItsOwn(Exception):
    """From this statement on, the script must be left to itself."""


class _Reading:
    """One walk over a script and its own modules, in the order of execution."""

    def __init__(self, search_path: Sequence[Path]) -> None:
        self.steps: list[Step] = []
        self.uses_shoal = False
        self._search_path = search_path
        self._read: set[Path] = set()

    @property
    def worth_it(self) -> bool:
        return any(step.verb == "import" and _root(step.name) in WORTH_IT for step in self.steps)

    def file(self, path: Path, main: bool = False, package: str = "") -> None:
        """`package` is what the file's relative imports start from."""
        if path in self._read:
            return
        self._read.add(path)
        self._block(ast.parse(path.read_bytes()).body, main, package)

    def _block(self, statements: Iterable[ast.stmt], main: bool, package: str) -> None:
        for statement in statements:
            self._statement(statement, main, package)

    def _statement(self, statement: ast.stmt, main: bool, package: str) -> None:
        def block(inner: Iterable[ast.stmt]) -> None:
            self._block(inner, main, package)

        match statement:
            case ast.Import(names=names):
                for alias in names:
                    self._import(alias.name)
            case ast.ImportFrom(module="os", names=names) if any(alias.asname for alias in names):
                raise _OnItsOwn
            case ast.ImportFrom(module=module, names=names, level=level):
                self._import_from(_absolute(module, level, package), [alias.name for alias in names])
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                _check_harmless(
                    [*statement.decorator_list, *statement.args.defaults, *filter(None, statement.args.kw_defaults)]
                )
            case ast.ClassDef():
                _check_harmless([*statement.bases, *statement.keywords, *statement.decorator_list])
                block(statement.body)
            case ast.Try() | ast.With():
                # What an `except` would do is not followed: if the import fails, nothing is done ahead at all.
                _check_harmless(item.context_expr for item in getattr(statement, "items", ()))
                block(statement.body)
                block(getattr(statement, "orelse", ()))
                block(getattr(statement, "finalbody", ()))
            case ast.If(test=test) if _tests(test, "TYPE_CHECKING") or (_tests(test, "__name__") and not main):
                block(statement.orelse)
            case ast.Assign() | ast.Expr():
                step = _environment_step(statement)
                if step:
                    self.steps.append(step)
            case ast.AnnAssign() | ast.AugAssign() | ast.Assert() | ast.Delete() | ast.Pass():
                _check_harmless([statement])
            case ast.If() | ast.For() | ast.While():
                if any(isinstance(inner, ast.Import | ast.ImportFrom) for inner in ast.walk(statement)):
                    raise _OnItsOwn
                _check_harmless([statement])
            case _:
                raise _OnItsOwn

    def _import(self, name: str) -> None:
        if _root(name) in HEAVY:
            self.steps.append(Step("import", name))
        elif name == "shoal.tf" or name.startswith("shoal.tf."):
            self.uses_shoal = True
        else:
            self.own_module(name)

    def _import_from(self, name: str, members: Sequence[str]) -> None:
        self._import(name)
        if _root(name) not in HEAVY:
            for member in members:
                self._import(f"{name}.{member}")

    def own_module(self, name: str) -> None:
        """Follow a module that lies on the search path, packages first. Others are installed, or do not exist."""
        if not name:
            return
        parts = name.split(".")
        for depth in range(1, len(parts) + 1):
            dotted = ".".join(parts[:depth])
            path = find_module(dotted, self._search_path)
            if path is None:
                return
            self.file(path, package=dotted if path.name == "__init__.py" else dotted.rpartition(".")[0])


def find_module(name: str, search_path: Sequence[Path]) -> Path | None:
    """The source file of a module or package that lies in one of the folders."""
    relative = Path(*name.split("."))
    for folder in search_path:
        for path in (folder / relative / "__init__.py", folder / relative.with_suffix(".py")):
            if path.is_file():
                return path
    return None


def _environment_step(statement: ast.Assign | ast.Expr) -> Step | None:
    """The step that setting a variable of the environment to a constant comes to; None for any harmless statement."""
    match statement:
        case ast.Assign(targets=[ast.Subscript(value=target, slice=ast.Constant(value=str(name)))], value=value):
            verb = "set"
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=target, attr="setdefault"), args=[ast.Constant(value=str(name)), value]
            )
        ):
            verb = "default"
        case _:
            _check_harmless([statement])
            return None
    if not _is_environment(target):
        _check_harmless([statement])
        return None
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return Step(verb, name, value.value)
    _check_harmless([value])
    if read_at_import(name):
        raise _OnItsOwn
    return None


def _check_harmless(nodes: Iterable[ast.AST]) -> None:
    """Raise where evaluating the nodes could change a later import: by a call, or by whatever has hold of the
    environment other than to read it."""
    for node in nodes:
        inner = list(ast.walk(node))
        reading = {id(read) for one in inner for read in _environment_read(one)}
        for one in inner:
            if isinstance(one, ast.Call) and not _harmless(_dotted(one.func)):
                raise _OnItsOwn
            if _is_environment(one) and id(one) not in reading:
                raise _OnItsOwn


def _environment_read(node: ast.AST) -> list[ast.expr]:
    """What the node reads without keeping hold of it."""
    match node:
        case ast.Subscript(value=read, ctx=ast.Load()) | ast.Attribute(value=read, attr="get"):
            return [read]
        case ast.Compare(comparators=reads):
            return reads
    return []


def _is_environment(node: ast.AST) -> bool:
    return (isinstance(node, ast.Attribute) and node.attr == "environ") or (
        isinstance(node, ast.Name) and node.id == "environ"
    )


def _harmless(function: str) -> bool:
    known = any(function == name or function.startswith(f"{name}.") for name in HARMLESS_CALLS)
    return known and not function.endswith(".addHandler")


def _dotted(node: ast.expr) -> str:
    """`Path.resolve.parent` for `Path(__file__).resolve().parent`; methods of constants begin with `str`."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attr):
            return f"{_dotted(value)}.{attr}"
        case ast.Call(func=value) | ast.Subscript(value=value):
            return _dotted(value)
        case ast.Constant() | ast.JoinedStr():
            return "str"
    return "?"


def _absolute(module: str | None, level: int, package: str) -> str:
    """The full name of what `from ..module import` names inside `package`."""
    if not level:
        return module or ""
    parents = package.split(".")[: len(package.split(".")) - (level - 1)]
    return ".".join([*parents, *filter(None, [module])])


def _tests(test: ast.expr, name: str) -> bool:
    """Whether a condition is about `name`, such as `if typing.TYPE_CHECKING`."""
    return any(_dotted(node).endswith(name) for node in ast.walk(test) if isinstance(node, ast.Name | ast.Attribute))


def _prepares(script: Path) -> bool:
    """Whether the script may do anything, anywhere, that must come before an import of TensorFlow."""
    text = script.read_text(errors="replace")
    return any(word in text for word in WORDS_OF_PREPARATION)


def _root(name: str) -> str:
    return name.partition(".")[0]

"""YAML and JSON text into plain values that know their lines, and back.

Values are read as kubectl reads them, by YAML 1.1 with Go's ideas of numbers: `yes` and `on` are true, `0644` is
octal, a date is text and so is `22:22`. PyYAML alone would make a time and a number of the last two. What is written
is quoted wherever either reader would take it for something else than text.

The node tree is composed and walked here, instead of constructed by PyYAML, because only nodes know their lines, and
because PyYAML takes the last of two equal keys and expands aliases without a bound.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml
from yaml.cyaml import CParser  # type: ignore[attr-defined]  # the stubs leave it out
from yaml.resolver import BaseResolver

from shoal.resources.place import Finding, Path

MAX_VALUES = 200_000
"""How many values one text may expand to through its aliases. A manifest of 1,000 lines has about 2,000."""

MAX_DEPTH = 100
"""How deep values may nest. A pod template's deepest field is at 15."""

_TAG = "tag:yaml.org,2002:"
_BOOL = re.compile(r"(y|Y|yes|Yes|YES|true|True|TRUE|on|On|ON)|(n|N|no|No|NO|false|False|FALSE|off|Off|OFF)")
_NULL = re.compile(r"~|null|Null|NULL|")
_INT = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F_]+)|0[bB]([01_]+)|0[oO]?([0-7_]+)|(0|[1-9][0-9_]*))")
_FLOAT = re.compile(
    r"[-+]?(?:\.[0-9][0-9_]*|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
_RULES = (
    ("bool", _BOOL, "yYnNtTfFoO"),
    ("null", _NULL, ["~", "n", "N", ""]),
    ("int", _INT, "-+0123456789"),
    ("float", _FLOAT, "-+.0123456789"),
    ("merge", re.compile("<<"), "<"),
)


class _Loader(CParser, BaseResolver):
    """The C parser with kubectl's reading of plain scalars."""

    def __init__(self, text: str) -> None:
        CParser.__init__(self, text)
        BaseResolver.__init__(self)


class _Dumper(yaml.CSafeDumper):
    """PyYAML's dumper, which quotes what PyYAML would misread, told to quote what kubectl would misread too."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar(f"{_TAG}str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _represent_text)
for _name, _regexp, _first in _RULES:
    for _class in (_Loader, _Dumper):
        _class.add_implicit_resolver(f"{_TAG}{_name}", re.compile(rf"(?:{_regexp.pattern})\Z"), list(_first))


@dataclass(slots=True)
class Tree:
    """One YAML document: its value, and the line of each of its parts, counted from 1."""

    value: Any
    line: int
    lines: dict[Path, int] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def line_of(self, path: Path) -> int:
        """The line of `path`, or of the nearest part around it that was written."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, self.line)


class YamlSyntaxError(Exception):
    """Text that is not YAML. `line` counts from 1."""

    def __init__(self, problem: str, line: int | None) -> None:
        super().__init__(problem)
        self.line = line


def read_yaml(text: str) -> Iterator[Tree]:
    """The documents of `text`, JSON included; empty ones are left out. Raises YamlSyntaxError where it breaks off."""
    expansion = _Expansion()
    try:
        loader = _Loader(_json_as_yaml(text))
        while loader.check_node() and (node := loader.get_node()):
            tree = Tree(None, _line(node))
            tree.value = _Builder(tree, expansion).build(node, (), ())
            if tree.value is not None or tree.findings:
                yield tree
    except yaml.reader.ReaderError as error:
        before = text.encode()[: error.position].decode(errors="ignore")
        raise YamlSyntaxError(f"a control character, {error.character:#04x}", before.count("\n") + 1) from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = ", ".join(part for part in (error.context, error.problem) if part)
        raise YamlSyntaxError(problem, mark.line + 1 if mark else None) from error


def write_yaml(value: object) -> str:
    """YAML that both kubectl and PyYAML read back as `value`. Keys keep their order."""
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1_000_000)
    return text


@dataclass(slots=True)
class _Expansion:
    """How many values the text has come to so far, aliases expanded."""

    values: int = 0

    def add(self, node: yaml.Node) -> None:
        self.values += 1
        if self.values > MAX_VALUES:
            raise YamlSyntaxError(f"more than {MAX_VALUES:,} values, aliases expanded", _line(node))


@dataclass(frozen=True, slots=True)
class _Builder:
    """Builds a document's value from its nodes, and notes lines and findings in `tree`."""

    tree: Tree
    expansion: _Expansion

    def build(self, node: yaml.Node, path: Path, within: tuple[yaml.Node, ...]) -> Any:
        self.expansion.add(node)
        self.tree.lines.setdefault(path, _line(node))
        if any(node is outer for outer in within):
            raise YamlSyntaxError("an alias that contains itself", _line(node))
        if len(within) > MAX_DEPTH:
            raise YamlSyntaxError(f"nested deeper than {MAX_DEPTH} levels", _line(node))
        within = (*within, node)
        if isinstance(node, yaml.MappingNode):
            entries = self._entries(node, path, within)
            return {key: self.build(value, (*path, key), within) for key, value in entries.items()}
        if isinstance(node, yaml.SequenceNode):
            return [self.build(item, (*path, index), within) for index, item in enumerate(node.value)]
        return self._scalar(node.tag, node.value, path)

    def _entries(self, node: yaml.MappingNode, path: Path, within: tuple[yaml.Node, ...]) -> dict[str, yaml.Node]:
        """The mapping's keys with their values; keys merged in by `<<` come last and never win."""
        entries: dict[str, yaml.Node] = {}
        merged: list[yaml.Node] = []
        for key, value in node.value:
            if key.tag == f"{_TAG}merge":
                merged += value.value if isinstance(value, yaml.SequenceNode) else [value]
            elif not isinstance(key, yaml.ScalarNode):
                self._find(path, "a key must be text", 'put text with braces in quotes, as in name: "{{ name }}"')
            elif key.value in entries:
                first = self.tree.lines[(*path, key.value)]
                self.tree.lines[(*path, key.value)] = _line(key)
                self._find((*path, key.value), f"written twice, first on line {first}", "remove one of the two")
            else:
                entries[key.value] = value
                self.tree.lines[(*path, key.value)] = _line(key)
        for source in merged:
            self.expansion.add(source)
            if not isinstance(source, yaml.MappingNode) or any(source is outer for outer in within):
                self._find(path, "<< takes an alias of another mapping")
                continue
            for key, value in self._entries(source, path, (*within, source)).items():
                entries.setdefault(key, value)
        return entries

    def _scalar(self, tag: str, text: str, path: Path) -> Any:
        match tag.removeprefix(_TAG):
            case "str" | "merge":
                return text
            case "null":
                return None
            case "bool" if match := _BOOL.fullmatch(text):
                return match[1] is not None
            case "int" if match := _INT.fullmatch(text):
                return _integer(match)
            case "float" if _FLOAT.fullmatch(text):
                return float(re.sub(r"_|\.(?=[a-zA-Z])", "", text))
            case _:
                self._find(path, f"the tag {tag} does not fit here", "manifests need no tags: remove it")
                return text

    def _find(self, path: Path, problem: str, hint: str = "") -> None:
        self.tree.findings.append(Finding(path, problem, hint))


def _line(node: yaml.Node) -> int:
    line: int = node.start_mark.line
    return line + 1


def _integer(match: re.Match[str]) -> int:
    sign, *digits = match.groups()
    base, text = next((base, text) for base, text in zip((16, 2, 8, 10), digits, strict=True) if text is not None)
    return int(sign + (text.replace("_", "") or "0"), base)


def _json_as_yaml(text: str) -> str:
    """JSON, told so that libyaml takes it: YAML has one escape for a character beyond U+FFFF where JSON has two, and
    breaks lines or stops at some characters that JSON allows in a string."""
    if text.lstrip()[:1] not in ("{", "["):
        return text

    def escape(match: re.Match[str]) -> str:
        if match["pair"]:
            character: str = json.loads(f'"{match[0]}"')
            return f"\\U{ord(character):08x}"
        return match[0] if match["escaped"] else f"\\u{ord(match[0]):04x}"

    return _UNLIKE_YAML.sub(escape, text)


_UNLIKE_YAML = re.compile(
    r"(?P<escaped>\\\\)|(?P<pair>\\u[dD][89abAB]..\\u[dD][c-fC-F]..)|[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]"
)

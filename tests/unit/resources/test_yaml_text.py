from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from shoal.resources.yaml_text import MAX_VALUES, Tree, YamlSyntaxError, read_yaml, write_yaml

KEYS = st.text(max_size=63)
PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


def only(text: str) -> Tree:
    (tree,) = read_yaml(text)
    return tree


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", True),
        ("on", True),
        ("y", True),
        ("No", False),
        ("22:22", "22:22"),
        ("2026-01-31", "2026-01-31"),
        ("0644", 0o644),
        ("0o17", 15),
        ("0x1f", 31),
        ("-0b11", -3),
        ("08", 8.0),
        ("1_000", 1000),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("-.inf", float("-inf")),
        ("~", None),
        ("'yes'", "yes"),
        ("1.2.3", "1.2.3"),
        ("0x", "0x"),
        ("!!str 5", "5"),
    ],
)
def test_plain_scalars_are_read_as_kubectl_reads_them(text, value):
    read = only(f"a: {text}").value["a"]
    assert (read, type(read)) == (value, type(value))


@given(st.dictionaries(KEYS, PLAIN, min_size=1))
def test_what_is_written_is_read_back(value):
    text = write_yaml(value)
    assert only(text).value == value
    assert yaml.load(text, Loader=yaml.CSafeLoader) == value


@given(st.dictionaries(KEYS, PLAIN, min_size=1))
def test_json_is_read(value):
    assert only(json.dumps(value)).value == value
    assert only(json.dumps(value, ensure_ascii=False, indent=2)).value == value


def test_text_of_several_lines_is_written_as_a_block():
    assert write_yaml({"a": "one\ntwo\n"}) == "a: |\n  one\n  two\n"


def test_every_part_knows_its_line():
    tree = only("# a comment\na: 1\nb:\n  - c:\n      d\n  - e\n")
    assert {path: tree.line_of(path) for path in [(), ("a",), ("b",), ("b", 0), ("b", 0, "c"), ("b", 1)]} == {
        (): 2,
        ("a",): 2,
        ("b",): 3,
        ("b", 0): 4,
        ("b", 0, "c"): 4,
        ("b", 1): 6,
    }
    assert tree.line_of(("b", 0, "missing", 7)) == 4


def test_empty_documents_are_left_out():
    assert [tree.value for tree in read_yaml("---\n# nothing\n---\na: 1\n---\n---\nb: 2\n")] == [{"a": 1}, {"b": 2}]


def test_a_key_is_written_once():
    tree = only("a: 1\nb: 2\na: 3\n")
    (finding,) = tree.findings
    assert (finding.path, finding.problem, tree.line_of(finding.path)) == (("a",), "written twice, first on line 1", 3)


def test_mappings_are_merged_as_yaml_says():
    tree = only("a: &a {x: 1, y: 1}\nb: &b {y: 2, z: 2}\nc: {<<: [*a, *b], x: 0}\nd:\n  <<: *a\n  w: 3\n")
    assert tree.value["c"] == {"x": 0, "y": 1, "z": 2}
    assert tree.value["d"] == {"w": 3, "x": 1, "y": 1}
    assert not tree.findings
    assert tree.value["a"] is not tree.value["d"]


def test_aliases_do_not_share_what_they_name():
    value = only("a: &a [1]\nb: *a\n").value
    value["a"].append(2)
    assert value["b"] == [1]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: {{ name }}", "a key must be text"),
        ("a: !env HOME", "the tag !env does not fit here"),
        ("a: !!binary aGk=", "the tag tag:yaml.org,2002:binary does not fit here"),
        ("a: !!int five", "the tag tag:yaml.org,2002:int does not fit here"),
        ("a:\n  <<: 1", "<< takes an alias of another mapping"),
    ],
)
def test_what_manifests_do_not_use_is_found(text, problem):
    assert [finding.problem for finding in only(text).findings] == [problem]


@pytest.mark.parametrize(
    ("text", "problem", "line"),
    [
        ("a: [1", "did not find expected ',' or ']'", 2),
        ("ok: 1\nb:\n\t- c", "found character that cannot start any token", 3),
        ("a: 1\nb: c: d", "mapping values are not allowed", 2),
        ("a: &a [*a]", "an alias that contains itself", 1),
        ("a: &a {<<: *a}", "an alias that contains itself", None),
        ("x: 1\na: \x01", "a control character, 0x01", 2),
        ("a: " + "[" * 200 + "]" * 200, "nested deeper than 100 levels", 1),
        ("[" * 100_000, "exceeded maximum nesting depth", 1),
    ],
)
def test_what_is_not_yaml_says_where(text, problem, line):
    if line is None:
        assert "<< takes" in only(text).findings[0].problem
        return
    with pytest.raises(YamlSyntaxError, match=problem) as error:
        list(read_yaml(text))
    assert error.value.line == line


def test_aliases_expand_within_a_bound():
    names = "abcdefghi"
    bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
    for name, before in zip(names[1:], names, strict=False):
        bomb += f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n"
    with pytest.raises(YamlSyntaxError, match=f"more than {MAX_VALUES:,} values"):
        list(read_yaml(bomb))


def test_merges_expand_within_a_bound():
    bomb = "a: &a {x: 1}\n"
    names = "abcdefghi"
    for name, before in zip(names[1:], names, strict=False):
        bomb += f"{name}: &{name} {{<<: [{', '.join([f'*{before}'] * 10)}]}}\n"
    with pytest.raises(YamlSyntaxError, match=f"more than {MAX_VALUES:,} values"):
        list(read_yaml(bomb))

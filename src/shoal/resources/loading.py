"""Manifests from files, and back to text.

`load` reads everything before it complains: one ManifestError holds the faults of all documents of all files.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from shoal.resources.document import Document, Known, read_resource, split_list
from shoal.resources.errors import Fault, ManifestError
from shoal.resources.place import format_path
from shoal.resources.sources import Text, read_texts
from shoal.resources.yaml_text import Tree, YamlSyntaxError, read_yaml, write_yaml


def load(source: str | Path) -> list[Document]:
    """Every resource of a YAML or JSON file, of a folder (`*.yaml`, `*.yml`, `*.json`, in order), or of `-`, standard
    input. Raises ManifestError with all faults that were found."""
    documents: list[Document] = []
    faults: list[Fault] = []
    for text in read_texts(source):
        for result in _read(text) if isinstance(text, Text) else [text]:
            if isinstance(result, Fault):
                faults.append(result)
            else:
                documents.append(result)
    if faults:
        raise ManifestError(faults)
    return documents


def dump(resource: Known) -> str:
    """The resource as YAML text that `load` and kubectl read back as it is."""
    return write_yaml(resource.dump())


def _read(text: Text) -> Iterator[Document | Fault]:
    trees: list[Tree] = []
    broken: Fault | None = None
    try:
        for tree in read_yaml(text.text):
            trees.append(tree)  # one by one: those before a syntax error are kept
    except YamlSyntaxError as error:
        broken = Fault(text.name, None, error.line, "", f"not valid YAML: {error}", _mend(text.text, error.line))
    many = len(trees) + bool(broken) > 1
    for number, tree in enumerate(trees, start=1):
        yield from _read_document(text.name, number, many, tree)
    if broken:
        yield broken
    elif not trees:
        yield Fault(text.name, None, None, "", "empty", "a manifest has apiVersion, kind, metadata and spec")


def _read_document(source: str, number: int, many: bool, tree: Tree) -> Iterator[Document | Fault]:
    unreadable = {finding.path for finding in tree.findings}
    findings = list(tree.findings)
    documents = []
    for base, value in split_list(tree.value):
        resource, found = read_resource(value)
        for finding in found:
            path = (*base, *finding.path)
            if path not in unreadable:
                findings.append(finding._replace(path=path))
        if resource is not None:
            documents.append(Document(source, number, tree.line_of(base), resource))
    for path, problem, hint, _ in sorted(findings, key=lambda finding: tree.line_of(finding.path)):
        yield Fault(source, number if many else None, tree.line_of(path), format_path(path), problem, hint)
    if not findings:
        yield from documents


def _mend(text: str, line: int | None) -> str:
    if line is not None and "\t" in text.splitlines()[min(line, len(text.splitlines())) - 1]:
        return "YAML is indented with spaces, not tabs"
    return ""

"""What a training script's text tells about how it trains. The script is parsed, never run."""

from __future__ import annotations

import ast
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ScriptFacts:
    """`fits_keras3`: calls `fit` and gets its Keras from Keras 3, as far as the imports tell."""

    fits_keras3: bool = False
    uses_estimator: bool = False


def read_script(source: str) -> ScriptFacts:
    """The facts; none of a text that is no Python."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return ScriptFacts()
    nodes = list(ast.walk(tree))
    imported = {name for node in nodes for name in _imports(node)}
    attributes = {ast.unparse(node) for node in nodes if isinstance(node, ast.Attribute)}
    fits = any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "fit"
        for node in nodes
    )
    keras3 = any(name == "keras" or name.startswith(("keras.", "tensorflow.keras")) for name in imported)
    keras3 = keras3 or any(text.startswith(("tf.keras", "tensorflow.keras")) for text in attributes)
    legacy = any(name.split(".")[0] == "tf_keras" for name in imported) or _sets_legacy(nodes)
    estimator = any(text.startswith(("tf.estimator", "tensorflow.estimator")) for text in attributes)
    return ScriptFacts(fits_keras3=fits and keras3 and not legacy, uses_estimator=estimator)


def _imports(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return []


def _sets_legacy(nodes: list[ast.AST]) -> bool:
    return any(isinstance(node, ast.Constant) and node.value == "TF_USE_LEGACY_KERAS" for node in nodes)

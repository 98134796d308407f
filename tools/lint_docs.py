"""Write docs/lint.md from the rules themselves: python -m tools.lint_docs."""

from __future__ import annotations

import inspect
from pathlib import Path

from shoal.training.lint import IGNORE, RULES

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "lint.md"

HEAD = f"""# Rules of `shoal lint`

Made by `python -m tools.lint_docs` from `src/shoal/training/lint.py`.

`shoal lint FILE` exits with 1 if there is an error, with `--strict` also if there is a warning. To silence a rule for a
job, name it in an annotation:

```yaml
metadata:
  annotations:
    {IGNORE}: "SH401, SH505"
```
"""


def document() -> str:
    """The whole page."""
    sections = [
        f"## {rule.id}: {rule.title}\n\n*{rule.severity.value.capitalize()}.* {inspect.getdoc(rule.check)}\n"
        for rule in RULES
    ]
    return "\n".join([HEAD, *sections])


if __name__ == "__main__":
    DOCUMENT.write_text(document())

"""Write what is generated: python -m shoal.cuda.api [ROOT], from the repository's root by default."""

from __future__ import annotations

import sys
from pathlib import Path

from shoal.cuda.api.c_client import c_files
from shoal.cuda.api.coverage import coverage


def files() -> dict[str, str]:
    """The text of each generated file, by its path in the repository."""
    return {
        **{f"native/generated/{name}": text for name, text in c_files().items()},
        "docs/cuda-coverage.md": coverage(),
    }


def main(root: Path) -> None:
    for name, text in files().items():
        path = root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path())

"""What `shoal lint` and `shoal run` find in a job: the rules of `shoal.training.lint`, with the scripts at hand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from shoal.training.lint import Finding, lint

if TYPE_CHECKING:
    from shoal.resources import TFJob


def findings_of(job: TFJob, source: str) -> list[Finding]:
    """Everything found in a job that was read from `source`, a file or `-`."""
    return lint(job, {kind: file.read_text(errors="replace") for kind, file in scripts_of(job, source).items()})


def scripts_of(job: TFJob, source: str) -> dict[str, Path]:
    """Each role's script, where its command is `python FILE` and the file stands beside the manifest."""
    if job.spec.code:
        return {}  # what stands beside the manifest is not what runs
    folder = Path.cwd() if source == "-" else Path(source).parent
    found = {}
    for kind, spec in job.spec.tf_replica_specs.items():
        words = [*(spec.container.get("command") or []), *(spec.container.get("args") or [])]
        name = next((word for word in words if str(word).endswith(".py")), None)
        if name and (folder / name).is_file():
            found[kind.value] = folder / name
    return found

"""A run whose every word is meant for whoever shows it without care: markup, and a line that has no end."""

from __future__ import annotations

from pathlib import Path

import yaml

MARKUP = """</pre><img src=x onerror="document.title='owned'"><script>document.title='owned'</script>"""
ENDLESS = "m" * 20_000

SCRIPT = f"""
import json, os, sys, time
markup, endless = {MARKUP!r}, {ENDLESS!r}
with open(os.environ["SHOAL_PROGRESS_FILE"], "a") as file:
    for step in range(1, 4):
        file.write(json.dumps(dict(time=time.time(), step=step, loss=1 / step, metrics={{markup: 0.5}})) + chr(10))
print(markup, endless, chr(27) + "[31m", sep=chr(10), flush=True)
time.sleep(1)
raise ValueError(markup)
"""


def write_hostile_job(folder: Path) -> Path:
    """The manifest of a run named `broken`, which fails."""
    container = {"name": "tensorflow", "image": "example/train", "command": ["python", "-c", SCRIPT]}
    worker = {"restartPolicy": "Never", "template": {"spec": {"containers": [container]}}}
    manifest = {
        "apiVersion": "shoal.dev/v1",
        "kind": "TFJob",
        "metadata": {"name": "broken"},
        "spec": {"tfReplicaSpecs": {"Worker": worker}},
    }
    path = folder / "broken.yaml"
    path.write_text(yaml.safe_dump(manifest))
    return path

"""What Shoal and a training script say to each other: environment variables, and one JSON line per event.

A script needs none of this to be trained by Shoal. A script that imports `shoal.tf` speaks it, and so may any
other program: it is a few variables and a file.

Progress lines are JSON objects, one a line, appended to the file that `SHOAL_PROGRESS_FILE` names:

    {"time": 1796142884.4, "step": 120, "loss": 0.31, "metrics": {"accuracy": 0.9}}     a step was finished
    {"time": 1796142890.1, "checkpoint": 120}       a checkpoint of that step is complete
    {"time": 1796142899.0, "evaluated": 120}        the evaluator has evaluated the checkpoint of that step

Where nobody can read such a file, in a pod, `SHOAL_PROGRESS_LOG` asks for the lines on standard output instead, each
behind `SHOAL_PROGRESS: `, as the log of a pod can be read.

Readers ignore keys they do not know and lines that are not JSON objects.
"""

from __future__ import annotations

TF_CONFIG = "TF_CONFIG"
"""TensorFlow's own: the cluster and this process's task in it, as JSON."""

STRATEGY = "SHOAL_STRATEGY"
"""The job's strategy, spelt as in the manifest: `AllReduce`, `ParameterServer`, …"""

PROGRESS_FILE = "SHOAL_PROGRESS_FILE"
"""Where to append progress lines. Unset where nobody listens."""

PROGRESS_LOG = "SHOAL_PROGRESS_LOG"
"""Set where progress lines are wanted on standard output; `PROGRESS_FILE` goes before it."""

PROGRESS_PREFIX = "SHOAL_PROGRESS: "
"""What tells a progress line on standard output from all others."""

JOB = "SHOAL_JOB"
"""The job's name."""

REPLICA = "SHOAL_REPLICA"
"""This process's name in the job: `worker-1`."""

LEADER = "SHOAL_LEADER"
"""The name of the replica that speaks for the job, such as `chief-0`: where workers come and go, TF_CONFIG does not
tell whether there is a chief."""

ATTEMPT = "SHOAL_ATTEMPT"
"""How often this replica was started before: 0 at first. A container that the kubelet restarts in place is not told
of that."""

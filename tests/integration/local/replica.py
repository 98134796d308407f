"""A stand-in for a training script: takes steps, reports them, and fails where it is told to.

    replica.py STEPS [REPLICA:WHAT ...]     WHAT: fail, fail-once, hang, exit=N, spawn (a child in a session of its own)

It is no TensorFlow program; supervision does not care. Steps go on from the step that an earlier attempt reached.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

STEP_SECONDS = 0.05


def main() -> None:
    steps, *orders = sys.argv[1:]
    me, attempt = os.environ["SHOAL_REPLICA"], int(os.environ["SHOAL_ATTEMPT"])
    mine = [what for order in orders for name, _, what in [order.partition(":")] if name == me]
    print(f"{me} attempt {attempt} begins", flush=True)
    checkpoint = Path(os.environ.get("CHECKPOINT", os.devnull))
    step = int(checkpoint.read_text() or 0) if checkpoint.is_file() else 0
    if step:
        print(f"resuming at step {step}", flush=True)
    if "spawn" in mine:
        subprocess.Popen(["sleep", "1000"], start_new_session=True)
    began_at = step
    while step < int(steps):
        time.sleep(STEP_SECONDS)
        step += 1
        with Path(os.environ["SHOAL_PROGRESS_FILE"]).open("a") as file:
            file.write(json.dumps({"time": time.time(), "step": step, "loss": 1 / step}) + "\n")
        if checkpoint.is_file() and me in ("chief-0", "worker-0"):
            save(checkpoint, str(step), me)
        if step == began_at + 3:
            act(mine, attempt)
    print(f"{me} is done", flush=True)


def save(checkpoint: Path, text: str, me: str) -> None:
    """By renaming: a replica may be killed at any moment, and what it saved before must still be there."""
    aside = checkpoint.with_name(f"{checkpoint.name}.{me}")
    aside.write_text(text)
    aside.replace(checkpoint)


def act(orders: list[str], attempt: int) -> None:
    for order in orders:
        if order == "fail" or (order == "fail-once" and attempt == 0):
            raise ValueError(f"told to fail in attempt {attempt}")
        if order == "hang":
            time.sleep(1000)
        if order.startswith("exit="):
            sys.exit(int(order.removeprefix("exit=")))


main()

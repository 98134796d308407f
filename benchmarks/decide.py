"""How long one pass of `decide` takes, by the size of the job. Goal: under 5 ms for 1,000 replicas.

python benchmarks/decide.py          prints the table, and writes it to benchmarks/decide.md
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path

from shoal.resources.roles import Role
from shoal.resources.tfjob import TFJob
from shoal.training import Observed, Replica, ReplicaProgress, ReplicaState, cluster_shape, decide, replica_ids

RUNS = 50
SIZES = (10, 100, 1000, 10_000)


def job_of(size: int) -> TFJob:
    """A chief, one parameter server in ten, and workers: `size` replicas in all."""
    template = {"spec": {"containers": [{"name": "tensorflow", "image": "example/train"}]}}
    counts = {"Chief": 1, "PS": size // 10, "Worker": size - size // 10 - 1}
    replicas = {kind: {"replicas": n, "restartPolicy": "OnFailure", "template": template} for kind, n in counts.items()}
    return TFJob.model_validate({"metadata": {"name": "bench"}, "spec": {"tfReplicaSpecs": replicas}})


def observed(job: TFJob, failed: int = 0) -> Observed:
    """All replicas running and reporting steps, but for the first `failed` workers."""
    seen = []
    for id in replica_ids(job):
        dead = id.role is Role.WORKER and id.index < failed
        seen.append(
            Replica(
                id,
                0,
                cluster_shape(job, id.role),
                ReplicaState.FAILED if dead else ReplicaState.RUNNING,
                exit_code=137 if dead else None,
                started_at=0.0,
                finished_at=50.0 if dead else None,
                progress=ReplicaProgress(10, 40.0, loss=0.5),
            )
        )
    return Observed(tuple(seen))


def median_ms(job: TFJob, picture: Observed) -> float:
    times = []
    for _ in range(RUNS):
        began = time.perf_counter()
        decide(job, picture, 60.0)
        times.append(time.perf_counter() - began)
    return statistics.median(times) * 1000


def main() -> None:
    rows = [
        "| replicas | start: create all | steady: nothing to do | a tenth of the workers killed |",
        "|---:|---:|---:|---:|",
    ]
    for size in SIZES:
        job = job_of(size)
        start = median_ms(job, Observed())
        picture = observed(job)
        job.status = decide(job, picture, 50.0).status
        steady = median_ms(job, picture)
        kill = median_ms(job, observed(job, failed=size // 10))
        rows.append(f"| {size:,} | {start:.2f} ms | {steady:.2f} ms | {kill:.2f} ms |")
    table = "\n".join(rows)
    print(table)
    text = f"# One pass of `decide`\n\nMedian of {RUNS}, one core. Made by `benchmarks/decide.py`.\n\n{table}\n"
    Path(__file__).with_suffix(".md").write_text(text)


if __name__ == "__main__":
    main()

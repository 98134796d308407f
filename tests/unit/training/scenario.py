"""Short ways to say "a job with these roles, of which this was seen" in tests of `decide`."""

from __future__ import annotations

from typing import Any

from shoal.resources.status import JobStatus
from shoal.resources.tfjob import TFJob
from shoal.training import Cause, Decision, Observed, Replica, ReplicaId, ReplicaProgress, ReplicaState, decide

TEMPLATE = {"spec": {"containers": [{"name": "tensorflow", "image": "example/train"}]}}


def job(
    restart: str = "OnFailure",
    run_policy: dict[str, Any] | None = None,
    restart_by_role: dict[str, str] | None = None,
    **spec: Any,
) -> TFJob:
    """`job(Chief=1, PS=1, Worker=2, strategy="ParameterServer")`; capitalised keywords are replica counts."""
    counts = {key: spec.pop(key) for key in list(spec) if key[0].isupper()}
    replicas = {
        kind: {
            "replicas": count,
            "restartPolicy": (restart_by_role or {}).get(kind, restart),
            "template": TEMPLATE,
        }
        for kind, count in counts.items()
    }
    return TFJob.model_validate(
        {
            "metadata": {"name": "train"},
            "spec": {"tfReplicaSpecs": replicas, "runPolicy": run_policy or {}, **spec},
        }
    )


class Scenario:
    """A job under observation: keeps the status between passes, and a clock that tests move."""

    def __init__(self, job: TFJob, now: float = 1000.0) -> None:
        self.job = job
        self.now = now
        self.seen: dict[str, Replica] = {}
        self.last = Decision(job.status)

    @property
    def status(self) -> JobStatus:
        return self.job.status

    def step(self, seconds: float = 0.0) -> Decision:
        """One pass over what was seen; its status is remembered."""
        self.now += seconds
        self.last = decide(self.job, Observed(tuple(self.seen.values())), self.now)
        self.job.status = self.last.status
        return self.last

    def obey(self, seconds: float = 0.0) -> Decision:
        """One pass, and its actions take effect at once: created replicas run, deleted ones are gone."""
        decision = self.step(seconds)
        for action in decision.actions:
            match type(action).__name__:
                case "Create":
                    self.see(str(action.id), attempt=action.attempt, shape=action.shape)
                case "Delete":
                    self.seen.pop(str(action.id), None)
        return decision

    def settle(self, seconds: float = 0.0) -> Decision:
        """Passes until nothing is left to do."""
        decision = self.obey(seconds)
        for _ in range(10):
            if not decision.actions:
                return decision
            decision = self.obey()
        raise AssertionError(f"still acting: {decision.actions}")

    def see(self, name: str, state: str = "Running", **facts: Any) -> Replica:
        """Observe the replica in `state`; facts not given stay as they were."""
        before = self.seen.get(name)
        kept = {key: getattr(before, key) for key in Replica.__slots__} if before else {}
        facts = {"attempt": 0, "shape": "", "started_at": self.now, **kept, **facts}
        facts |= {"id": ReplicaId.parse(name), "state": ReplicaState(state)}
        self.seen[name] = Replica(**facts)
        return self.seen[name]

    def fail(
        self, name: str, exit_code: int | None = 1, cause: Cause = Cause.EXIT, ago: float = 0.0, **facts: Any
    ) -> None:
        self.see(name, "Failed", exit_code=exit_code, cause=cause, finished_at=self.now - ago, **facts)

    def complete(self, *names: str) -> None:
        for name in names:
            self.see(name, "Succeeded", exit_code=0, finished_at=self.now)

    def progress(self, name: str, step: int, **facts: Any) -> None:
        self.see(name, progress=ReplicaProgress(step, self.now, **facts))

    def actions(self, kind: str) -> list[str]:
        """Names of the replicas that the last pass wants created or deleted."""
        return [str(action.id) for action in self.last.actions if type(action).__name__ == kind]


def running(job: TFJob) -> Scenario:
    """The job with all its replicas up."""
    scenario = Scenario(job)
    scenario.settle()
    scenario.step()
    assert scenario.status.phase == "Running"
    return scenario

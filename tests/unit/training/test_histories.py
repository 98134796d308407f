"""Random histories: whatever happens to replicas, and however late or lossy the news of it, the invariants hold.

A small world stands in for a backend: it carries actions out (or crashes before the last of them), lets replicas die,
complete, vanish or be evicted, shows an outdated or incomplete picture of itself, and steps its clock either way.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from shoal.resources.status import Phase
from shoal.resources.tfjob import TFJob
from shoal.training import (
    Cause,
    Create,
    Delete,
    Observed,
    Replica,
    ReplicaId,
    ReplicaProgress,
    ReplicaState,
    decide,
)
from shoal.training.duties import in_group
from shoal.training.index_set import parse_indices
from tests.unit.training.scenario import job

ALIVE = (ReplicaState.PENDING, ReplicaState.RUNNING)
AFTER = {
    Phase.PENDING: {Phase.RUNNING, Phase.RESTARTING, Phase.SUSPENDED, Phase.SUCCEEDED, Phase.FAILED},
    Phase.RUNNING: {Phase.RESTARTING, Phase.SUSPENDED, Phase.SUCCEEDED, Phase.FAILED},
    Phase.RESTARTING: {Phase.RUNNING, Phase.SUSPENDED, Phase.SUCCEEDED, Phase.FAILED},
    Phase.SUSPENDED: {Phase.PENDING, Phase.RUNNING, Phase.RESTARTING, Phase.SUCCEEDED, Phase.FAILED},
    Phase.SUCCEEDED: set(),
    Phase.FAILED: set(),
}

CLUSTERS = (
    {"Worker": 1},
    {"Worker": 3, "strategy": "AllReduce"},
    {"Chief": 1, "Worker": 2, "Evaluator": 1, "strategy": "AllReduce"},
    {"Chief": 1, "PS": 2, "Worker": 2, "strategy": "ParameterServer"},
    {"Chief": 1, "PS": 1, "Worker": 1, "Evaluator": 1, "strategy": "ParameterServer"},
    {"PS": 1, "Worker": 2, "strategy": "BetweenGraphAsync"},
    {"PS": 1, "Worker": 2, "enableDynamicWorker": True},
    {"Chief": 1, "Worker": 2, "strategy": "InGraph"},
)


def completed(a_job: TFJob) -> set[ReplicaId]:
    return {ReplicaId(role, n) for role, text in a_job.status.completed.items() for n in parse_indices(text)}


class History(RuleBasedStateMachine):
    @initialize(
        cluster=st.sampled_from(CLUSTERS),
        restart=st.sampled_from(["Never", "OnFailure", "Always", "ExitCode"]),
        success=st.sampled_from(["", "AllWorkers"]),
        run_policy=st.fixed_dictionaries(
            {},
            optional={
                "backoffLimit": st.integers(0, 3),
                "cleanPodPolicy": st.sampled_from(["Running", "All", "None"]),
                "activeDeadlineSeconds": st.integers(1, 500),
                "startupTimeoutSeconds": st.integers(1, 500),
                "stallTimeoutSeconds": st.integers(1, 500),
            },
        ),
    )
    def begin(self, cluster, restart, success, run_policy):
        self.job = job(**cluster, restart=restart, successPolicy=success, run_policy=run_policy)
        self.now = 1_000_000.0
        self.world: dict[ReplicaId, Replica] = {}
        self.picture = Observed()
        self.history = [Phase.PENDING]
        self.completed: set[ReplicaId] = set()

    # --- what happens to replicas ---------------------------------------------------------------

    def _pick(self, data, *states):
        candidates = sorted(id for id, replica in self.world.items() if replica.state in states)
        return data.draw(st.sampled_from(candidates)) if candidates else None

    def _change(self, id, **facts):
        self.world[id] = replace(self.world[id], **facts)

    @rule(data=st.data())
    def starts(self, data):
        if id := self._pick(data, ReplicaState.PENDING):
            self._change(id, state=ReplicaState.RUNNING, started_at=self.now, serving=True)

    @rule(data=st.data(), exit_code=st.sampled_from([1, 42, 130, 137, 143]))
    def dies(self, data, exit_code):
        if id := self._pick(data, *ALIVE):
            self._change(id, state=ReplicaState.FAILED, exit_code=exit_code, finished_at=self.now)

    @rule(data=st.data(), cause=st.sampled_from([Cause.EVICTED, Cause.NODE_LOST, Cause.OUT_OF_MEMORY]))
    def is_taken_away(self, data, cause):
        if id := self._pick(data, *ALIVE):
            self._change(id, state=ReplicaState.FAILED, cause=cause, exit_code=137, finished_at=self.now)

    @rule(data=st.data())
    def completes(self, data):
        if id := self._pick(data, ReplicaState.RUNNING):
            self._change(id, state=ReplicaState.SUCCEEDED, exit_code=0, finished_at=self.now)

    @rule(data=st.data())
    def vanishes(self, data):
        if id := self._pick(data, *ReplicaState):
            del self.world[id]

    @rule(data=st.data())
    def is_gone(self, data):
        if id := self._pick(data, ReplicaState.TERMINATING):
            del self.world[id]

    @rule(data=st.data(), step=st.integers(0, 100))
    def reports(self, data, step):
        if id := self._pick(data, ReplicaState.RUNNING):
            self._change(id, progress=ReplicaProgress(step, self.now, checkpoint_step=step))

    @rule(seconds=st.sampled_from([0.5, 3.0, 40.0, 700.0, -50.0]))
    def time_passes(self, seconds):
        self.now += seconds

    # --- what users do --------------------------------------------------------------------------

    @rule(suspend=st.booleans())
    def suspends_or_resumes(self, suspend):
        self.job.spec.run_policy.suspend = suspend

    @precondition(lambda self: "Worker" in self.job.spec.tf_replica_specs)
    @rule(workers=st.integers(1, 4))
    def scales(self, workers):
        self.job.spec.tf_replica_specs["Worker"].replicas = workers

    # --- what the backend does ------------------------------------------------------------------

    @rule()
    def looks(self):
        self.picture = Observed(tuple(self.world.values()))

    @rule(data=st.data())
    def looks_and_misses_some(self, data):
        seen = [replica for replica in self.world.values() if data.draw(st.booleans())]
        self.picture = Observed(tuple(seen))

    @rule(survives=st.integers(0, 4))
    def passes_on_an_old_picture(self, survives):
        self._pass(survives)

    @rule()
    def looks_and_passes(self):
        self.looks()
        self._pass()

    def _pass(self, carried_out: int | None = None) -> int:
        before = completed(self.job)
        decision = decide(self.job, self.picture, self.now)
        again = decide(self.job.model_copy(update={"status": decision.status}), self.picture, self.now)
        assert again.status == decision.status, "a second pass over the same picture changes nothing"
        assert set(again.actions) == set(decision.actions)
        assert decision.wake_at is None or decision.wake_at > self.now
        self.job.status = decision.status
        self._check_actions(decision.actions, before)
        for action in decision.actions[:carried_out]:
            self._carry_out(action)
        return len(decision.actions)

    def _carry_out(self, action):
        match action:
            case Create(id, attempt, shape):
                if id not in self.world:
                    self.world[id] = Replica(id, attempt, shape, ReplicaState.PENDING)
            case Delete(id, attempt):
                if id in self.world and self.world[id].attempt == attempt:
                    if self.world[id].state in ALIVE:
                        self._change(id, state=ReplicaState.TERMINATING)
                    elif self.world[id].state is not ReplicaState.TERMINATING:
                        del self.world[id]

    # --- what always holds ----------------------------------------------------------------------

    def _check_actions(self, actions, completed_before):
        created = [action.id for action in actions if isinstance(action, Create)]
        assert len(set(created)) == len(created)
        assert not set(created) & (completed_before | completed(self.job)), "no completed replica runs again"
        assert not {r.id for r in self.picture.replicas} & set(created), "none is created beside a predecessor"
        group = {id for id in created if in_group(self.job.strategy, id.role)}
        if group:
            older = [r for r in self.picture.replicas if r.id in self._group() and r.attempt < self._attempt(r.id)]
            assert not older, "a group starts when all of its predecessors are gone"
        if self.job.status.phase.final:
            assert not created

    def _group(self):
        return {
            ReplicaId(role, index)
            for role, spec in self.job.replicas.items()
            for index in range(spec.count)
            if in_group(self.job.strategy, role)
        }

    def _attempt(self, id):
        return self.job.status.attempts.get(str(id), 0)

    @invariant()
    def phases_go_forward(self):
        if not hasattr(self, "job"):
            return
        phase = self.job.status.phase
        if phase is not self.history[-1]:
            assert phase in AFTER[self.history[-1]], f"{self.history[-1]} → {phase}"
            self.history.append(phase)

    @invariant()
    def one_verdict(self):
        if not hasattr(self, "job"):
            return
        held = {condition.type.value for condition in self.job.status.conditions if condition.status == "True"}
        assert not {"Succeeded", "Failed"} <= held
        assert len([c.type for c in self.job.status.conditions]) == len({c.type for c in self.job.status.conditions})
        if self.job.status.phase.final:
            assert self.job.status.phase.value in held
            assert "Running" not in held
            assert self.job.status.completion_time is not None

    @invariant()
    def completions_are_kept(self):
        if hasattr(self, "job"):
            assert self.completed <= completed(self.job)
            self.completed = completed(self.job)

    @invariant()
    def retries_stay_in_the_budget(self):
        if hasattr(self, "job"):
            limit = self.job.spec.run_policy.backoff_limit
            assert limit is None or self.job.status.retries <= limit

    def teardown(self):
        """When trouble ends, every job comes to an end, and leaves what its policy says."""
        if not hasattr(self, "job"):
            return
        self.job.spec.run_policy.suspend = False
        for _ in range(60):
            self.now += 400
            self._heal()
            self.looks()
            if not self._pass() and self.job.status.phase.final and not self._terminating():
                break
        assert self.job.status.phase.final, f"still {self.job.status.phase}: {self.job.status.message}"
        self.phases_go_forward()
        self.one_verdict()
        self._check_what_is_left()

    def _heal(self):
        for id, replica in list(self.world.items()):
            if replica.state is ReplicaState.TERMINATING:
                del self.world[id]
            elif replica.state is ReplicaState.PENDING:
                self._change(id, state=ReplicaState.RUNNING, started_at=self.now, serving=True)
            elif replica.state is ReplicaState.RUNNING and id.role.value != "ps":
                self._change(id, state=ReplicaState.SUCCEEDED, exit_code=0, finished_at=self.now)

    def _terminating(self):
        return any(replica.state is ReplicaState.TERMINATING for replica in self.world.values())

    def _check_what_is_left(self):
        policy = self.job.spec.run_policy.clean_pod_policy
        if policy == "None":
            return
        assert not [str(id) for id, replica in self.world.items() if replica.state in ALIVE]
        if policy == "All":
            assert self.world == {}


TestHistories = History.TestCase
TestHistories.settings = settings(stateful_step_count=40, suppress_health_check=list(HealthCheck))

"""What would go wrong in training, told before it does.

A manifest can be valid and still train nothing: TensorFlow's own rules about strategies, Keras and cluster specs are
not Kubernetes' business. Each rule is one function and has an id, by which a user silences it:

    metadata:
      annotations: {shoal.dev/lint-ignore: "SH401, SH505"}
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from shoal.resources.model_place import URI, holds, mounted_claim
from shoal.resources.roles import ReplicaType, Role
from shoal.resources.tfjob import SHOAL_API, RestartPolicy, Strategy, SuccessPolicy, TFJob
from shoal.training.cluster_spec import is_distributed
from shoal.training.duties import leader, serves, trains
from shoal.training.script import ScriptFacts, read_script

IGNORE = "shoal.dev/lint-ignore"
QUEUE = "kueue.x-k8s.io/queue-name"
POD_GROUP = "kueue.x-k8s.io/pod-group-name"


class Severity(StrEnum):
    """An error will fail or train nothing; a warning may."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a rule found."""

    rule: str
    severity: Severity
    path: str
    problem: str
    hint: str

    def __str__(self) -> str:
        return f"{self.severity.value} {self.rule} {self.path}: {self.problem}; {self.hint}"

    def as_data(self) -> dict[str, str]:
        return {name: str(getattr(self, name)) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Subject:
    """A job, and what is known of its scripts by replica type."""

    job: TFJob
    scripts: Mapping[str, ScriptFacts]

    def path(self, role: Role, field: str) -> str:
        kind = next(kind for kind in self.job.spec.tf_replica_specs if kind.role is role)
        return f"spec.tfReplicaSpecs.{kind.value}.{field}"

    @property
    def trainers(self) -> int:
        """How many replicas run the training loop."""
        return sum(spec.count for role, spec in self.job.replicas.items() if trains(self.job.strategy, role))

    def shares_a_volume(self, role: Role) -> bool:
        """Whether replicas of the role mount something that other pods can see."""
        if self.job.spec.storage:
            return True
        spec = self.job.replicas[role]
        private = {"emptyDir", "configMap", "secret", "downwardAPI", "projected", "ephemeral"}
        volumes = {v["name"]: set(v) - {"name"} for v in spec.template["spec"].get("volumes") or []}
        mounts = [mount["name"] for mount in spec.container.get("volumeMounts") or []]
        return any(volumes.get(name, private) - private for name in mounts)


Found = Iterator[tuple[str, str, str]]
"""(field path, problem, hint)"""


@dataclass(frozen=True, slots=True)
class Rule:
    """`title` says in one line what the rule is against; the function's docstring says why."""

    id: str
    severity: Severity
    title: str
    check: Callable[[Subject], Found]


RULES: list[Rule] = []


def rule(id: str, severity: Severity, title: str) -> Callable[[Callable[[Subject], Found]], Callable[[Subject], Found]]:
    def register(check: Callable[[Subject], Found]) -> Callable[[Subject], Found]:
        RULES.append(Rule(id, severity, title, check))
        return check

    return register


def lint(job: TFJob, scripts: Mapping[str, str]) -> list[Finding]:
    """Everything that the rules find, in their order. `scripts` are sources by replica type (`Worker`), as far as the
    caller has them."""
    subject = Subject(job, {kind: read_script(source) for kind, source in scripts.items()})
    ignored = (job.metadata.annotations or {}).get(IGNORE, "").replace(",", " ").split()
    return [
        Finding(each.id, each.severity, *found)
        for each in RULES
        if each.id not in ignored
        for found in each.check(subject)
    ]


@rule("SH101", Severity.WARNING, "Master under TensorFlow 2")
def _master(subject: Subject) -> Found:
    """TensorFlow 2 knows no `master` task. Shoal tells replicas that they are the chief; a script that looks for
    `master` in TF_CONFIG will not find it."""
    if ReplicaType.MASTER in subject.job.spec.tf_replica_specs:
        yield "spec.tfReplicaSpecs.Master", "TensorFlow 2 has no master; its TF_CONFIG will say chief", "name it Chief"


@rule("SH201", Severity.ERROR, "Keras 3 fit under a multi-process strategy")
def _keras3_fit(subject: Subject) -> Found:
    """`Model.fit` of Keras 3 supports neither MultiWorkerMirroredStrategy nor ParameterServerStrategy. tf_keras does
    (`TF_USE_LEGACY_KERAS=1` makes `tf.keras` mean it), and a loop of one's own works with both."""
    if subject.job.strategy not in (Strategy.ALL_REDUCE, Strategy.PARAMETER_SERVER):
        return
    for kind, facts in subject.scripts.items():
        spec = subject.job.spec.tf_replica_specs[ReplicaType(kind)]
        env = {each["name"]: each.get("value") for each in spec.container.get("env") or []}
        if facts.fits_keras3 and env.get("TF_USE_LEGACY_KERAS") not in ("1", "true", "True"):
            strategy = subject.job.strategy.value
            yield (
                f"spec.tfReplicaSpecs.{kind}",
                f"Keras 3's Model.fit does not work under {strategy}",
                "use tf_keras, set TF_USE_LEGACY_KERAS=1, or write the training loop yourself",
            )


@rule("SH202", Severity.ERROR, "Estimator API")
def _estimator(subject: Subject) -> Found:
    """The Estimator API left TensorFlow with 2.16."""
    for kind, facts in subject.scripts.items():
        if facts.uses_estimator:
            yield f"spec.tfReplicaSpecs.{kind}", "the script uses tf.estimator, which is gone", "use Keras or a loop"


@rule("SH301", Severity.ERROR, "sparse cluster spec where everybody must know everybody")
def _sparse(subject: Subject) -> Found:
    """With `enableDynamicWorker` no replica is told of the (other) workers. A coordinator then has nobody to schedule
    on, and an all-reduce nobody to reduce with; only between-graph workers, who meet at the ps, can do without."""
    strategy = subject.job.strategy
    if subject.job.spec.enable_dynamic_worker and strategy in (
        Strategy.ALL_REDUCE,
        Strategy.PARAMETER_SERVER,
        Strategy.IN_GRAPH,
    ):
        problem = f"under {strategy.value} replicas must know all workers, and a sparse cluster spec names none"
        yield "spec.enableDynamicWorker", problem, "leave it out, or choose strategy: BetweenGraphAsync"


@rule("SH302", Severity.WARNING, "dynamic workers without a chief and without AllWorkers")
def _dynamic_leader(subject: Subject) -> Found:
    """Without a chief, worker 0's end is the job's end; workers that came later are ended with it."""
    spec = subject.job.spec
    if spec.enable_dynamic_worker and Role.CHIEF not in subject.job.replicas and not spec.success_policy:
        yield "spec.successPolicy", "the job ends with worker 0, whoever else still trains", "consider AllWorkers"


@rule("SH401", Severity.WARNING, "nothing to resume from")
def _no_shared_volume(subject: Subject) -> Found:
    """A replica that is started again finds its checkpoint only on storage that outlives its pod."""
    job = subject.job
    roles = [role for role in job.replicas if trains(job.strategy, role) and not subject.shares_a_volume(role)]
    if is_distributed(job) and roles:
        path = subject.path(roles[0], "template.spec.volumes")
        yield path, "no shared volume is mounted, so a restart begins from nothing", "add spec.storage, or a claim"


@rule("SH402", Severity.ERROR, "evaluator without shared storage")
def _evaluator_storage(subject: Subject) -> Found:
    """The evaluator reads the checkpoints that the chief writes, and shares nothing else with it."""
    if Role.EVALUATOR in subject.job.replicas and not subject.shares_a_volume(Role.EVALUATOR):
        path = subject.path(Role.EVALUATOR, "template.spec.volumes")
        yield path, "the evaluator mounts no volume in which it could find checkpoints", "add spec.storage, or a claim"


@rule("SH403", Severity.WARNING, "a folder that the script is not told of")
def _unnamed_mount(subject: Subject) -> Found:
    """On one machine nothing is mounted: a mount path becomes a folder of the run where it stands in the command, the
    arguments or the environment. A script that has the path within itself writes beside it."""
    job = subject.job
    for role, spec in job.replicas.items():
        container = spec.container
        texts = [*(container.get("command") or []), *(container.get("args") or [])]
        texts += [each.get("value") or "" for each in container.get("env") or []]
        mounts = [claim.mount_path for claim in job.spec.storage or []]
        mounts += [mount["mountPath"] for mount in container.get("volumeMounts") or []]
        unnamed = [mount for mount in mounts if not any(mount in str(text) for text in texts)]
        if unnamed and (trains(job.strategy, role) or role is Role.EVALUATOR):
            path = subject.path(role, "template.spec.containers")
            problem = f"no argument or environment value names {unnamed[0]}, so on one machine it is not mapped"
            yield path, problem, "pass it to the script"


@rule("SH404", Severity.WARNING, "code that can change between restarts")
def _moving_code(subject: Subject) -> Found:
    """A replica that is started again fetches its code again. A branch or tag may mean another commit by then, and
    replicas would train different models together. `shoal run` writes the commit; `kubectl apply` does not."""
    git = subject.job.spec.code.git if subject.job.spec.code else None
    if git and not git.is_pinned:
        problem = f"{git.revision} may come to name another commit while the job runs"
        yield "spec.code.git.revision", problem, f"write the commit: git ls-remote {git.url} {git.revision}"


@rule("SH501", Severity.WARNING, "AllWorkers where workers only serve")
def _all_workers_serve(subject: Subject) -> Found:
    """Workers of a coordinator wait for its calls and have no end of their own."""
    job = subject.job
    if job.spec.success_policy is SuccessPolicy.ALL_WORKERS and serves(job.strategy, Role.WORKER):
        yield "spec.successPolicy", f"under {job.strategy.value} workers never end by themselves", "leave it out"


@rule("SH502", Severity.WARNING, "a parameter server that is never restarted")
def _mortal_ps(subject: Subject) -> Found:
    """A ps that dies takes all variables on it along; with `Never` the job dies of it."""
    ps = subject.job.replicas.get(Role.PS)
    if ps and ps.restarts is RestartPolicy.NEVER:
        path = subject.path(Role.PS, "restartPolicy")
        yield path, "the death of one parameter server ends the job", "choose OnFailure or ExitCode"


@rule("SH503", Severity.WARNING, "an all-reduce group that is never restarted")
def _mortal_group(subject: Subject) -> Found:
    """Any member's death ends the others within seconds."""
    job = subject.job
    worker = job.replicas.get(Role.WORKER)
    mortal = worker is not None and worker.restarts is RestartPolicy.NEVER
    if mortal and job.strategy is Strategy.ALL_REDUCE and subject.trainers > 1:
        path = subject.path(Role.WORKER, "restartPolicy")
        yield path, f"one death ends all {subject.trainers} replicas for good", "choose OnFailure or ExitCode"


@rule("SH504", Severity.WARNING, "a silent stall is never noticed")
def _unwatched(subject: Subject) -> Found:
    """A synchronous step with a worker missing waits for ever, without a word and with every process alive."""
    job = subject.job
    synchronous = job.strategy in (Strategy.ALL_REDUCE, Strategy.BETWEEN_GRAPH_SYNC)
    if job.api_version == SHOAL_API and synchronous and job.spec.run_policy.stall_timeout_seconds is None:
        path = "spec.runPolicy.stallTimeoutSeconds"
        yield path, "a synchronous job can wait for ever for a peer", "set it to a few times the length of a step"


@rule("SH505", Severity.WARNING, "restarts without a limit")
def _endless(subject: Subject) -> Found:
    """A script with a bug is started again and again."""
    again = [spec for spec in subject.job.replicas.values() if spec.restarts is not RestartPolicy.NEVER]
    if again and subject.job.spec.run_policy.backoff_limit is None:
        yield "spec.runPolicy.backoffLimit", "a replica that always fails is restarted for ever", "set it, to 6 say"


@rule("SH506", Severity.WARNING, "a restart policy without a retry to spend")
def _no_retry(subject: Subject) -> Found:
    """`backoffLimit: 0` allows no retry, whatever the roles' policies say."""
    again = [spec for spec in subject.job.replicas.values() if spec.restarts is not RestartPolicy.NEVER]
    if again and subject.job.spec.run_policy.backoff_limit == 0:
        yield "spec.runPolicy.backoffLimit", "0 forbids what restartPolicy allows", "raise it, or choose Never"


@rule("SH601", Severity.ERROR, "GPU requests that differ from limits")
def _gpu_requests(subject: Subject) -> Found:
    """Kubernetes refuses a pod whose request for an extended resource is not its limit."""
    for role, spec in subject.job.replicas.items():
        resources = spec.container.get("resources") or {}
        requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
        for name in requests:
            if name.endswith("/gpu") and str(requests[name]) != str(limits.get(name)):
                path = subject.path(role, "template.spec.containers.resources")
                problem = f"{name} is requested {requests[name]} times and limited to {limits.get(name, 'none')}"
                yield path, problem, "state the limit alone"


@rule("SH602", Severity.WARNING, "GPUs asked for twice")
def _gpu_twice(subject: Subject) -> Found:
    """`gpu` writes the limit; one in the container as well is at best the same."""
    for role, spec in subject.job.replicas.items():
        limits = (spec.container.get("resources") or {}).get("limits") or {}
        if spec.gpu and any(name.endswith("/gpu") for name in limits):
            yield subject.path(role, "gpu"), "the container has a GPU limit of its own", "keep one of the two"


@rule("SH701", Severity.WARNING, "a served model that no server can mount")
def _unmounted_model(subject: Subject) -> Found:
    """On Kubernetes the model is served by pods of their own, which find it where the leader wrote it only if that is a
    claim. On one machine any folder will do."""
    job = subject.job
    base = job.spec.serve.base_path if job.spec.serve else ""
    role = job.replicas[leader(job).role]
    mounted = any(holds(claim.mount_path, base) for claim in job.spec.storage or [])
    if base and not URI.match(base) and not mounted and not mounted_claim(role.template["spec"], role.container, base):
        yield "spec.serve.basePath", f"no claim is mounted at {base}", "add spec.storage, or a claim"


@rule("SH702", Severity.WARNING, "a served model that goes with its job")
def _mortal_model(subject: Subject) -> Found:
    """A claim that is made for a job is deleted with it, and the model that is served from it too."""
    job = subject.job
    for index, claim in enumerate(job.spec.storage or []):
        if job.spec.serve and claim.size and holds(claim.mount_path, job.spec.serve.base_path):
            problem = "the claim is made for the job and deleted with it, and its model is served on"
            yield f"spec.storage[{index}].size", problem, "use an existingClaim, or NFS"


@rule("SH801", Severity.WARNING, "a queue that Kueue does not hold the job in")
def _no_queue(subject: Subject) -> Found:
    """Kueue knows jobs of `kubeflow.org/v1` alone: one of `shoal.dev/v1` starts at once, whatever its quota. A label on
    the templates has each pod wait for itself."""
    if subject.job.api_version == SHOAL_API and QUEUE in (subject.job.metadata.labels or {}):
        hint = "make it one of kubeflow.org/v1 (`shoal convert`), or put the label on every template"
        yield f"metadata.labels[{QUEUE}]", f"has no effect on a job of {SHOAL_API}", hint


@rule("SH802", Severity.ERROR, "replicas as a pod group of Kueue")
def _pod_group(subject: Subject) -> Found:
    """Kueue keeps a pod of a group that has ended until another pod is there in its place, and Shoal makes a replica's
    next pod, which has the same name, once the last one is gone. Neither ever comes: nothing is started again, and even
    the deletion of the job leaves pods and their quota behind."""
    for role, spec in subject.job.replicas.items():
        if POD_GROUP in (spec.template.get("metadata", {}).get("labels") or {}):
            path = subject.path(role, f"template.metadata.labels[{POD_GROUP}]")
            yield path, "a replica of a pod group is never started again", "leave it out"

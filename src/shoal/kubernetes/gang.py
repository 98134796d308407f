"""Gang scheduling: all of a job's pods are placed at once or none, by the scheduler that the pods name.

Volcano (https://volcano.sh/en/docs/podgroup/) knows a pod's group by an annotation, the scheduler-plugins
(https://scheduler-plugins.sigs.k8s.io/docs/plugins/coscheduling/) by a label.
"""

from __future__ import annotations

from shoal.kubernetes.cluster_config import Object
from shoal.kubernetes.labels import metadata
from shoal.resources import TFJob
from shoal.training import replica_ids

VOLCANO = "volcano"
SCHEDULER_PLUGINS = "scheduler-plugins-scheduler"
VOLCANO_GROUP = "scheduling.k8s.io/group-name"
SCHEDULER_PLUGINS_GROUP = "scheduling.x-k8s.io/pod-group"


def gang_scheduler(job: TFJob) -> str | None:
    """The scheduler that is to place the job as a gang: the one that its pods name, else Volcano where there is a
    scheduling policy; None where no gang is wanted."""
    named = {spec.template["spec"].get("schedulerName") for spec in job.replicas.values()}
    for known in (VOLCANO, SCHEDULER_PLUGINS):
        if known in named:
            return known
    return VOLCANO if job.spec.run_policy.scheduling_policy else None


def pod_group(job: TFJob) -> Object | None:
    """The PodGroup of the job; None where no gang is wanted."""
    scheduler = gang_scheduler(job)
    if scheduler is None:
        return None
    policy = job.spec.run_policy.scheduling_policy
    members = policy.min_available if policy and policy.min_available else len(replica_ids(job))
    spec: Object = {"minMember": members}
    if policy and policy.min_resources:
        spec["minResources"] = policy.min_resources
    if scheduler == SCHEDULER_PLUGINS:
        if policy and policy.schedule_timeout_seconds is not None:
            spec["scheduleTimeoutSeconds"] = policy.schedule_timeout_seconds
        version = "scheduling.x-k8s.io/v1alpha1"
    else:
        if policy and policy.queue:
            spec["queue"] = policy.queue
        if policy and policy.priority_class:
            spec["priorityClassName"] = policy.priority_class
        version = "scheduling.volcano.sh/v1beta1"
    return {"apiVersion": version, "kind": "PodGroup", "metadata": metadata(job, job.name), "spec": spec}


def mark(job: TFJob, made: Object, spec: Object) -> None:
    """Make a pod a member of its job's group."""
    scheduler = gang_scheduler(job)
    if scheduler is None:
        return
    spec["schedulerName"] = scheduler
    if scheduler == SCHEDULER_PLUGINS:
        made["labels"][SCHEDULER_PLUGINS_GROUP] = job.name
    else:
        made.setdefault("annotations", {})[VOLCANO_GROUP] = job.name

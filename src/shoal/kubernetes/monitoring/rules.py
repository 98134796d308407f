"""Recording rules and alerts.

An alert is for somebody who can do something, so that each says in its description what to look at first. *critical*:
no job can go on, or soon none can; *warning*: something is broken for somebody; *info*: somebody may want to know.
docs/monitoring.md lists them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Object = dict[str, Any]

STALLED_SECONDS = 900
"""Without a new step. Progress is read from logs every 30 s to 5 min, so that much less would be no news."""

SERVER_FAULTS = "UNKNOWN|INTERNAL|UNAVAILABLE|DEADLINE_EXCEEDED|RESOURCE_EXHAUSTED|DATA_LOSS"
"""Statuses of answers that are no fault of who asked."""

REQUESTS = ":tensorflow:serving:request_count"


@dataclass(frozen=True, slots=True)
class Alert:
    """`summary` is a line for a pager; `look` what to look at first. Both may name labels of `expr`'s result."""

    name: str
    expr: str
    wait: str
    severity: str
    summary: str
    look: str

    def rule(self) -> Object:
        return {
            "alert": self.name,
            "expr": self.expr,
            **({"for": self.wait} if self.wait else {}),
            "labels": {"severity": self.severity},
            "annotations": {"summary": self.summary, "description": self.look},
        }


JOB_NAME = "TFJob {{ $labels.job_namespace }}/{{ $labels.job_name }}"
DESCRIBE = "shoal describe {{ $labels.job_name }} --on kubernetes -n {{ $labels.job_namespace }}"

RECORDED: dict[str, str] = {
    "shoal:reconcile_failures:ratio_rate5m": (
        'sum by (namespace, job) (rate(shoal_operator_reconcile_seconds_count{result=~"error|fault"}[5m]))'
        " / (sum by (namespace, job) (rate(shoal_operator_reconcile_seconds_count[5m])) > 0)"
    ),
    "shoal:queue_wait_seconds:p99_rate5m": (
        "histogram_quantile(0.99, sum by (namespace, job, le) (rate(shoal_operator_queue_wait_seconds_bucket[5m])))"
    ),
    "shoal:requests:rate5m": f"sum by (namespace, model_name, status) (rate({REQUESTS}[5m]))",
    "shoal:request_latency_seconds:p99_rate5m": (
        "histogram_quantile(0.99, sum by (namespace, model_name, le)"
        " (rate(:tensorflow:serving:request_latency_bucket[5m]))) / 1e6"
    ),
    "shoal:gpu_held:ratio": "sum(shoal_gpu_held) / (sum(shoal_gpu_capacity) > 0)",
}
"""What alerts and dashboards ask for again and again. Named as level:metric:operations."""

OPERATOR = (
    Alert(
        "ShoalOperatorDown",
        "absent(shoal_operator_leader)",
        "5m",
        "critical",
        "No operator of Shoal is scraped",
        "Jobs that run go on; nothing starts, recovers or ends. kubectl get pods -A -l app.kubernetes.io/name=shoal:"
        " where they run, Prometheus does not reach them (ServiceMonitor, NetworkPolicy).",
    ),
    Alert(
        "ShoalOperatorNotLeading",
        "max by (namespace, job) (shoal_operator_leader) == 0",
        "5m",
        "critical",
        "No operator of Shoal in {{ $labels.namespace }} holds the lease",
        "Nobody looks after jobs. kubectl get lease shoal-operator -n {{ $labels.namespace }} -o yaml says who held"
        " it last; the operators' logs say why none takes it.",
    ),
    Alert(
        "ShoalReconcileErrors",
        "shoal:reconcile_failures:ratio_rate5m > 0.1",
        "15m",
        "warning",
        "{{ $value | humanizePercentage }} of the operator's passes over jobs fail",
        "The API server refuses or does not answer. The operator's log has 'cannot do all now' with the reason: often a"
        " quota, a missing right after an upgrade, or an admission webhook that is away.",
    ),
    Alert(
        "ShoalOperatorFault",
        'sum by (namespace, job) (increase(shoal_operator_reconcile_seconds_count{result="fault"}[15m])) > 0',
        "",
        "warning",
        "The operator has met a bug of its own",
        "The job concerned is tried again and may stand still. The operator's log has 'a fault in the operator' with"
        " the traceback and the job's name: please report it.",
    ),
    Alert(
        "ShoalOperatorSlow",
        "shoal:queue_wait_seconds:p99_rate5m > 10",
        "15m",
        "warning",
        "Jobs wait {{ $value | humanizeDuration }} until the operator looks at them",
        "See its CPU and shoal_operator_queue_depth; raise operator.workers or resources.",
    ),
    Alert(
        "ShoalWebhookCertificateExpires",
        "shoal_operator_certificate_end_timestamp_seconds - time() < 7 * 86400",
        "1h",
        "warning",
        "The webhook's certificate expires in {{ $value | humanizeDuration }}",
        "The operator renews its own ten days before the end, so that this one was not: its log has 'cannot look"
        " after the webhook's certificate'. One from elsewhere is renewed there (kubectl describe certificate).",
    ),
)

JOBS = (
    Alert(
        "ShoalJobStalled",
        f"time() - shoal_job_progress_timestamp_seconds > {STALLED_SECONDS}"
        ' and on (job_namespace, job_name, job_api) shoal_job_phase{phase="Running"} == 1',
        "5m",
        "warning",
        f"{JOB_NAME} runs, and has reported no step for {{{{ $value | humanizeDuration }}}}",
        f"{DESCRIBE} shows the last step; shoal logs shows what its replicas wait for."
        " runPolicy.stallTimeoutSeconds restarts such jobs by itself.",
    ),
    Alert(
        "ShoalJobRetriesNearlyUsed",
        "shoal_job_retries / (shoal_job_retry_limit > 0) >= 0.75",
        "",
        "warning",
        f"{JOB_NAME} has used {{{{ $value | humanizePercentage }}}} of its retries",
        f"It fails for good when none is left. {DESCRIBE} names the replica that failed first, its exit code and its"
        " last lines.",
    ),
    Alert(
        "ShoalJobPending",
        'shoal_job_phase{phase="Pending"} == 1',
        "30m",
        "warning",
        f"{JOB_NAME} has waited for half an hour to run",
        f"{DESCRIBE} says what for: nodes without room or GPUs, images that cannot be pulled, a quota, a queue.",
    ),
    Alert(
        "ShoalJobRestarting",
        'shoal_job_phase{phase="Restarting"} == 1',
        "15m",
        "warning",
        f"{JOB_NAME} has been restarting for a quarter of an hour",
        f"{DESCRIBE} names the failure and what is waited for.",
    ),
    Alert(
        "ShoalJobsFail",
        "sum by (job_namespace) (increase(training_operator_jobs_failed_total[1h])) >= 5"
        " and sum by (job_namespace) (increase(training_operator_jobs_failed_total[1h]))"
        " > sum by (job_namespace) (increase(training_operator_jobs_successful_total[1h]))",
        "",
        "info",
        "More jobs fail than succeed in {{ $labels.job_namespace }}",
        "Where many fail alike, it is seldom the jobs: storage, an image, a node. shoal ps --on kubernetes"
        " -n {{ $labels.job_namespace }} lists them.",
    ),
)

SERVING = (
    Alert(
        "ShoalModelVersionFailed",
        "shoal_serving_version_state == 50",
        "5m",
        "warning",
        "Version {{ $labels.version }} of model {{ $labels.model_name }} cannot be served",
        "Versions that were there go on. kubectl describe modelservers, or the log of {{ $labels.pod }}, has the error:"
        " often a folder that was not copied whole, or too little memory.",
    ),
    Alert(
        "ShoalModelServerFaults",
        f'sum by (namespace, model_name) (shoal:requests:rate5m{{status=~"{SERVER_FAULTS}"}})'
        " / (sum by (namespace, model_name) (shoal:requests:rate5m) > 0) > 0.05",
        "10m",
        "warning",
        "{{ $value | humanizePercentage }} of the requests to model {{ $labels.model_name }} fail",
        "RESOURCE_EXHAUSTED: its queue is full, give it replicas or batching; DEADLINE_EXCEEDED: too slow for its"
        " clients; others: the log of its pods.",
    ),
)

GPU_POOL = (
    Alert(
        "ShoalGPUBrokerDown",
        "present_over_time(shoal_gpu_capacity[1h]) unless shoal_gpu_capacity",
        "5m",
        "critical",
        "The broker of the GPU pool at {{ $labels.instance }} is not scraped any more",
        "Leases that run go on until they would have to be renewed; none is granted. Start it again: agents tell it"
        " what they hold.",
    ),
    Alert(
        "ShoalGPUUnhealthy",
        "shoal_gpu_unhealthy > 0",
        "5m",
        "warning",
        "{{ $value }} GPUs of {{ $labels.host }} are not healthy",
        "Nothing new is placed on them. shoal gpu health says which; the agent's log and nvidia-smi -q -d"
        " ECC,PAGE_RETIREMENT there say why.",
    ),
    Alert(
        "ShoalGPUHostSilent",
        "shoal_gpu_host_silent == 1",
        "1m",
        "warning",
        "The agent of {{ $labels.host }} is not heard",
        "Two minutes after its last word its leases are lost, and after ten minutes the host is forgotten, which ends"
        " this alert. See the agent's process and the network there.",
    ),
    Alert(
        "ShoalGPUQueueOld",
        "shoal_gpu_longest_wait_seconds > 1800",
        "5m",
        "warning",
        "Somebody has waited {{ $value | humanizeDuration }} for GPUs of the pool",
        "shoal gpu top shows the queue and why its first waits; shoal gpu quota, who holds how much.",
    ),
    Alert(
        "ShoalGPULeasesLost",
        'sum by (instance) (increase(shoal_gpu_lease_changes_total{state="lost"}[15m])) > 0',
        "",
        "warning",
        "Leases of GPUs at {{ $labels.instance }} were lost",
        "Their programs have ended. The broker's audit file names each, with the reason.",
    ),
)

GROUPS: dict[str, tuple[Alert, ...]] = {
    "shoal-operator": OPERATOR,
    "shoal-jobs": JOBS,
    "shoal-serving": SERVING,
    "shoal-gpu-pool": GPU_POOL,
}


def rules() -> Object:
    """A file of rules as Prometheus reads it, and the spec of a PrometheusRule."""
    recorded = [{"record": name, "expr": expr} for name, expr in RECORDED.items()]
    groups = [{"name": name, "rules": [alert.rule() for alert in alerts]} for name, alerts in GROUPS.items()]
    return {"groups": [{"name": "shoal-recorded", "rules": recorded}, *groups]}

"""A case for each alert: what Prometheus has seen, when the alert is still quiet, and when it fires.

Series are as promtool has them, a value a minute: `0+10x5` is 0, 10, … 50; `_` is none.
"""

from __future__ import annotations

from dataclasses import dataclass, field

JOB = 'job_namespace="team-a",job_name="mnist",job_api="shoal.dev"'
JOB_LABELS = {"job_namespace": "team-a", "job_name": "mnist", "job_api": "shoal.dev"}
OPERATOR = 'namespace="shoal-system",job="shoal"'
OPERATOR_LABELS = {"namespace": "shoal-system", "job": "shoal"}
MODEL = 'namespace="team-a",model_name="digits"'
MODEL_LABELS = {"namespace": "team-a", "model_name": "digits"}
LEADS = {f"shoal_operator_leader{{{OPERATOR}}}": "1x240"}


@dataclass(frozen=True)
class Case:
    """`labels` are those of the alert, without its severity; `value` is what its texts say for the value."""

    alert: str
    series: dict[str, str]
    quiet: str
    fires: str
    labels: dict[str, str] = field(default_factory=dict)
    value: str = ""


PASSES = "shoal_operator_reconcile_seconds_count"
WAITED = "shoal_operator_queue_wait_seconds_bucket"
ENDED = 'job_namespace="team-a",framework="tensorflow"'
REQUESTS = ":tensorflow:serving:request_count"

CASES = (
    Case("ShoalOperatorDown", {f"shoal_operator_leader{{{OPERATOR}}}": "1x10 _x40"}, "14m", "22m"),
    Case(
        "ShoalOperatorNotLeading",
        {
            f'shoal_operator_leader{{{OPERATOR},pod="a"}}': "1x10 0x40",
            f'shoal_operator_leader{{{OPERATOR},pod="b"}}': "0x50",
        },
        "15m",
        "17m",
        OPERATOR_LABELS,
    ),
    Case(
        "ShoalReconcileErrors",
        {
            f'{PASSES}{{{OPERATOR},result="done"}}': "0+60x60",
            f'{PASSES}{{{OPERATOR},result="error"}}': "0x10 20+20x50",
        },
        "20m",
        "50m",
        OPERATOR_LABELS,
        "25%",
    ),
    Case(
        "ShoalOperatorFault",
        {f'{PASSES}{{{OPERATOR},result="fault"}}': "0x10 1x60"},
        "10m",
        "12m",
        OPERATOR_LABELS,
    ),
    Case(
        "ShoalOperatorSlow",
        {
            f'{WAITED}{{{OPERATOR},le="10"}}': "0x60",
            f'{WAITED}{{{OPERATOR},le="30"}}': "0x10 60+60x50",
            f'{WAITED}{{{OPERATOR},le="+Inf"}}': "0x10 60+60x50",
        },
        "20m",
        "40m",
        OPERATOR_LABELS,
        "29.8s",
    ),
    Case(
        "ShoalWebhookCertificateExpires",
        {'shoal_operator_certificate_end_timestamp_seconds{pod="a",server="webhook"}': f"{8 * 86400}x2000"},
        "24h",
        "26h",
        {"pod": "a", "server": "webhook"},
        "6d 22h 0m 0s",
    ),
    Case(
        "ShoalJobStalled",
        {
            f"shoal_job_progress_timestamp_seconds{{{JOB}}}": "0x60",
            f'shoal_job_phase{{{JOB},phase="Running"}}': "1x60",
        },
        "20m",
        "22m",
        JOB_LABELS,
        "22m 0s",
    ),
    Case(
        "ShoalJobRetriesNearlyUsed",
        {f"shoal_job_retries{{{JOB}}}": "0 1 2 3 4", f"shoal_job_retry_limit{{{JOB}}}": "4x4"},
        "2m",
        "3m",
        JOB_LABELS,
        "75%",
    ),
    Case(
        "ShoalJobPending",
        {f'shoal_job_phase{{{JOB},phase="Pending"}}': "1x60"},
        "29m",
        "31m",
        {**JOB_LABELS, "phase": "Pending"},
    ),
    Case(
        "ShoalJobRestarting",
        {f'shoal_job_phase{{{JOB},phase="Restarting"}}': "1x60"},
        "14m",
        "16m",
        {**JOB_LABELS, "phase": "Restarting"},
    ),
    Case(
        "ShoalJobsFail",
        {
            f"training_operator_jobs_failed_total{{{ENDED}}}": "0x60 1+1x60",
            f"training_operator_jobs_successful_total{{{ENDED}}}": "0x60 3x60",
        },
        "62m",
        "80m",
        {"job_namespace": "team-a"},
    ),
    Case(
        "ShoalModelVersionFailed",
        {'shoal_serving_version_state{model_name="digits",version="7",pod="digits-0"}': "20x10 50x20"},
        "14m",
        "17m",
        {"model_name": "digits", "version": "7", "pod": "digits-0"},
    ),
    Case(
        "ShoalModelServerFaults",
        {
            f'{REQUESTS}{{{MODEL},status="OK"}}': "0+60x60",
            f'{REQUESTS}{{{MODEL},status="NOT_FOUND"}}': "0+60x60",
            f'{REQUESTS}{{{MODEL},status="INTERNAL"}}': "0x10 40+40x50",
        },
        "15m",
        "40m",
        MODEL_LABELS,
        "25%",
    ),
    Case(
        "ShoalGPUBrokerDown",
        {'shoal_gpu_capacity{instance="broker:8470"}': "8x10"},
        "14m",
        "21m",
        {"instance": "broker:8470"},
    ),
    Case("ShoalGPUUnhealthy", {'shoal_gpu_unhealthy{host="gpu-1"}': "0x10 2x20"}, "15m", "17m", {"host": "gpu-1"}, "2"),
    Case("ShoalGPUHostSilent", {'shoal_gpu_host_silent{host="gpu-1"}': "0x10 1x20"}, "11m", "13m", {"host": "gpu-1"}),
    Case(
        "ShoalGPUQueueOld",
        {'shoal_gpu_longest_wait_seconds{instance="broker:8470"}': "0+60x60"},
        "35m",
        "37m",
        {"instance": "broker:8470"},
        "37m 0s",
    ),
    Case(
        "ShoalGPULeasesLost",
        {'shoal_gpu_lease_changes_total{instance="broker:8470",state="lost"}': "0x15 2x30"},
        "15m",
        "20m",
        {"instance": "broker:8470"},
    ),
)

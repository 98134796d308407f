"""Command lines of tf_cnn_benchmarks, of which there are many in scripts and manifests.

Its flags (https://github.com/tensorflow/benchmarks, `scripts/tf_cnn_benchmarks/benchmark_cnn.py`) are taken where
TensorFlow 2 has the same thing, left out with a word where they say nothing here, and refused with the reason where
they would change what is measured.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from shoal.bench.options import OptionError

NO_EFFECT_SWITCHES = frozenset(
    """
    allow_growth alsologtostderr batchnorm_persistent collect_eval_results_async compact_gradient_transfer
    compute_lr_on_cpu cross_replica_sync datasets_repeat_cached_sample datasets_sloppy_parallel_interleave
    datasets_use_caching datasets_use_prefetch distort_color_in_yiq distortions enable_optimizations
    force_gpu_compatible fp16_enable_auto_loss_scale fuse_decode_and_crop hierarchical_copy logtostderr mkl
    print_training_accuracy single_l2_loss_op sparse_to_dense_grads staged_vars sync_on_finish timestamped_allocator
    use_chrome_trace_format use_datasets use_numa_affinity use_python32_barrier use_resource_vars use_tf_layers
    use_unified_memory winograd_nonfused
    """.split()  # noqa: SIM905  names in rows are read better
)
NO_EFFECT_VALUES = frozenset(
    """
    adam_beta1 adam_beta2 adam_epsilon agg_small_grads_max_bytes agg_small_grads_max_group allreduce_merge_scope
    autotune_threshold batch_group_size benchmark_log_dir benchmark_test_id datasets_num_private_threads
    datasets_parallel_interleave_cycle_length datasets_parallel_interleave_prefetch datasets_prefetch_buffer_size
    display_perf_ewma eval_batch_size eval_dir eval_interval_secs fp16_inc_loss_scale_every_n fp16_loss_scale
    gpu_kt_max_bytes gpu_kt_max_interval gpu_kt_max_pending gpu_memory_frac_for_testing gpu_thread_mode
    gradient_repacking input_preprocessor kmp_affinity kmp_blocktime kmp_settings log_dir loss_type_to_report
    max_ckpts_to_keep multi_device_iterator_max_buffer_size network_topology num_eval_batches num_eval_epochs
    num_inter_threads num_intra_threads per_gpu_thread_count resize_method rewriter_config rmsprop_decay
    rmsprop_epsilon rmsprop_momentum save_summaries_steps server_protocol stderrthreshold summary_verbosity
    tf_random_seed trt_max_workspace_size_bytes v variable_consistency verbosity
    """.split()  # noqa: SIM905
)
"""Flags that tune TensorFlow 1's graph, say what is so anyway, belong to what is refused, or are absl's for its log;
the former stand alone, the latter take a value."""

NO_EVALUATION = ("a benchmark evaluates nothing", "leave it out; --forward-only measures the forward pass")
NO_CHECKPOINTS = ("a benchmark saves nothing", "leave it out")
NO_SCHEDULE = ("the learning rate stays as it is", "leave it out; it changes no speed")
NO_MLPERF = ("MLPerf's rules are not followed", "leave it out")
IN_STEPS = ("lengths are told in steps", "use --num-batches")

REFUSED = {
    "all_reduce_spec": ("TensorFlow 2 chooses by itself how it reduces", "leave it out"),
    "backbone_model_path": ("models start with random weights", "leave it out"),
    "debugger": ("TensorFlow 1's debugger is gone", "leave it out"),
    "eval": NO_EVALUATION,
    "eval_during_training_at_specified_epochs": NO_EVALUATION,
    "eval_during_training_at_specified_steps": NO_EVALUATION,
    "eval_during_training_every_n_epochs": NO_EVALUATION,
    "eval_during_training_every_n_steps": NO_EVALUATION,
    "fp16_vars": ("Keras keeps variables in single precision", "use --use-fp16, which computes in half precision"),
    "freeze_when_forward_only": ("there is no frozen graph in TensorFlow 2", "leave it out; --xla compiles the pass"),
    "gpu_indices": ("GPUs are chosen by CUDA_VISIBLE_DEVICES", "set that instead"),
    "gradient_clip": ("gradients are applied as they are", "leave it out"),
    "graph_file": ("there is no graph of a session in TensorFlow 2", "leave it out"),
    "horovod_device": ("Horovod is not used", "use --variable-update collective_all_reduce"),
    "learning_rate_decay_factor": NO_SCHEDULE,
    "minimum_learning_rate": NO_SCHEDULE,
    "ml_perf": NO_MLPERF,
    "ml_perf_compliance_logging": NO_MLPERF,
    "num_epochs": IN_STEPS,
    "num_epochs_per_decay": NO_SCHEDULE,
    "num_learning_rate_warmup_epochs": NO_SCHEDULE,
    "partitioned_graph_file_prefix": ("there is no graph of a session in TensorFlow 2", "leave it out"),
    "piecewise_learning_rate_schedule": NO_SCHEDULE,
    "resnet_base_lr": NO_SCHEDULE,
    "save_model_secs": NO_CHECKPOINTS,
    "save_model_steps": NO_CHECKPOINTS,
    "stop_at_top_1_accuracy": IN_STEPS,
    "tfprof_file": ("there is no session to profile", "use TensorFlow's profiler"),
    "trace_file": ("there is no session to trace", "use TensorFlow's profiler"),
    "train_dir": NO_CHECKPOINTS,
    "trt_mode": ("TensorRT is not used", "leave it out"),
}
"""Flags that would change what is measured, with the reason, and what to do."""
REFUSED_SWITCHES = frozenset({"eval", "fp16_vars", "freeze_when_forward_only", "ml_perf", "ml_perf_compliance_logging"})
"""Those of them that stand alone; the others take a value."""

TRUE, FALSE = ("true", "t", "1"), ("false", "f", "0")
"""What absl reads as a switch's value, in whatever case."""
DEVICES = ("device", "local_parameter_device")
"""Flags whose values may be written in capitals."""

GONE_UPDATES = {
    "distributed_replicated": "TensorFlow 2 keeps no copies of variables beside those on parameter servers; use "
    "collective_all_reduce for copies that are in step, or parameter_server",
    "distributed_all_reduce": "it drove all workers from one session; collective_all_reduce does the same without one",
    "horovod": "Horovod is not used; collective_all_reduce does the same",
}


def respelt(arguments: Iterable[str], switches: Iterable[str], tell: Callable[[str], None]) -> list[str]:
    """The arguments as this command spells them. `switches` are its flags without a value. Raises OptionError."""
    switches = set(switches)
    found: list[str] = []
    wanted = list(arguments)
    while wanted:
        argument = wanted.pop(0)
        flag, has_value, value = argument.partition("=")
        if not flag.startswith("--"):
            found.append(argument)
            continue
        name = flag.removeprefix("--").replace("-", "_")
        negated = name.removeprefix("no") if name.startswith("no") else ""
        if f"--{negated.replace('_', '-')}" in switches or negated in NO_EFFECT_SWITCHES | REFUSED_SWITCHES:
            if has_value:
                raise OptionError(f"{flag}: it takes no value")
            if negated in NO_EFFECT_SWITCHES:
                tell(f"{flag} has no effect here")
            continue
        if name in NO_EFFECT_SWITCHES:
            tell(f"{flag} has no effect here")
            continue
        if name in NO_EFFECT_VALUES:
            tell(f"{flag} has no effect here")
            if not has_value:
                _next(flag, wanted)
            continue
        if name in REFUSED:
            if not has_value:
                value = "true" if name in REFUSED_SWITCHES else _next(flag, wanted)
            if value and value.lower() not in FALSE:
                reason, hint = REFUSED[name]
                raise OptionError(f"{flag}: {reason}", hint)
            continue
        if name == "variable_update" and (value or (wanted[0] if wanted else "")) in GONE_UPDATES:
            gone = value or wanted[0]
            raise OptionError(f"{flag} {gone}: {GONE_UPDATES[gone]}")
        if name in DEVICES:
            value, has_value = (value if has_value else _next(flag, wanted)).lower(), "="
        given, flag = flag, f"--{name.replace('_', '-')}"
        if flag not in switches or not has_value:
            found.append(f"{flag}={value}" if has_value else flag)
        elif value.lower() in TRUE:
            found.append(flag)
        elif value.lower() not in FALSE:
            raise OptionError(f"{given}: expected true or false, found {value}")
    return found


def _next(flag: str, wanted: list[str]) -> str:
    """The value that follows a flag, off the arguments that are left; a negative number is one, too."""
    if not wanted or wanted[0].startswith("--"):
        raise OptionError(f"{flag} needs a value", f"write it like {flag}=…, or leave it out")
    return wanted.pop(0)


def tf_config(job: str, index: int, ps: str, workers: str, controller: str) -> str:
    """TF_CONFIG for what `--job_name`, `--task_index` and the lists of hosts say; empty where they say nothing. The
    controller is the chief. Raises OptionError."""
    hosts = {role: said.split(",") for role, said in (("chief", controller), ("ps", ps), ("worker", workers)) if said}
    if not job:
        if hosts:
            raise OptionError("hosts are given, and no --job_name says which of them this is")
        return ""
    role = "chief" if job == "controller" else job
    if role not in hosts:
        raise OptionError(
            f"--job_name {job}: there are no hosts for it", "give --ps_hosts, --worker_hosts, --controller_host"
        )
    if not 0 <= index < len(hosts[role]):
        raise OptionError(f"--task_index {index}: {job} has {len(hosts[role])} hosts")
    if "ps" in hosts and "chief" not in hosts:
        raise OptionError(
            "parameter servers of TensorFlow 2 need a chief, who drives the workers",
            "give it a --controller_host, and run --job_name=controller; or let --job ps=1,worker=2 do all of it",
        )
    return json.dumps({"cluster": hosts, "task": {"type": role, "index": index}})

"""Command lines of tf_cnn_benchmarks: each of its flags is taken, left out with a word, or refused with a reason."""

from __future__ import annotations

import json

import pytest
import typer.main

from shoal.bench.options import OptionError
from shoal.cli.bench import app
from shoal.cli.bench_flags import (
    GONE_UPDATES,
    NO_EFFECT_SWITCHES,
    NO_EFFECT_VALUES,
    REFUSED,
    REFUSED_SWITCHES,
    respelt,
    tf_config,
)

FLAGS = """
adam_beta1 adam_beta2 adam_epsilon agg_small_grads_max_bytes agg_small_grads_max_group all_reduce_spec allow_growth
allreduce_merge_scope autotune_threshold backbone_model_path batch_group_size batch_size batchnorm_persistent
benchmark_log_dir benchmark_test_id collect_eval_results_async compact_gradient_transfer compute_lr_on_cpu
controller_host cross_replica_sync data_dir data_format data_name datasets_num_private_threads
datasets_parallel_interleave_cycle_length datasets_parallel_interleave_prefetch datasets_prefetch_buffer_size
datasets_repeat_cached_sample datasets_sloppy_parallel_interleave datasets_use_caching datasets_use_prefetch debugger
device display_every display_perf_ewma distort_color_in_yiq distortions enable_optimizations eval eval_batch_size
eval_dir eval_during_training_at_specified_epochs eval_during_training_at_specified_steps
eval_during_training_every_n_epochs eval_during_training_every_n_steps eval_interval_secs force_gpu_compatible
forward_only fp16_enable_auto_loss_scale fp16_inc_loss_scale_every_n fp16_loss_scale fp16_vars
freeze_when_forward_only fuse_decode_and_crop gpu_indices gpu_kt_max_bytes gpu_kt_max_interval gpu_kt_max_pending
gpu_memory_frac_for_testing gpu_thread_mode gradient_clip gradient_repacking graph_file hierarchical_copy
horovod_device init_learning_rate input_preprocessor job_name kmp_affinity kmp_blocktime kmp_settings
learning_rate_decay_factor local_parameter_device loss_type_to_report max_ckpts_to_keep minimum_learning_rate mkl
ml_perf model momentum multi_device_iterator_max_buffer_size network_topology num_batches num_epochs
num_epochs_per_decay num_eval_batches num_eval_epochs num_gpus num_inter_threads num_intra_threads
num_learning_rate_warmup_epochs num_warmup_batches optimizer partitioned_graph_file_prefix per_gpu_thread_count
piecewise_learning_rate_schedule print_training_accuracy ps_hosts resize_method resnet_base_lr rewriter_config
rmsprop_decay rmsprop_epsilon rmsprop_momentum save_model_secs save_model_steps save_summaries_steps server_protocol
single_l2_loss_op sparse_to_dense_grads staged_vars stop_at_top_1_accuracy summary_verbosity sync_on_finish task_index
tf_random_seed tfprof_file timestamped_allocator trace_file train_dir trt_max_workspace_size_bytes trt_mode
use_chrome_trace_format use_datasets use_fp16 use_numa_affinity use_python32_barrier use_resource_vars use_tf_layers
use_unified_memory variable_consistency variable_update weight_decay winograd_nonfused worker_hosts xla xla_compile
""".split()  # noqa: SIM905  names in rows are read better
"""Of its benchmark_cnn.py, as of its last change."""

SWITCHES_THERE = """
allow_growth batchnorm_persistent collect_eval_results_async compact_gradient_transfer compute_lr_on_cpu
cross_replica_sync datasets_repeat_cached_sample datasets_sloppy_parallel_interleave datasets_use_caching
datasets_use_prefetch distort_color_in_yiq distortions enable_optimizations eval force_gpu_compatible forward_only
fp16_enable_auto_loss_scale fp16_vars freeze_when_forward_only fuse_decode_and_crop hierarchical_copy mkl ml_perf
print_training_accuracy single_l2_loss_op sparse_to_dense_grads staged_vars sync_on_finish timestamped_allocator
use_chrome_trace_format use_datasets use_fp16 use_numa_affinity use_python32_barrier use_resource_vars use_tf_layers
use_unified_memory winograd_nonfused xla xla_compile
""".split()  # noqa: SIM905
"""Those that it defines as boolean."""

NO_EFFECT = NO_EFFECT_SWITCHES | NO_EFFECT_VALUES
SWITCHES = ("--use-fp16", "--xla", "--xla-compile", "--forward-only")


def test_every_flag_is_known() -> None:
    command = typer.main.get_command(app).commands["train"]  # type: ignore[attr-defined]
    options = {name.removeprefix("--").replace("-", "_") for param in command.params for name in param.opts}
    assert set(FLAGS) <= options | NO_EFFECT | set(REFUSED)
    assert not options & (NO_EFFECT | set(REFUSED))
    assert not NO_EFFECT & set(REFUSED)
    switches = {f.removeprefix("--").replace("-", "_") for f in SWITCHES} | NO_EFFECT_SWITCHES | REFUSED_SWITCHES
    assert switches & set(FLAGS) == set(SWITCHES_THERE)


@pytest.mark.parametrize("flag", FLAGS)
def test_each_flag_takes_its_value_and_no_more(flag: str) -> None:
    """As absl reads it: a switch stands alone, all else takes what follows, a negative number too."""
    said: list[str] = []
    forms = [[f"--{flag}"], [f"--{flag}=true"]] if flag in SWITCHES_THERE else [[f"--{flag}", "-1"], [f"--{flag}=-1"]]
    for form in forms:
        given = [*form, "--model=vgg16"]
        if flag in REFUSED:
            with pytest.raises(OptionError, match=f"^--{flag}: ") as refused:
                respelt(given, SWITCHES, said.append)
            assert refused.value.hint
            continue
        taken = respelt(given, SWITCHES, said.append)
        assert taken[-1] == "--model=vgg16"
        if flag in NO_EFFECT:
            assert taken == ["--model=vgg16"]
        else:
            assert taken[0].startswith(f"--{flag.replace('_', '-')}")
    assert said == ([f"--{flag} has no effect here"] * 2 if flag in NO_EFFECT else [])
    if flag in SWITCHES_THERE:
        assert respelt([f"--no{flag}", "--model=vgg16"], SWITCHES, said.append) == ["--model=vgg16"]
    elif flag in REFUSED:
        assert respelt([f"--{flag}=", f"--{flag}", "0"], SWITCHES, said.append) == []


def test_spellings() -> None:
    said: list[str] = []
    given = [
        "--model=vgg16", "--batch_size", "32", "--use_fp16=True", "--xla=0", "--noforward_only", "--mkl", "--nomkl",
        "--kmp_blocktime", "3", "--cross_replica_sync=false", "--eval=F", "--device", "CPU",
        "--local_parameter_device=GPU", "-o", "json",
    ]  # fmt: skip
    assert respelt(given, SWITCHES, said.append) == [
        "--model=vgg16", "--batch-size", "32", "--use-fp16", "--device=cpu", "--local-parameter-device=gpu",
        "-o", "json",
    ]  # fmt: skip
    assert [each.split()[0] for each in said] == ["--mkl", "--nomkl", "--kmp_blocktime", "--cross_replica_sync"]


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (["--train_dir=/tmp/x"], "--train_dir: a benchmark saves nothing"),
        (["--eval"], "--eval: a benchmark evaluates nothing"),
        (["--use_fp16=maybe"], "--use_fp16: expected true or false, found maybe"),
        (["--ml_perf_compliance_logging"], "--ml_perf_compliance_logging: MLPerf's rules"),
        (["--kmp_blocktime", "--mkl"], "--kmp_blocktime needs a value"),
        (["--train_dir", "/tmp/x"], "--train_dir: a benchmark saves nothing"),
        (["--device"], "--device needs a value"),
        (["--nouse_fp16=1"], "--nouse_fp16: it takes no value"),
        (["--variable_update=horovod"], f"horovod: {GONE_UPDATES['horovod']}"),
        (["--variable-update", "distributed_replicated"], "collective_all_reduce for copies that are in step"),
    ],
)
def test_what_has_no_meaning_is_refused_with_the_reason(given: list[str], problem: str) -> None:
    with pytest.raises(OptionError) as refused:
        respelt(given, SWITCHES, print)
    assert problem in str(refused.value)


def test_hosts_become_tf_config() -> None:
    assert tf_config("", 0, "", "", "") == ""
    told = json.loads(tf_config("controller", 0, "a:1", "b:1,c:1", "d:1"))
    assert told == {
        "cluster": {"chief": ["d:1"], "ps": ["a:1"], "worker": ["b:1", "c:1"]},
        "task": {"type": "chief", "index": 0},
    }
    assert json.loads(tf_config("worker", 1, "", "b:1,c:1", ""))["task"] == {"type": "worker", "index": 1}


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("", 0, "a:1", "", ""), "no --job_name"),
        (("ps", 0, "", "b:1", ""), "no hosts for it"),
        (("worker", 2, "", "b:1,c:1", ""), "--task_index 2: worker has 2 hosts"),
        (("worker", 0, "a:1", "b:1", ""), "need a chief"),
    ],
)
def test_hosts_that_make_no_cluster_are_refused(words: tuple[str, int, str, str, str], problem: str) -> None:
    with pytest.raises(OptionError, match=problem):
        tf_config(*words)

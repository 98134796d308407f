from __future__ import annotations

import pytest

from shoal.local.import_environment import read_at_import


@pytest.mark.parametrize(
    "name",
    [
        *("TF_CPP_MIN_LOG_LEVEL", "TF_USE_LEGACY_KERAS", "TF_ENABLE_ONEDNN_OPTS", "XLA_FLAGS", "KERAS_BACKEND"),
        *("PYTHONPATH", "PYTHONHASHSEED", "LD_LIBRARY_PATH", "LD_PRELOAD", "PATH", "HOME", "LANG", "LC_ALL", "TZ"),
        *("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "CUDA_HOME", "NVIDIA_VISIBLE_DEVICES"),
    ],
)  # fmt: skip
def test_variables_that_decide_how_tensorflow_is_imported(name):
    assert read_at_import(name)


@pytest.mark.parametrize(
    "name",
    [
        *("TF_CONFIG", "CUDA_VISIBLE_DEVICES", "SHOAL_REPLICA", "SHOAL_PROGRESS_FILE", "SHOAL_STRATEGY", "BATCH_SIZE"),
        *("MY_TF_FLAG", "USER", "LEARNING_RATE", "DATA_PATH", "path", "tf_cpp_min_log_level", ""),
    ],
)
def test_variables_that_replicas_may_differ_in(name):
    assert not read_at_import(name)

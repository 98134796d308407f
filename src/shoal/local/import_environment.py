"""Which environment variables decide how TensorFlow is imported.

Replicas may share one import only where these are the same for all of them. The list was taken by recording every
look-up that Python's start and `import tensorflow, keras, tf_keras, numpy` make, in Python and in C (`getenv`), with
TensorFlow 2.21, and is written as families of names, so that their later members are in it too. A name too many costs
a little speed; a name too few would make a replica behave unlike a plain process.
"""

from __future__ import annotations

import re

FAMILIES = (
    # The interpreter, the dynamic linker, the C library
    *("PYTHON", "_PYTHON", "__PYVENV", "LD_", "GLIBC_", "MALLOC_", "LC_", "LANG", "TZ", "PATH", "HOME", "TMP", "TEMP"),
    # TensorFlow, Keras and their compilers
    *(
        "TF_",
        "XLA_",
        "TPU_",
        "KERAS_",
        "MLIR_",
        "LLVM_",
        "GCS_",
        "GRPC_",
        "ABSL_",
        "TEST_",
        "PROTOCOL_BUFFERS_",
        "JAX_",
    ),
    *("DISABLE_HOST_SEND_RECV_REGISTRATION", "ENABLE_RUNTIME_UPTIME_TELEMETRY"),
    # GPUs
    *("CUDA_", "CUDNN_", "NCCL_", "NVIDIA_"),
    # Mathematics: NumPy and the libraries under it
    *("NPY_", "NUMPY_", "OPENBLAS_", "GOTO_", "MKL_", "BLIS_", "OMP_", "KMP_", "DNNL_", "ONEDNN_", "GFORTRAN_"),
    # What TensorFlow imports on the way
    *("HDF5_", "PILLOW_", "WRAPT_", "PSUTIL_", "PY_SAX_PARSER", "OPENSSL_", "SSL_"),
)

READ_LATER = frozenset({"TF_CONFIG", "CUDA_VISIBLE_DEVICES"})
"""Members of a family that are read when a strategy is made, and when the first device is touched."""

_READ_AT_IMPORT = re.compile("|".join(FAMILIES))


def read_at_import(name: str) -> bool:
    """Whether the variable can change what importing TensorFlow does."""
    return name not in READ_LATER and _READ_AT_IMPORT.match(name) is not None

"""Compile the CUDA kernels of tests to PTX, with nvcc of NVIDIA's wheels in an environment of its own (`make ptx`)."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

KERNELS = Path(__file__).resolve().parents[1] / "tests" / "unit" / "cuda" / "soft" / "kernels"
WHEELS = ("nvidia-cuda-nvcc>=13.5,<13.6", "nvidia-cuda-runtime>=13.5,<13.6", "nvidia-cuda-cccl>=13.3,<13.6")
ARCHITECTURE = "compute_80"


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        subprocess.run([f"{folder}/bin/python", "-m", "pip", "install", "-q", *WHEELS], check=True)
        (nvcc,) = Path(folder).glob("lib/python*/site-packages/nvidia/cu13/bin/nvcc")
        for source in sorted(KERNELS.glob("*.cu")):
            # From within the folder, so that `__FILE__` is the file's name alone.
            command = [nvcc, "-ptx", f"-arch={ARCHITECTURE}", source.name, "-o", source.with_suffix(".ptx").name]
            subprocess.run(command, cwd=KERNELS, check=True)
            print(f"{source.name}: compiled")
    return 0


if __name__ == "__main__":
    sys.exit(main())

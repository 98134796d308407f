"""Compile the kernels of tests to PTX (`make ptx`), by nvcc and numba-cuda in an environment of their own."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

KERNELS = Path(__file__).resolve().parents[1] / "tests" / "unit" / "cuda" / "soft" / "kernels"
WHEELS = (
    "nvidia-cuda-nvcc>=13.5,<13.6",
    "nvidia-cuda-runtime>=13.5,<13.6",
    "nvidia-cuda-cccl>=13.3,<13.6",
    "nvidia-cuda-nvrtc>=13.5,<13.6",
    "numba-cuda>=0.30,<0.31",
)
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
        subprocess.run([f"{folder}/bin/python", "numba_kernels.py"], cwd=KERNELS, check=True)
        print("numba_kernels.py: compiled")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""What a program is told of its lease, by environment variables: the one place that knows their names."""

from __future__ import annotations

from pathlib import Path

LEASE = "SHOAL_LEASE"
TOKEN = "SHOAL_LEASE_TOKEN"
SERVERS = "SHOAL_GPU_SERVERS"
"""By commas, for each GPU, the address of its server."""
NUMBERS = "SHOAL_GPU_NUMBERS"
"""And its number among those that this server serves."""
VISIBLE = "CUDA_VISIBLE_DEVICES"
"""Which of them the program sees, and in which order: the user's own, as CUDA has it."""
LIBRARIES = "LD_LIBRARY_PATH"
"""Where a program finds `libcuda.so.1`: Shoal's first."""

CLIENT = Path(__file__).parent / "client"


def client_folder() -> Path | None:
    """The folder with Shoal's `libcuda.so.1`, where that was built."""
    return CLIENT if (CLIENT / "libcuda.so.1").exists() else None


def with_client(path: str) -> str:
    """A search path for libraries that has the client first, once."""
    folder = client_folder()
    return ":".join(filter(None, (str(folder or ""), without_client(path))))


def without_client(path: str) -> str:
    return ":".join(each for each in path.split(":") if each and each != str(CLIENT))

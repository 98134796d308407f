"""JupyterLab's options, wherever Shoal starts it: in a pod, or on this machine."""

from __future__ import annotations

TOKEN_BYTES = 32
TOKEN_FILE = "JUPYTER_TOKEN_FILE"
"""The environment variable that names the file with the token
(https://jupyter-server.readthedocs.io/en/latest/operators/security.html)."""


def lab_options(home: str, path_prefix: str, idle_seconds: int | None) -> list[str]:
    """Options for `jupyter lab` to work in `home`, be reached below `path_prefix` (`/team/desk`; empty: the root), and
    end kernels, terminals and itself after `idle_seconds` without activity."""
    options = {
        "ServerApp.root_dir": home,
        "ServerApp.base_url": f"{path_prefix}/",
        # A password that somebody sets would stay in the home, and be asked for in place of the token.
        "PasswordIdentityProvider.allow_password_change": False,
    }
    if idle_seconds:
        look = max(1, min(idle_seconds // 4, 300))
        options |= {
            "ServerApp.shutdown_no_activity_timeout": idle_seconds,
            "MappingKernelManager.cull_idle_timeout": idle_seconds,
            "MappingKernelManager.cull_interval": look,
            # A tab that was left open is no activity; a cell that runs is.
            "MappingKernelManager.cull_connected": True,
            "TerminalManager.cull_inactive_timeout": idle_seconds,
            "TerminalManager.cull_interval": look,
        }
    return [f"--{name}={value}" for name, value in options.items()]

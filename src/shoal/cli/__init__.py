"""The `shoal` command: one module a command group, no logic beyond parsing and showing."""

from shoal.cli.main import main

__all__ = ["main"]

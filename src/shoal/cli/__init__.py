"""The `shoal` command: one module a command group, no logic beyond parsing and showing."""

"""What the lease is called for which operators stand in line; an installation grants rights to it by this name."""

from __future__ import annotations

LEASE = "shoal-operator"

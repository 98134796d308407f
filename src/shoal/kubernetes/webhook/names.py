"""What the webhook's Secret is called; an installation grants rights to it by this name."""

from __future__ import annotations

SECRET = "shoal-operator-webhook"

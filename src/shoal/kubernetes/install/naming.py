"""What an installation's objects are called and labelled, as `charts/shoal/templates/_naming.tpl` has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shoal.kubernetes.install.values import Values

LONGEST = 54
"""Of a name: the rest of 63 characters is for endings such as -metrics."""


@dataclass(frozen=True, slots=True)
class Release:
    """One installation of the chart: `name` in `namespace`, of Shoal's `version`."""

    name: str
    namespace: str
    version: str
    values: Values

    @property
    def fullname(self) -> str:
        name = self.name if "shoal" in self.name else f"{self.name}-shoal"
        return self.values.fullname_override or f"{name}-operator"[:LONGEST].rstrip("-")

    @property
    def webhook(self) -> str:
        """Of the webhook's Service."""
        return f"{self.fullname}-webhook"

    @property
    def device_plugin(self) -> str:
        """Of the DaemonSet of device plugins and all that belongs to it."""
        return f"{self.fullname}-gpu"

    @property
    def device_plugin_selector(self) -> dict[str, str]:
        return {**self.selector, "app.kubernetes.io/component": "device-plugin"}

    @property
    def service_account(self) -> str:
        return self.values.service_account.name or self.fullname

    @property
    def selector(self) -> dict[str, str]:
        """Labels that never change, since a Deployment's selector cannot."""
        return {
            "app.kubernetes.io/name": "shoal",
            "app.kubernetes.io/instance": self.name,
            "app.kubernetes.io/component": "operator",
        }

    @property
    def labels(self) -> dict[str, str]:
        return {**self.selector, "app.kubernetes.io/version": self.version, "app.kubernetes.io/part-of": "shoal"}

    def metadata(self, name: str) -> dict[str, Any]:
        return {"name": name, "namespace": self.namespace, "labels": self.labels}

    def cluster_metadata(self, name: str) -> dict[str, Any]:
        """Of an object that belongs to no namespace."""
        return {"name": name, "labels": self.labels}

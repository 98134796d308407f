"""The few fields of webhook configurations that are read, and where the API serves them."""

from __future__ import annotations

from msgspec import field

from shoal.kubernetes.operator.kinds import Kind
from shoal.kubernetes.operator.views import Metadata, View


class ClientConfig(View):
    ca_bundle: str = ""


class Webhook(View):
    name: str
    client_config: ClientConfig = field(default_factory=ClientConfig)


class Configuration(View):
    metadata: Metadata
    webhooks: list[Webhook] = field(default_factory=list)


_REGISTRATION = "admissionregistration.k8s.io/v1"

CONFIGURATIONS = tuple(
    Kind(_REGISTRATION, f"{what}WebhookConfiguration", f"{what.lower()}webhookconfigurations", Configuration, False)
    for what in ("Validating", "Mutating")
)

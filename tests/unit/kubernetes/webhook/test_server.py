"""What the webhook's server tells of its certificate."""

from __future__ import annotations

from datetime import UTC, datetime

from shoal.certificates import LIVES, renew
from shoal.kubernetes.operator.metrics import Metrics
from shoal.kubernetes.webhook.server import WebhookServer

END = "shoal_operator_certificate_end_timestamp_seconds"


def test_the_end_of_the_certificate_that_is_served_is_told() -> None:
    metrics = Metrics()
    server = WebhookServer(0, metrics.webhook_certified)
    serving = renew(None, ["localhost"], datetime.now(UTC), LIVES).serving
    assert metrics.registry.get_sample_value(END, {"server": "webhook"}) is None
    server.use(serving.certificate_pem, serving.key_pem)
    assert metrics.registry.get_sample_value(END, {"server": "webhook"}) == serving.end.timestamp()

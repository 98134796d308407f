"""What watches an installation: rules for Prometheus, and a dashboard for Grafana, as data.

The chart has both as files, written by `python -m tools.generate_chart`, for Prometheus and Grafana without operators.
"""

from shoal.kubernetes.monitoring.dashboard import dashboard
from shoal.kubernetes.monitoring.rules import rules

__all__ = ["dashboard", "rules"]

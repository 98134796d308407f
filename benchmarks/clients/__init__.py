"""Which Kubernetes client keeps a cache that is right, and what it costs: the figures of docs/decisions/0008."""

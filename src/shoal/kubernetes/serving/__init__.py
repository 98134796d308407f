"""A ModelServer as plain Kubernetes objects."""

"""The device plugin: tells a node's kubelet which GPUs there are, and what a container needs to use its own.

`devices` says what a plugin offers; `nvidia`, `software` and `pooled` are the three kinds of it. `service` answers the
kubelet, `run` keeps it registered while kubelets come and go. The messages are in `protocol`.
"""

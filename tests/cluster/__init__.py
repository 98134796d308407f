"""A real Kubernetes on one machine, for tests.

Two levels. The *API level* is etcd, API server, controller manager and scheduler, with a fake kubelet that moves pods
through their lives: up in seconds, several may run at once. The *node level* adds containerd, a kubelet, kube-proxy and
CoreDNS, and runs containers; it needs root, and there is one a machine.

`make cluster-up` leaves one running to work with; tests get theirs through the fixtures in conftest.py.
"""

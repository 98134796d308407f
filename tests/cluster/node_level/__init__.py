"""A whole node beside the control plane: containerd, a kubelet, kube-proxy and CoreDNS, running real containers.

All of it lives in network, mount and PID namespaces of its own. The kernel takes them down with their first process,
and with them every container, mount and link; so nothing is left even when whoever started it is killed. There is one
a machine.
"""

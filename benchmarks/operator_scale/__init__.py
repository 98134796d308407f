"""How fast the operator is, against a client that only creates the same objects, and against Kubeflow's operator.

The name is not `operator`: that would hide the standard library's module from the scripts beside it.
"""

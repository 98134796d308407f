"""How fast the operator is, against a client that only creates the same objects, and against Kubeflow's operator."""

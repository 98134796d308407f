"""The embedded model server: TensorFlow Serving's gRPC and REST on one machine, so that its clients see no other.

A request passes through these modules, outermost first: `grpc_service` and `rest_api` read it, `json_tensor` and
`tensor_proto` turn its values into arrays, `catalog` finds the version of the model that it asks for, `predict` and
`examples` check it against the signature, `model` runs the graph. `versions` decides which versions are loaded,
`model_config` reads which models there are, and `serve` wires it all. What holds and what differs, fact by fact, is in
docs/serving-parity.md.
"""

"""The client of a model server, TensorFlow Serving or ours: what `shoal predict` and `shoal models` do.

`address` reads where the server is, `inputs` turns files and words into arrays of the types that the server's metadata
names, `rest` and `rpc` ask, `prediction` puts it together. Nothing here imports TensorFlow, and nothing here needs it:
`protocol` has the few messages of TensorFlow Serving's that are sent.
"""

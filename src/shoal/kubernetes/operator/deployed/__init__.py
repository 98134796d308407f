"""The operator's work on resources that are one Deployment and what belongs to it: model servers, TensorBoards,
workbenches."""

"""The operator as an admission webhook: the API server asks it about each TFJob before it stores it.

What is refused here would fail later all the same, only with the fault in a status instead of on the user's terminal.
So nothing depends on it: the schema and the CEL rules of the CRDs hold by themselves, the operator reads what the
webhook has not seen, and by default the API server goes on without it when it cannot be reached.
"""

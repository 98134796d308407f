"""TFJobs of a cluster as runs that commands work on, and its ModelServers: what `shoal … --on kubernetes` does, with
the user's own rights.

It asks the API server alone. That the operator acts on what is written there is seen in the status.
"""

"""The backend that runs a job's replicas as processes of this machine."""

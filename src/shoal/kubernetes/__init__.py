"""The backend that runs a job's replicas as pods."""

"""Pods that ask for GPUs of the pool: they wait at a scheduling gate until the pool has lent them.

The webhook puts the gate on a pod as it is created (`admission`). The operator then asks the pool's broker, for all
pods of a job at once, writes what was lent into a Secret that the pod reads, and lifts the gate (`controller`). What is
asked for, and by whom together, is worked out by `asked` and `units`, which are pure.
"""

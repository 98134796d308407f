"""The pool at work: what reads, asks and runs around the decisions of `shoal.pool`."""

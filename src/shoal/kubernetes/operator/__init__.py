"""The operator: watches TFJobs and their pods, asks `training.decide` what to do, and does it.

It is level-triggered. A pass starts from what is there now; it is told only *which* job to look at, never what has
happened to it, so a lost, late or repeated event costs time and nothing else.
"""

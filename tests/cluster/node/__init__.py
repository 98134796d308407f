"""Tests against a real node: containers, the network, and what is left when it is gone."""

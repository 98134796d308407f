"""Tests against a real API server with pods that only pretend to run."""

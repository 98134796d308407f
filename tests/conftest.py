"""Ctrl-C, which tests send to commands; and how hard hypothesis tries: `default` always, `thorough` in the slow part,
`mutants` until the first failure."""

from __future__ import annotations

import signal

from hypothesis import Phase, settings

settings.register_profile("default", deadline=None, max_examples=200)
settings.register_profile("thorough", deadline=None, max_examples=3000)
settings.register_profile("mutants", deadline=None, max_examples=400, derandomize=True, phases=[Phase.generate])
settings.load_profile("default")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell that starts this in the background has it ignored, and so would every command that a test starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)

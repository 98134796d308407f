"""How hard hypothesis tries: `default` always, `thorough` in the slow part, `mutants` until the first failure."""

from __future__ import annotations

from hypothesis import Phase, settings

settings.register_profile("default", deadline=None, max_examples=200)
settings.register_profile("thorough", deadline=None, max_examples=3000)
settings.register_profile("mutants", deadline=None, max_examples=400, derandomize=True, phases=[Phase.generate])
settings.load_profile("default")

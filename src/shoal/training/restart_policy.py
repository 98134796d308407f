"""Whether a failed replica is worth another try, by its role's `restartPolicy`."""

from __future__ import annotations

from shoal.resources.tfjob import RestartPolicy
from shoal.training.failure import Failure

FIRST_RETRYABLE_EXIT_CODE = 128
"""Under `ExitCode`, lower codes are the program's own verdict and final; from here on a signal ended it."""


def retryable(policy: RestartPolicy, failure: Failure) -> bool:
    """Disruptions are retried under every policy; `Never` means that the program is not given a second try."""
    if failure.cause.disruption:
        return True
    if policy is RestartPolicy.EXIT_CODE:
        return failure.exit_code is None or failure.exit_code >= FIRST_RETRYABLE_EXIT_CODE
    return policy is not RestartPolicy.NEVER

"""How long to wait before trying again, and how often at most.

Owns the backoff and the highest budget, and nothing else: who counts attempts decides when to give up.
"""

import random

from pycodex.supervisor.model.stream import ModelFailure

_FIRST_S = 0.2
_LAST_DOUBLING = 20
_MOST_ASKED_S = 3600.0
_MOST_RETRIES = 100


def budget(wanted: int) -> int:
    """How many retries a provider's entry is granted of those that it wants."""
    return min(wanted, _MOST_RETRIES)


def backoff(attempt: int) -> float:
    """Seconds before retry number `attempt`, counted from 1."""
    doublings = min(max(attempt, 1) - 1, _LAST_DOUBLING)
    return _FIRST_S * 2.0**doublings * random.uniform(0.9, 1.1)


def stream_delay(failure: ModelFailure, attempt: int) -> float:
    """Seconds before asking again after `failure`: what the server asked for, within reason, else the backoff."""
    if failure.delay_s is None:
        return backoff(attempt)
    return min(max(failure.delay_s, 0.0), _MOST_ASKED_S)

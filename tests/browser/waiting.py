"""Waiting for what a browser test started: until it is there, not for a time."""

import pathlib
import sys
import time

PATIENCE = 60  # seconds for anything that is waited for


def wait_for(what, ask):
    """The first answer that is not None, False or empty."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        answer = ask()
        if answer:
            return answer
        time.sleep(0.05)  # between questions, never instead of one
    sys.exit(f"{pathlib.Path(sys.argv[0]).stem}: no {what} within {PATIENCE} s")

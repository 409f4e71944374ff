"""Bubblewrap for tests that run programs."""

import os
import shutil

import pytest


def bubblewrap() -> str:
    """Where it is. Without it a test is skipped, and fails where ``CI`` is set."""
    found = shutil.which("bwrap")
    if found is not None:
        return found
    message = "no bubblewrap on PATH: apt-get install bubblewrap"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)

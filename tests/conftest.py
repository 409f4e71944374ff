"""What every test can rely on: nothing of the caller's environment reaches it."""

import os

import hypothesis
import pytest

from tests.support.pinned_skips import pytest_sessionfinish, pytest_terminal_summary

__all__ = ["pytest_sessionfinish", "pytest_terminal_summary"]

# Tests run side by side, one for each core; torch with threads of its own would have them all wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# No test is timed: a machine that is busy is no defect.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")

_OF_THE_CALLER = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "HF_TOKEN", "WORLD_SIZE", "RANK", "LOCAL_RANK")


@pytest.fixture(autouse=True)
def _no_settings_of_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith("MMEVAL_") or name in _OF_THE_CALLER:
            monkeypatch.delenv(name)

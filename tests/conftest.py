"""What every test can rely on: nothing of the caller's environment reaches it."""

import os

import pytest

_OF_THE_CALLER = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "HF_TOKEN", "WORLD_SIZE", "RANK", "LOCAL_RANK")


@pytest.fixture(autouse=True)
def _no_settings_of_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith("MMEVAL_") or name in _OF_THE_CALLER:
            monkeypatch.delenv(name)

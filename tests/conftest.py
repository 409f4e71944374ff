"""What every test can rely on: nothing of the caller's environment reaches it."""

import gc
import os
import signal
from collections.abc import Generator, Iterator
from functools import partial

import hypothesis
import pytest
from xdist.scheduler import LoadScopeScheduling

from tests.support.cli import restored_log
from tests.support.mock_openai_server import MockServer
from tests.support.pinned_skips import pytest_sessionfinish, pytest_terminal_summary

__all__ = ["pytest_sessionfinish", "pytest_terminal_summary"]

# Tests run side by side, one for each core; torch with threads of its own would have
# them all wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# A shell that starts the tests in the background has them, and the processes that they
# start, ignore Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)

# No test is timed: a machine that is busy is no defect.
hypothesis.settings.register_profile(
    "untimed",
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("untimed")

_OF_THE_CALLER = (
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "HF_TOKEN",
    "WORLD_SIZE",
    "RANK",
    "LOCAL_RANK",
)
_TOGETHER = {
    "torch": (
        "tests/model_backends/diffusers",
        "tests/model_backends/hf",
        "tests/metrics/audio",
        "tests/metrics/image",
        "tests/metrics/video",
        "tests/metrics/test_models.py",
        "tests/stories/prompts/test_bad_prompts.py",
        "tests/stories/test_unima.py",
        "tests/tasks/mme_unify",
    ),
    "chromium": ("tests/soak/report_page",),
}
"""Tests that share what takes seconds to load: the parts of torch and transformers with
the tiny models, and Chromium."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Tests and imported packages stay until the end. A search for garbage among them
    finds nothing and takes a third of the time of collecting tests."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.fixture(autouse=True, scope="module")
def _searched_for_garbage_alone() -> None:
    """What a module leaves behind makes up its own garbage: a search leaves out the
    millions of objects that were there before, which take 0.3 s each time.

    This is done for each module, as a run that is over includes all objects again.
    """
    gc.freeze()


def pytest_unconfigure() -> None:
    """Include all objects again: pytest looks for files left open after this."""
    gc.unfreeze()


@pytest.fixture(autouse=True)
def _alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """No settings of the caller, no cache of theirs, and the log as it was before."""
    for name in os.environ:
        if name.startswith("MMEVAL_") or name in _OF_THE_CALLER:
            monkeypatch.delenv(name)
    monkeypatch.setenv(
        "MMEVAL_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "cache")
    )
    with restored_log():
        yield


@pytest.fixture
def server() -> Iterator[MockServer]:
    with MockServer() as running:
        yield running


@pytest.fixture
def toys() -> Iterator[None]:
    """The toys as plugins."""
    from tests.support.toy import registered

    with registered():
        yield


@pytest.fixture
def bounds_in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bounds of numbers are scored in this process: others take a second to
    start."""
    from mmeval.run.options import RunOptions

    monkeypatch.setattr(
        "mmeval.authoring.bounds.RunOptions", partial(RunOptions, score_workers=0)
    )


class _ByFile(LoadScopeScheduling):  # type: ignore[misc]  # the package has no types
    """Runs the tests of one file, or of those named above, in one worker."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        for name, paths in _TOGETHER.items():
            if file.startswith(paths):
                return name
        return file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(
    config: pytest.Config, log: object
) -> LoadScopeScheduling:
    return _ByFile(config, log)

"""One Chromium for the tests of this folder, and a run of bundled samples to rate."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.soak.support.chromium import chromium
from tests.support.cli import QUIET, mmeval


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="session")
def demo_runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two real runs of bundled samples with every kind of part."""
    folder = tmp_path_factory.mktemp("demo")
    runs = []
    for model in ("reference", "empty"):
        ended = mmeval(
            *("run", "--tasks", "unim", "--data", "bundled", "--model", model),
            *("--output_path", folder, "--verbosity", "ERROR", *QUIET),
        )
        assert ended.code in (0, 3), ended.err
        runs.append(folder / model / "default")
    return runs

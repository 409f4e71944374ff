from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mmeval.dataset.hub import _explained
from mmeval.errors import MissingDataError, StorageError
from tests.support.fake_hub import FakeHub

OLD, NEW = "a" * 40, "b" * 40
PNG = b"\x89PNG\r\n\x1a\n picture"
ROW = {"input": "Look: <<image1>>", "reference": "old", "media": {"image1": "img/a.png"}}
DATA = {
    "me/tiny": {
        OLD: {"test.jsonl": json.dumps(ROW).encode(), "img/a.png": PNG},
        NEW: {"test.jsonl": json.dumps({**ROW, "reference": "new"}).encode(), "img/a.png": PNG},
    },
    "me/gated": {NEW: {"test.jsonl": b"{}"}},
}

# The library reads its environment when it is imported, so each case runs in a process of its own.
PROGRAM = """
import sys
from mmeval.dataset.contract import DataSource
from mmeval.errors import MmevalError
from mmeval.dataset.hub import snapshot
from mmeval.dataset.loaders.interleaved import load
try:
    folder = snapshot(*sys.argv[1:])
except MmevalError as error:
    sys.exit(f"{type(error).__name__}: {error}")
for sample in load(DataSource(task="t", folder=folder)):
    print(folder.name, sample.references[0].text, sample.input[0].content.media()[0].read())
"""


@pytest.fixture(scope="module")
def hub() -> Iterator[FakeHub]:
    with FakeHub(DATA, gated=frozenset({"me/gated"})) as running:
        yield running


def fetched(hub_url: str, home: Path, *argv: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Fetch a data set in a fresh process and print its one sample."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGING"))}
    settings = {"HF_ENDPOINT": hub_url, "HF_HOME": str(home), "NO_PROXY": "*", **environment}
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *argv], env=kept | settings, capture_output=True, text=True, check=False
    )


def test_a_pinned_revision_is_fetched_and_loaded_and_then_comes_from_the_cache(hub: FakeHub, tmp_path: Path) -> None:
    first = fetched(hub.url, tmp_path, "me/tiny", OLD)
    asked = len(hub.paths)
    offline = fetched(hub.url, tmp_path, "me/tiny", OLD, HF_HUB_OFFLINE="1")

    assert first.stdout == f"{OLD} old {PNG!r}\n", first.stderr
    assert offline.stdout == first.stdout, offline.stderr
    assert len(hub.paths) == asked
    assert first.stderr == ""


def test_a_branch_is_what_it_is_now(hub: FakeHub, tmp_path: Path) -> None:
    assert fetched(hub.url, tmp_path, "me/tiny", "main").stdout.startswith(f"{NEW} new")


@pytest.mark.parametrize(
    ("argv", "environment", "message"),
    [
        (["me/absent", NEW], {}, "no such data set"),
        (["me/gated", NEW], {}, "gated; accept its terms on its page, then set HF_TOKEN"),
        (["me/tiny", "c" * 40], {}, "no such revision"),
        (["me/tiny", OLD], {"HF_HUB_OFFLINE": "1"}, "run once with HF_HUB_OFFLINE=0"),
        (["me/tiny", OLD], {"HF_DATASETS_OFFLINE": "1"}, "run once with HF_DATASETS_OFFLINE=0"),
        (["../up", NEW], {}, "no name of a data set"),
        pytest.param(
            ["me/tiny", OLD],
            {"HF_ENDPOINT": "http://127.0.0.1:9"},
            "cannot be reached",
            marks=pytest.mark.slow,  # the library tries again for a while
        ),
    ],
    ids=["absent", "gated", "revision", "offline", "data sets offline", "hostile name", "no network"],
)
def test_each_failure_is_one_message_with_the_way_out(
    hub: FakeHub, tmp_path: Path, argv: list[str], environment: dict[str, str], message: str
) -> None:
    done = fetched(hub.url, tmp_path, *argv, **environment)

    assert done.returncode == 1
    *log, said = done.stderr.splitlines()
    assert said.startswith(("MissingDataError: ", "mmeval.dataset.hub.OutOfReachError: ", "OutOfReachError: "))
    assert message in said
    assert not [line for line in log if "Traceback" in line]


@pytest.mark.parametrize(
    ("cause", "kind", "message"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), StorageError, "the disk is full"),
        (RuntimeError("odd"), MissingDataError, "it cannot be fetched (RuntimeError: odd)"),
    ],
    ids=["disk full", "anything else"],
)
def test_failures_that_no_server_makes_are_explained_too(
    cause: Exception, kind: type[Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)  # whatever the environment of the tests says
    wrapped = ValueError("while downloading")
    wrapped.__cause__ = cause

    explained = _explained(wrapped if kind is StorageError else cause, "me/tiny at main", "dataset")

    assert isinstance(explained, kind)
    assert message in str(explained)

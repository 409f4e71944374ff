import errno
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mmeval.dataset.bad_sample import rows_of
from mmeval.dataset.contract import DataSource
from mmeval.dataset.hub import (
    OutOfReachError,
    _explained,
    file_names,
    listing,
    snapshot,
)
from mmeval.dataset.loaders.interleaved import load
from mmeval.errors import MissingDataError, StorageError
from tests.support.servers import FakeHub, at_hub

OLD, NEW = "a" * 40, "b" * 40
PNG = b"\x89PNG\r\n\x1a\n picture"
ROW = {
    "input": "Look: <<image1>>",
    "reference": "old",
    "media": {"image1": "img/a.png"},
}
DATA = {
    "me/tiny": {
        OLD: {"test.jsonl": json.dumps(ROW).encode(), "img/a.png": PNG},
        NEW: {
            "test.jsonl": json.dumps({**ROW, "reference": "new"}).encode(),
            "img/a.png": PNG,
        },
    },
    "me/gated": {NEW: {"test.jsonl": b"{}"}},
    "me/hostile": {NEW: {"../../.ssh/id": b""}},
}


@pytest.fixture(scope="module")
def hub() -> Iterator[FakeHub]:
    with FakeHub(DATA, gated=frozenset({"me/gated"})) as running:
        yield running


def sample_of(repo: str, revision: str) -> tuple[str, str, bytes]:
    """The commit of a data set, and the reference and picture of its one sample."""
    folder = snapshot(repo, revision)
    (sample,) = rows_of(load(DataSource(task="t", folder=folder)))
    return (
        folder.name,
        sample.references[0].raw,
        sample.input[0].content.media()[0].read(),
    )


def test_a_revision_is_fetched_and_loaded_and_then_comes_from_the_cache(
    hub: FakeHub, tmp_path: Path
) -> None:
    with at_hub(hub.url, tmp_path):
        assert sample_of("me/tiny", OLD) == (OLD, "old", PNG)
        assert sample_of("me/tiny", "main") == (NEW, "new", PNG)
        assert file_names("me/tiny", OLD) == ["test.jsonl", "img/a.png"]
    requests = len(hub.paths)
    with at_hub(hub.url, tmp_path, offline=True):
        assert sample_of("me/tiny", OLD) == (OLD, "old", PNG)
        assert file_names("me/tiny", OLD) == []
    assert len(hub.paths) == requests


@pytest.mark.parametrize(
    ("repository", "variable", "kind", "word"),
    [
        (("me/gated", NEW), "", MissingDataError, "HF_TOKEN"),
        (("me/tiny", "c" * 40), "", MissingDataError, "revision"),
        (
            ("me/tiny", OLD),
            "HF_DATASETS_OFFLINE",
            OutOfReachError,
            "HF_DATASETS_OFFLINE=0",
        ),
        (("../up", NEW), "", MissingDataError, "owner/name"),
    ],
)
def test_each_failure_has_its_class_and_how_to_fix_it(
    hub: FakeHub,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    repository: Any,
    variable: str,
    kind: type,
    word: str,
) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    if variable:
        monkeypatch.setenv(variable, "1")
    with at_hub(hub.url, tmp_path), pytest.raises(MissingDataError) as caught:
        snapshot(*repository)
    assert type(caught.value) is kind
    assert word in str(caught.value)


def test_a_repository_that_lists_files_outside_of_itself_is_refused(
    hub: FakeHub, tmp_path: Path
) -> None:
    with at_hub(hub.url, tmp_path), pytest.raises(MissingDataError, match="ssh/id"):
        listing("me/hostile", "main")


class Answered(Exception):
    def __init__(self, status: int) -> None:
        self.response = type("Response", (), {"status_code": status})


@pytest.mark.parametrize(
    ("cause", "kind", "word"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), StorageError, "full"),
        (RuntimeError("odd"), OutOfReachError, "RuntimeError: odd"),
        (Answered(401), OutOfReachError, "HTTP 401"),
        (
            type("ConnectError", (Exception,), {})(),
            OutOfReachError,
            "cannot be reached",
        ),
    ],
)
def test_failures_that_no_server_makes_are_explained_too(
    cause: Exception, kind: type[Exception], word: str
) -> None:
    wrapped = ValueError("while downloading")
    wrapped.__cause__ = cause
    with at_hub("", Path()):
        explained = _explained(
            wrapped if kind is StorageError else cause, "me/tiny at main", "dataset"
        )
    assert type(explained) is kind
    assert word in str(explained)

import time
from pathlib import Path

import pytest

from mmeval.backend.handshake.inputs import TAKES
from mmeval.backend.handshake.outputs import JSON
from mmeval.backend.probe import Probe, Verdict
from mmeval.broker.checks import handshake_cache
from mmeval.broker.checks.handshake_cache import MAX_AGE, HandshakeCache

IDENTITY = {"backend": "openai", "model": "m"}
OTHER = {"backend": "openai", "model": "n"}
SEES = Probe(TAKES["image"], "yes", "it named the colours", declared=True)


@pytest.fixture
def cache(tmp_path: Path) -> HandshakeCache:
    return HandshakeCache(tmp_path / "handshakes")


def test_probes_are_kept_for_an_identity(cache: HandshakeCache) -> None:
    cache.put(IDENTITY, [SEES])

    assert cache.get(IDENTITY) == [SEES]


def test_another_identity_has_none(cache: HandshakeCache) -> None:
    cache.put(IDENTITY, [SEES])

    assert cache.get(OTHER) == []


@pytest.mark.parametrize("verdict", ["no", "doubtful", "unknown"])
def test_only_a_yes_is_kept(cache: HandshakeCache, verdict: Verdict) -> None:
    cache.put(IDENTITY, [SEES, Probe(TAKES["audio"], verdict)])

    assert cache.get(IDENTITY) == []


def test_a_server_without_json_is_kept(cache: HandshakeCache) -> None:
    probes = [SEES, Probe(JSON, "no", "it answered prose")]
    cache.put(IDENTITY, probes)

    assert cache.get(IDENTITY) == probes


def test_json_that_could_not_be_asked_about_is_asked_again(
    cache: HandshakeCache,
) -> None:
    cache.put(IDENTITY, [SEES, Probe(JSON, "unknown", "timeout")])

    assert cache.get(IDENTITY) == []


def test_old_probes_are_asked_again(
    cache: HandshakeCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.put(IDENTITY, [SEES])
    later = time.time() + MAX_AGE + 1
    monkeypatch.setattr(time, "time", lambda: later)

    assert cache.get(IDENTITY) == []


def test_other_questions_are_asked_again(
    cache: HandshakeCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.put(IDENTITY, [SEES])
    monkeypatch.setattr(handshake_cache, "QUESTIONS", handshake_cache.QUESTIONS + 1)

    assert cache.get(IDENTITY) == []


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"at": 1}', '{"at": "x", "probes": []}'], ids=repr
)
def test_a_damaged_file_is_ignored(
    cache: HandshakeCache, tmp_path: Path, content: str
) -> None:
    cache.put(IDENTITY, [SEES])
    (file,) = (tmp_path / "handshakes").iterdir()
    file.write_text(content)

    assert cache.get(IDENTITY) == []


def test_a_folder_that_cannot_be_made_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    cache = HandshakeCache(tmp_path / "file" / "handshakes")

    cache.put(IDENTITY, [SEES])

    assert cache.get(IDENTITY) == []

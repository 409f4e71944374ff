from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mmeval.dataset.hub_cache import cached_snapshot, commit_of
from tests.support.fake_hub import FakeHub

COMMIT = "a" * 40
FILES = {"test.jsonl": b"{}\n", "img/a.png": b"picture"}

# The library reads its environment when it is imported, so that this runs in a process of its own.
PROGRAM = """
from mmeval.dataset import hub, hub_cache as hubcache
before = hubcache.cached_snapshot("me/tiny", "main", "dataset")
listed = hub.listing("me/tiny", "main")
lacking = [file.path for file in listed.files if not hubcache.is_cached(file, "me/tiny", listed.commit, "dataset")]
folder = hub.snapshot("me/tiny", "main", only=["*.jsonl"])
after = [file.path for file in listed.files if not hubcache.is_cached(file, "me/tiny", listed.commit, "dataset")]
print(before, listed.commit, sorted(lacking), after)
asked = ("me/tiny", "main", "dataset")
print(hubcache.cached_snapshot(*asked) == folder, hubcache.commit_of(*asked))
print([(file.path, file.size, len(file.etag), file.is_large) for file in listed.files])
"""


def test_what_the_cache_holds_is_told_without_the_hub(tmp_path: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    with FakeHub({"me/tiny": {COMMIT: FILES}}) as hub:
        env = {**kept, "HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path), "NO_PROXY": "*"}
        done = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, check=False)

    assert done.stdout.splitlines() == [
        f"None {COMMIT} ['img/a.png', 'test.jsonl'] ['img/a.png']",
        f"True {COMMIT}",
        "[('test.jsonl', 3, 40, False), ('img/a.png', 7, 40, False)]",
    ], done.stderr


def test_a_revision_cannot_lead_out_of_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache/datasets--me--tiny/refs").mkdir(parents=True)
    (tmp_path / "secret").write_text("../../../..")

    assert commit_of("me/tiny", "../../../secret", "dataset") == ""
    assert cached_snapshot("me/tiny", "../../../secret", "dataset") is None


def test_a_repository_that_lists_files_outside_of_itself_is_refused(tmp_path: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    program = "from mmeval.dataset import hub; hub.listing('me/tiny', 'main')"
    with FakeHub({"me/tiny": {COMMIT: {"../../.ssh/id": b""}}}) as hub:
        env = {**kept, "HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path), "NO_PROXY": "*"}
        done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=False)

    assert "it lists a file outside of itself ('../../.ssh/id')" in done.stderr

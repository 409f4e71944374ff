from pathlib import Path

from mmeval.dataset import hub
from mmeval.dataset.hub_cache import cached_snapshot
from tests.support.servers import FakeHub, at_hub

COMMIT = "a" * 40
FILES = {"test.jsonl": b"{}\n", "img/a.png": b"picture"}


def test_what_the_cache_holds_is_known_without_the_hub(tmp_path: Path) -> None:
    with (
        FakeHub({"me/tiny": {COMMIT: FILES}}) as running,
        at_hub(running.url, tmp_path),
    ):
        commit, files = listed = hub.listing("me/tiny", "main")
        assert (cached_snapshot("me/tiny", "main", "dataset"), commit) == (None, COMMIT)
        assert hub.not_here("me/tiny", listed) == files
        folder = hub.snapshot("me/tiny", "main", only=["*.jsonl"])
    with at_hub("", tmp_path, offline=True):
        assert (
            cached_snapshot("me/tiny", "main", "dataset")
            == cached_snapshot("me/tiny", COMMIT, "dataset")
            == folder
        )
        assert hub.not_here("me/tiny", listed) == files[1:]
        assert [
            cached_snapshot(*repository, "dataset")
            for repository in (("me/tiny", "other"), ("a/b/c", "main"))
        ] == [
            None,
            None,
        ]
    described = [
        (file.path, file.size, len(file.etag), file.is_large) for file in files
    ]
    assert described == [("test.jsonl", 3, 40, False), ("img/a.png", 7, 40, False)]


def test_a_revision_cannot_lead_out_of_the_cache(tmp_path: Path) -> None:
    (tmp_path / "hub/datasets--me--tiny/refs").mkdir(parents=True)
    (tmp_path / "secret").write_text("../../../..")
    with at_hub("", tmp_path):
        assert cached_snapshot("me/tiny", "../../../../secret", "dataset") is None

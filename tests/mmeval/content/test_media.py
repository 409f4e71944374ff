from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from mmeval.content.media import Media, kind_for, may_be, path_inside
from mmeval.errors import CorruptMediaError, MissingDataError, UsageError
from tests.support import tiny_media as tiny


@pytest.mark.parametrize(
    ("mime", "kind"),
    [
        ("image/svg+xml", "image"),
        ("audio/mpeg", "audio"),
        ("video/webm", "video"),
        ("model/stl", "3d"),
        ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", "document"),
        ("text/html", "document"),
        ("application/octet-stream", "document"),
    ],
)
def test_a_mime_type_has_a_kind(mime: str, kind: str) -> None:
    assert kind_for(mime) == kind


@pytest.mark.parametrize(
    ("kind", "mime", "possible"),
    [
        ("image", "image/png", True),
        ("image", "application/pdf", False),
        ("document", "application/pdf", True),
        ("document", "image/jpeg", True),
        ("document", "image/gif", False),
        ("3d", "image/png", False),
    ],
)
def test_a_document_may_be_a_picture_and_nothing_else_is_of_another_kind(kind: str, mime: str, possible: bool) -> None:
    assert may_be(kind, mime) is possible


def test_a_medium_is_not_read_before_it_is_needed(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(tiny.picture())
    media = Media.from_path(tmp_path / "a.png")
    (tmp_path / "a.png").write_bytes(tiny.wav())
    assert (media.mime, media.size) == ("audio/wav", len(tiny.wav()))


def test_equal_bytes_are_equal_media_wherever_they_lie(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"same")
    stored, made = Media.from_path(tmp_path / "a.png"), Media.from_bytes(b"same", "other")
    assert stored == made
    assert len({stored, made, Media.from_bytes(b"different")}) == 2


@pytest.mark.parametrize("ask", ["read", "mime", "size", "sha256"])
def test_a_file_that_has_gone_is_named(tmp_path: Path, ask: str) -> None:
    (tmp_path / "a.png").write_bytes(b"x")
    media = Media.from_path(tmp_path / "a.png")
    (tmp_path / "a.png").unlink()
    with pytest.raises(MissingDataError, match=r"a\.png: the media file has gone"):
        media.read() if ask == "read" else getattr(media, ask)


def test_a_path_without_a_file_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match="no such media file"):
        Media.from_path(tmp_path)


def recorded(file: Path) -> Media:
    return Media.from_json(Media.from_path(file).to_json(), file.parent)


def test_a_recorded_medium_survives_json(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(tiny.picture())
    media = recorded(tmp_path / "a.png")
    assert media == Media.from_bytes(tiny.picture())
    assert (media.mime, media.name, media.read()) == ("image/png", "a.png", tiny.picture())


@pytest.mark.parametrize("changed", [b"new!", b"longer"], ids=["same size", "another size"])
def test_a_file_changed_since_it_was_recorded_is_noticed(tmp_path: Path, changed: bytes) -> None:
    (tmp_path / "a.bin").write_bytes(b"old!")
    media = recorded(tmp_path / "a.bin")
    (tmp_path / "a.bin").write_bytes(changed)
    with pytest.raises(CorruptMediaError, match=r"a\.bin: the file has changed since it was recorded"):
        media.read()


def test_bytes_are_compared_with_a_record_only_once(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"old!")
    media = recorded(tmp_path / "a.bin")
    assert media.read() == b"old!"
    (tmp_path / "a.bin").write_bytes(b"new!")
    assert media.read() == b"new!"


@pytest.mark.parametrize("sha256", ["../../etc/passwd", "", "A" * 64, "é" * 64])
def test_a_record_with_a_damaged_digest_is_refused(tmp_path: Path, sha256: str) -> None:
    with pytest.raises(UsageError, match="is not the SHA-256 of a medium"):
        Media.from_json({"sha256": sha256, "mime": "image/png", "size": 1, "path": "a"}, tmp_path)


def test_a_medium_is_called_by_its_path_else_its_name_else_its_digest(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"x")
    assert Media.from_path(tmp_path / "a.png").label == str(tmp_path / "a.png")
    assert Media.from_bytes(b"x", "b.png").label == "b.png"
    assert Media.from_bytes(b"x").label == "medium 2d711642b726"


# Paths in data


def test_a_path_inside_its_root_is_joined(tmp_path: Path) -> None:
    assert path_inside(tmp_path, "img/a.png") == tmp_path / "img" / "a.png"


@pytest.mark.parametrize(
    "relative", ["../a", "/etc/passwd", "a/../../b", "link/a", "loop/a", "nul\0", "a/../../" + "x" * 5000]
)
def test_a_path_that_leads_out_of_its_root_is_refused(tmp_path: Path, relative: str) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "link").symlink_to(tmp_path)
    (tmp_path / "root" / "loop").symlink_to("loop")
    with pytest.raises(UsageError, match=r"leads out of|is not a path inside"):
        path_inside(tmp_path / "root", relative)


def test_links_of_a_hub_snapshot_may_point_to_the_blobs_of_its_data_set(tmp_path: Path) -> None:
    snapshot = tmp_path / "data" / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    (tmp_path / "data" / "blobs").mkdir()
    (snapshot / "a.png").symlink_to("../../blobs/x")
    (snapshot / "b.png").symlink_to("../../../other/x")
    assert path_inside(snapshot, "a.png") == snapshot / "a.png"
    with pytest.raises(UsageError, match="leads out of"):
        path_inside(snapshot, "b.png")


def test_another_process_gets_a_medium_without_what_was_worked_out_of_it(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    medium = Media.from_path(tmp_path / "a.png")
    medium.memo["decoded"] = lambda: "this cannot be sent anywhere"
    sent = pickle.loads(pickle.dumps(medium))

    assert (sent.sha256, sent.path, sent.mime, sent.memo) == (medium.sha256, medium.path, medium.mime, {})

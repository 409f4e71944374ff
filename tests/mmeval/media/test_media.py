import os
import pickle
from pathlib import Path

import pytest

from mmeval.errors import (
    CorruptMediaError,
    MediaLimitError,
    MissingDataError,
    UsageError,
)
from mmeval.media.media import Media, kind_for, may_be, path_inside
from tests.support import tiny_media as tiny

PNG = b"\x89PNG\r\n\x1a\n"
INSIDE = ("img/a.png", "~/secret", "%2e%2e/out/secret", "NUL", "", ".", "a/../b")
OUTSIDE = (
    "../a",
    "/etc/passwd",
    "//etc/passwd",
    "a/../../b",
    "link/a",
    "loop/a",
    "nul\0",
    "a/../../" + "x" * 5000,
    "x" * 5000,
    "file:///etc/passwd",
    "http://127.0.0.1:9/a",
    "data:text/plain,a",
    "\\\\host\\share\\a",
    "C:\\a",
    "C:/a",
    "..\\a",
    "../a.. .",
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "a.png").write_bytes(PNG)
    return tmp_path / "a.png"


def recorded(file: Path) -> Media:
    return Media.from_json(Media.from_path(file).to_json(), file.parent)


def test_a_medium_has_a_kind_and_is_called_by_its_path_else_its_name_else_its_digest(
    file: Path,
) -> None:
    kinds = {
        "image/svg+xml": "image",
        "audio/mpeg": "audio",
        "video/webm": "video",
        "model/stl": "3d",
        "text/html": "document",
        "application/octet-stream": "document",
    }
    assert {mime: kind_for(mime) for mime in kinds} == kinds
    assert (
        may_be("image", "image/png")
        and may_be("document", "application/pdf")
        and may_be("document", "image/jpeg")
    )
    wrong = (
        ("image", "application/pdf"),
        ("document", "image/gif"),
        ("3d", "image/png"),
    )
    assert not any(may_be(kind, mime) for kind, mime in wrong)
    media = (
        Media.from_path(file),
        Media.from_bytes(b"x", "b.png"),
        Media.from_bytes(b"x"),
    )
    assert [medium.label for medium in media] == [
        str(file),
        "b.png",
        "medium 2d711642b726",
    ]
    assert [*map(repr, media)] == [f"Media({file})", "Media(1 bytes)", "Media(1 bytes)"]


def test_a_medium_is_not_read_before_it_is_needed_and_equal_bytes_are_equal_media(
    file: Path,
) -> None:
    stored = Media.from_path(file)
    in_memory = Media.from_bytes(PNG, "other")
    later = Media.from_path(file)
    assert stored == in_memory
    assert len({stored, in_memory, Media.from_bytes(b"different")}) == 2
    file.write_bytes(tiny.wav())
    assert (later.mime, later.size) == ("audio/wav", len(tiny.wav()))


def test_a_file_of_gigabytes_is_refused_before_it_is_read(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hashlib.file_digest", lambda *_: 1 / 0)
    os.truncate(file, 8 * 2**30)  # it takes no room on the disk
    for ask in (lambda: Media.from_path(file).sha256, Media.from_path(file).read):
        with pytest.raises(MediaLimitError, match=r"a\.png.*8,589,934,592"):
            ask()
    assert (Media.from_path(file).size, Media.from_path(file).mime) == (
        8 * 2**30,
        "image/png",
    )


def test_a_file_that_has_gone_is_named_and_a_path_without_one_refused(
    file: Path, tmp_path: Path
) -> None:
    gone = {ask: Media.from_path(file) for ask in ("data", "mime", "size", "sha256")}
    file.unlink()
    for ask, media in gone.items():
        with pytest.raises(MissingDataError, match=r"a\.png: .* missing"):
            media.read() if ask == "data" else getattr(media, ask)
    for read in (
        lambda: Media.from_path(tmp_path),
        Media(path=tmp_path).read,
        Media().read,
    ):
        with pytest.raises(MissingDataError):
            read()
    for sha256 in ("../../etc/passwd", "A" * 64, "a" * 63):
        with pytest.raises(UsageError, match="SHA-256"):
            Media.from_json(
                {"sha256": sha256, "mime": "image/png", "size": 1, "path": "a"},
                tmp_path,
            )


def test_a_recorded_medium_survives_json_and_a_pickle_without_its_memo(
    file: Path,
) -> None:
    media = recorded(file)
    media.memo["decoded"] = lambda: "this cannot be sent anywhere"
    sent = pickle.loads(pickle.dumps(media))
    assert media == sent == Media.from_bytes(PNG)
    assert (media.mime, media.name, media.read()) == ("image/png", "a.png", PNG)
    file.write_bytes(b"new")  # what has been compared once is not compared again
    assert media.read() == b"new"
    assert sent.sha256 == media.sha256
    assert sent.path == file
    assert sent.mime == "image/png"
    assert sent.memo == {}


def test_a_file_changed_since_it_was_recorded_is_noticed(file: Path) -> None:
    for changed in (PNG[::-1], b"longer than before"):
        file.write_bytes(PNG)
        media = recorded(file)
        file.write_bytes(changed)
        with pytest.raises(
            CorruptMediaError, match=rf"a\.png: .*\b{len(changed)} bytes"
        ):
            media.read()


def test_a_path_leads_out_of_its_root_only_to_the_blobs_of_a_hub_snapshot(
    tmp_path: Path,
) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "link").symlink_to(tmp_path)
    (tmp_path / "root" / "loop").symlink_to("loop")
    assert [path_inside(tmp_path, relative) for relative in INSIDE] == [
        tmp_path / relative for relative in INSIDE
    ]
    for relative in OUTSIDE:
        with pytest.raises(UsageError):
            path_inside(tmp_path / "root", relative)
    with pytest.raises(UsageError, match="leads out"):
        path_inside(tmp_path / "root", "file:/" + "x" * 5000)
    snapshot = tmp_path / "data" / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    (tmp_path / "data" / "blobs").mkdir()
    (snapshot / "a.png").symlink_to("../../blobs/x")
    (snapshot / "b.png").symlink_to("../../../other/x")
    assert path_inside(snapshot, "a.png") == snapshot / "a.png"
    with pytest.raises(UsageError):
        path_inside(snapshot, "b.png")

"""Media whose files have other extensions than the rows say."""

from pathlib import Path

import pytest

from mmeval.dataset.loaders.interleaved import MediaFolder
from mmeval.dataset.loaders.same_stem import SameStem
from mmeval.errors import UsageError
from tests.support.tiny_media import picture, wav


def test_the_file_of_a_row_comes_before_one_of_the_same_name_and_kind(
    tmp_path: Path,
) -> None:
    (tmp_path / "in").mkdir()
    for name in ("hare.JPG", "hare.webp"):
        (tmp_path / "in" / name).write_bytes(picture())
    (tmp_path / "in" / "hare.aiff").write_bytes(wav())
    find, folder = SameStem(), MediaFolder(tmp_path, tmp_path)
    assert [
        find(folder, f"in/hare.{ending}", "x", "image").name
        for ending in ("webp", "png")
    ] == ["", "hare.JPG"]
    assert (
        find(folder, "in/hare.mp3", "x", "audio").media.path
        == tmp_path / "in" / "hare.aiff"
    )
    for path in ("in/hare.mp4", "in/har.png", "out/hare.png"):
        with pytest.raises(UsageError, match="missing"):
            find(folder, path, "x", "video")


def test_no_other_file_is_taken_from_outside(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "hare.png").write_bytes(picture())
    with pytest.raises(UsageError, match="inside"):
        SameStem()(
            MediaFolder(tmp_path / "data", tmp_path / "data"),
            "../hare.jpg",
            "x",
            "image",
        )

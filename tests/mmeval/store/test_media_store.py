import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mmeval.errors import StorageError
from mmeval.media.media import Media
from mmeval.store.media_store import MediaStore
from tests.support import tiny_media as tiny
from tests.support.engine import file_limit, small_disk

WORDS = Media.from_bytes(b"words")


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def put(store: MediaStore, medium: Media = WORDS) -> Path:
    kept = store.put(medium)
    assert kept.path is not None
    return kept.path


def test_a_stored_medium_lies_under_its_digest_and_is_found_again(
    tmp_path: Path,
) -> None:
    kept = MediaStore(tmp_path).put(Media.from_bytes(tiny.picture(), "a.png"))
    name = hashlib.sha256(tiny.picture()).hexdigest()
    assert files(tmp_path) == [tmp_path / name[:2] / f"{name}.png"]
    row = {key: value for key, value in kept.to_json().items() if key != "path"}
    assert Media.from_json(row, tmp_path).read() == tiny.picture()


@pytest.mark.parametrize(
    "damaged", [b"wo", b"wordz"], ids=["cut short by a crash", "other bytes"]
)
def test_a_medium_is_written_once_and_again_where_its_file_is_damaged(
    tmp_path: Path, damaged: bytes
) -> None:
    store = MediaStore(tmp_path)
    os.utime(put(store), (1, 1))
    assert put(store).stat().st_mtime == 1
    put(store).write_bytes(damaged)
    assert put(store).read_bytes() == b"words"


def test_what_was_written_is_pushed_to_the_disk_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pushed: list[str] = []
    monkeypatch.setattr(
        os,
        "fsync",
        lambda open_: pushed.append(str(Path(f"/proc/self/fd/{open_}").readlink())),
    )
    store = MediaStore(tmp_path)
    first = put(store)
    put(store, Media.from_bytes(b"two")).unlink()
    store.sync()
    put(store)
    store.sync()
    assert pushed == [str(first)]


def test_many_writers_of_the_same_media_leave_whole_files_and_nothing_else(
    tmp_path: Path,
) -> None:
    contents = [bytes([number]) * 20_000 for number in range(4)] * 10
    with ThreadPoolExecutor(8) as pool:
        kept = list(
            pool.map(
                lambda data: MediaStore(tmp_path).put(Media.from_bytes(data)), contents
            )
        )
    assert (len(files(tmp_path)), [media.read() for media in kept]) == (4, contents)


def test_a_medium_that_does_not_fit_leaves_no_half_file(tmp_path: Path) -> None:
    with file_limit(1000), pytest.raises(StorageError, match="File too large"):
        put(MediaStore(tmp_path), Media.from_bytes(b"x" * 5000))
    assert files(tmp_path) == []


@pytest.mark.parametrize(
    ("options", "words"), [("rw", "No space left"), ("ro", "Read-only file system")]
)
def test_a_full_or_read_only_disk_is_a_storage_error(
    options: str, words: str, tmp_path: Path
) -> None:
    with small_disk(tmp_path / "disk", kibibytes=64) as disk:
        disk.remount(options)
        with pytest.raises(StorageError, match=words):
            put(MediaStore(disk.path), Media.from_bytes(bytes(200_000)))
        assert files(disk.path) == []

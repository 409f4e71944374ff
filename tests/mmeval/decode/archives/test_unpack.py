from __future__ import annotations

import fcntl
import gzip
import io
import os
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest

from mmeval.decode.archives.names import ArchiveNames, entry_path
from mmeval.decode.archives.unpack import DEFAULT_ARCHIVE_LIMITS, ArchiveEntry, extract, listing
from mmeval.errors import CorruptMediaError, MediaLimitError, MissingDataError, UsageError
from tests.support.hostile import archives

WHOLE: dict[str, Callable[[], bytes]] = {
    "zip": archives.small_zip,
    "tar": archives.small_tar,
    "tar.gz": lambda: archives.small_tar("gz"),
}


@pytest.fixture(params=WHOLE)
def archive(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / f"a.{request.param}"
    path.write_bytes(WHOLE[request.param]())
    return path


def test_an_archive_is_unpacked_under_its_folder(archive: Path, tmp_path: Path) -> None:
    assert extract(archive, tmp_path / "deep" / "out") == 2
    assert (tmp_path / "deep" / "out" / "a" / "b.txt").read_bytes() == b"words " * 50
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["out"]


def test_a_listing_names_each_file_with_its_size(archive: Path) -> None:
    assert listing(archive) == (ArchiveEntry(PurePosixPath("a/b.txt"), 300), ArchiveEntry(PurePosixPath("c.bin"), 256))


def test_what_is_unpacked_is_not_executable(archive: Path, tmp_path: Path) -> None:
    extract(archive, tmp_path / "out")
    assert not (tmp_path / "out" / "c.bin").stat().st_mode & 0o111


@pytest.mark.parametrize("cut", [200, 60, 1])
def test_a_damaged_archive_leaves_nothing_behind(archive: Path, cut: int, tmp_path: Path) -> None:
    data = archive.read_bytes().rstrip(b"\0")
    archive.write_bytes(data[:-cut])
    with pytest.raises(CorruptMediaError, match=r"cannot be unpacked"):
        extract(archive, tmp_path / "out")
    assert list(tmp_path.iterdir()) == [archive]


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (replace(DEFAULT_ARCHIVE_LIMITS, max_bytes=300), "max_bytes = 300"),
        (replace(DEFAULT_ARCHIVE_LIMITS, max_entries=1), "max_entries = 1"),
        (replace(DEFAULT_ARCHIVE_LIMITS, max_ratio=0.1, free_bytes=1), "max_ratio = 0.1"),
    ],
)
def test_an_archive_above_a_limit_is_refused(limits: object, words: str, archive: Path, tmp_path: Path) -> None:
    with pytest.raises(MediaLimitError, match=words):
        extract(archive, tmp_path / "out", limits=limits)  # type: ignore[arg-type]  # what replace gives


def test_a_folder_with_something_in_it_is_left_alone(archive: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert extract(archive, tmp_path / "out") == 2
    with pytest.raises(UsageError, match="there is something already"):
        extract(archive, tmp_path / "out")


def test_what_an_interrupted_call_left_is_removed_and_what_another_process_builds_is_not(
    archive: Path, tmp_path: Path
) -> None:
    left, used = tmp_path / ".out.unpacking-left", tmp_path / ".out.unpacking-used"
    for folder in (left, used):
        folder.mkdir()
    handle = os.open(used, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        extract(archive, tmp_path / "out")
    finally:
        os.close(handle)
    assert (left.exists(), used.exists()) == (False, True)


def test_an_archive_that_is_not_there_is_missing(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match="no such archive"):
        extract(tmp_path / "a.zip", tmp_path / "out")


@pytest.mark.parametrize("packing", ["", "gz", "bz2", "xz"])
def test_every_packing_of_tar_is_read_with_long_names_and_many_streams(packing: str, tmp_path: Path) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=f"w:{packing}") as tar:  # type: ignore[call-overload]  # modes are literals
        for name in ("./é" + "n" * 150, "b/" * 20 + "c"):
            entry = tarfile.TarInfo(name)
            entry.size = 70_000
            tar.addfile(entry, io.BytesIO(bytes(70_000)))
    (tmp_path / "a").write_bytes(out.getvalue() + (gzip.compress(b"") if packing == "gz" else b""))
    assert [entry.size for entry in listing(tmp_path / "a")] == [70_000, 70_000]


@pytest.mark.parametrize(
    "name",
    [
        "/a",
        "//h/s/a",
        "\\\\h\\s",
        "C:a",
        "../a",
        "a/../..",
        "a\0b",
        "a\nb",
        "nul",
        "a/COM1.txt",
        "x" * 256,
        "a/" * 40,
        "\ud800",
    ],
)
def test_a_name_that_is_not_for_every_system_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="the entry"):
        entry_path(name)


@pytest.mark.parametrize(
    ("one", "other", "folder"),
    [
        ("a", "A", False),
        ("é", "e\u0301", False),
        ("a", "a. ", False),
        ("a", "a", False),
        ("a", "a/b", False),
        ("A/b", "a", True),
    ],
)
def test_two_names_that_would_be_one_file_are_refused(one: str, other: str, folder: bool) -> None:
    names = ArchiveNames()
    names.add(PurePosixPath(one), is_folder=False)
    with pytest.raises(ValueError, match="would be one file"):
        names.add(PurePosixPath(other), is_folder=folder)


def test_folders_may_be_named_often() -> None:
    names = ArchiveNames()
    for _ in range(2):
        names.add(PurePosixPath("a"), is_folder=True)
    names.add(PurePosixPath("a/b"), is_folder=False)
    names.add(PurePosixPath("a/c"), is_folder=False)

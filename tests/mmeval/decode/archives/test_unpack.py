import fcntl
import gzip
import io
import os
import shutil
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from mmeval.decode.archives.names import ArchiveNames, entry_path
from mmeval.decode.archives.unpack import DEFAULT_ARCHIVE_LIMITS, ArchiveEntry, extract, listing
from mmeval.errors import ContentError, CorruptMediaError, MediaLimitError, MissingDataError, UsageError
from tests.support.hostile import archives

WHOLE: dict[str, Callable[[], bytes]] = {
    **{"zip": archives.small_zip, "tar": archives.small_tar, "tar.gz": lambda: archives.small_tar("gz")}
}
"""Two files of 300 and 256 bytes."""
LIMITS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    **{"max_bytes": ({"max_bytes": 555}, {"max_bytes": 556}), "max_entries": ({"max_entries": 1}, {"max_entries": 2})},
    "max_ratio": ({"max_ratio": 0.1, "free_bytes": 1}, {"max_ratio": 0.1, "free_bytes": 10300}),
}


@pytest.fixture(params=WHOLE)
def archive(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / f"a.{request.param}"
    path.write_bytes(WHOLE[request.param]())
    return path


def test_an_archive_is_unpacked_under_its_folder_unless_something_is_there(archive: Path, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "out"
    assert extract(archive, out) == 2
    assert (out / "a" / "b.txt").read_bytes() == b"words " * 50
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["out"]
    assert [oct((path).stat().st_mode & 0o777) for path in (out, out / "c.bin")] == ["0o755", "0o644"]
    assert listing(archive) == (ArchiveEntry(PurePosixPath("a/b.txt"), 300), ArchiveEntry(PurePosixPath("c.bin"), 256))
    (tmp_path / "out").mkdir()
    assert extract(archive, tmp_path / "out") == 2
    for into in (tmp_path / "out", archive):
        with pytest.raises(UsageError, match="something already"):
            extract(archive, into)
    with pytest.raises(MissingDataError):
        extract(tmp_path / "none.zip", tmp_path / "other")


def test_folders_of_an_archive_are_no_files(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c").write_bytes(b"words")
    for form in ("zip", "tar"):
        made = Path(shutil.make_archive(str(tmp_path / "made"), form, tmp_path, "a"))
        assert listing(made) == (ArchiveEntry(PurePosixPath("a/b/c"), 5),)
        assert extract(made, tmp_path / f"from {form}") == 1


@pytest.mark.parametrize("cut", [60, 1])
def test_a_damaged_archive_leaves_nothing_behind(archive: Path, cut: int, tmp_path: Path) -> None:
    archive.write_bytes(archive.read_bytes().rstrip(b"\0")[:-cut])
    with pytest.raises(CorruptMediaError, match="cannot be unpacked"):
        extract(archive, tmp_path / "out")
    assert list(tmp_path.iterdir()) == [archive]


@pytest.mark.parametrize("name", LIMITS)
def test_an_archive_above_a_limit_is_refused(name: str, archive: Path, tmp_path: Path) -> None:
    changes, enough = LIMITS[name]
    with pytest.raises(MediaLimitError, match=f"{name} = "):
        extract(archive, tmp_path / "out", limits=replace(DEFAULT_ARCHIVE_LIMITS, **changes))
    if not archive.name.startswith("a.tar") or name != "max_bytes":
        assert len(listing(archive, limits=replace(DEFAULT_ARCHIVE_LIMITS, **enough))) == 2


def test_what_an_interrupted_call_left_is_removed_and_what_is_in_use_not(archive: Path, tmp_path: Path) -> None:
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


@pytest.mark.parametrize("name", archives.SMALL)
def test_a_hostile_archive_is_refused_as_a_whole(name: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(archives.SMALL[name]())
    with pytest.raises(ContentError):
        extract(tmp_path / "a", tmp_path / "out")
    assert list(tmp_path.iterdir()) == [tmp_path / "a"]


def test_a_name_that_is_not_for_every_system_is_refused() -> None:
    for name in (
        *("/a", "\\\\h\\s", "C:a", "../a", "a/../..", "a\0b", "a\nb", "nul", "a/COM1.txt", "x" * 256, "a/" * 33),
        *("\ud800", "/".join(["x" * 250] * 4)),
    ):
        with pytest.raises(ValueError, match="the entry"):
            entry_path(name)
    for name in ("./a/", "a/" * 32, "x" * 255, "/".join(["x" * 249] * 4), "nullable", "com", "."):
        assert entry_path(name) == PurePosixPath(name)


def test_two_names_that_would_be_one_file_and_very_many_folders_are_refused() -> None:
    for one, other, folder in (("a", "A", False), ("é", "e\u0301", False), ("a", "a. ", False), ("A/b", "a", True)):
        names = ArchiveNames()
        names.add(PurePosixPath(one), is_folder=False)
        if not folder:
            with pytest.raises(ValueError, match="one file"):
                names.add(PurePosixPath(f"{one}/b"), is_folder=False)
        with pytest.raises(ValueError, match="one file"):
            names.add(PurePosixPath(other), is_folder=folder)
    names = ArchiveNames()
    for path, is_folder in ((".", True), ("a", True), ("a", True), ("a/b", False), ("a/c", False)):
        names.add(PurePosixPath(path), is_folder=is_folder)
    with pytest.raises(MediaLimitError, match="1000 folders"):
        for number in range(41):  # each makes 30 more
            names.add(PurePosixPath("/".join(f"{number}_{step}" for step in range(30))), is_folder=False)

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mmeval.media import Media
from mmeval.model_backends.process.folders import MediaFaultError, SharedFolder

MOST = 100
"""Bytes of a medium in these tests."""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[SharedFolder]:
    made = SharedFolder(tmp_path / "out")
    yield made
    made.close()


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    """A folder of the user's, with a file."""
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_bytes(b"mine")
    return tmp_path / "precious"


def replaced(folder: SharedFolder, by: Path) -> None:
    """Put a link in the place of a folder, as a worker can at any time."""
    folder.path.rename(folder.path.with_name("moved"))
    folder.path.symlink_to(by)


@pytest.mark.parametrize("name", ["picture.png", "a/b/picture.png"])
def test_a_file_below_the_folder_is_read_and_removed(
    name: str, folder: SharedFolder
) -> None:
    file = folder.path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"picture")
    assert folder.take(name, MOST) == b"picture"
    assert not file.exists()


def test_a_folder_that_a_link_has_replaced_is_not_read_through_the_link(
    folder: SharedFolder, precious: Path
) -> None:
    replaced(folder, precious)
    assert not folder.is_in_place
    with pytest.raises(MediaFaultError, match="does not exist"):
        folder.take("file", MOST)
    assert (precious / "file").exists()


def test_a_folder_that_a_link_has_replaced_is_emptied_where_it_lies_now(
    folder: SharedFolder, precious: Path
) -> None:
    (folder.path / "picture.png").touch()
    replaced(folder, precious)
    folder.empty()
    assert (precious / "file").exists()
    assert not (folder.path.with_name("moved") / "picture.png").exists()


def test_a_prompt_is_not_written_through_a_link(
    folder: SharedFolder, precious: Path
) -> None:
    replaced(folder, precious)
    folder.put(Media.from_bytes(b"GIF89a"))
    assert [file.name for file in precious.iterdir()] == ["file"]


def linked(folder: Path, precious: Path) -> str:
    (folder / "link").symlink_to(precious / "file")
    return "link"


def below_a_link(folder: Path, precious: Path) -> str:
    (folder / "link").symlink_to(precious)
    return "link/file"


def pipe(folder: Path, _precious: Path) -> str:
    os.mkfifo(folder / "pipe")
    return "pipe"


def sparse(folder: Path, _precious: Path) -> str:
    with (folder / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    return "sparse"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (linked, "is a link"),
        (below_a_link, "Not a directory"),
        (pipe, "not a regular file"),
        (sparse, "larger than 512 MiB"),
        (lambda _folder, precious: str(precious / "file"), "outside"),
        (lambda *_: "../precious/file", "outside"),
        (lambda *_: ".", "outside"),
        (lambda *_: "x" * 5000, "5,000 bytes; the limit is 4,096"),
        (lambda *_: "x" * 300, "File name too long"),
        (lambda *_: "half \ud800", "is not text"),
        (lambda *_: "nul \0", "has no path"),
        (lambda *_: ["list"], "has no path"),
    ],
)
def test_a_path_that_is_not_a_file_of_the_folder_has_a_sentence(
    make: Callable[[Path, Path], object],
    words: str,
    folder: SharedFolder,
    precious: Path,
) -> None:
    with pytest.raises(MediaFaultError, match=words) as fault:
        folder.take(make(folder.path, precious), MOST)
    assert len(str(fault.value)) < 400
    assert (precious / "file").read_bytes() == b"mine"


def test_a_file_is_taken_once_in_a_batch(folder: SharedFolder) -> None:
    file = folder.path / "picture.png"
    file.write_bytes(b"first")
    folder.take("picture.png", MOST)
    file.write_bytes(b"second")
    with pytest.raises(MediaFaultError, match="belongs to an earlier part"):
        folder.take("picture.png", MOST)


def test_the_next_batch_may_name_a_file_again(folder: SharedFolder) -> None:
    file = folder.path / "picture.png"
    file.write_bytes(b"first")
    folder.take("picture.png", MOST)
    folder.empty()
    file.write_bytes(b"second")
    assert folder.take("picture.png", MOST) == b"second"

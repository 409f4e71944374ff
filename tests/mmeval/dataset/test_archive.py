import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from mmeval.dataset.archive import unpacked
from mmeval.errors import MissingDataError, MmevalError, StorageError, UsageError
from tests.support.cli import environment, mmeval
from tests.support.task_folder import write_rows
from tests.support.toy import picture


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MMEVAL_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "archives"


def zipped(file: Path, **entries: bytes) -> Path:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            archive.writestr(f"images/{name}.png", data)
    return file


def entry(file: Path, name: str, mode: int = 0) -> Path:
    with zipfile.ZipFile(file, "w") as archive:
        info = zipfile.ZipInfo(name)
        info.external_attr = mode << 16
        archive.writestr(info, "/etc/hosts")
    return file


def cut(file: Path) -> Path:
    data = zipped(file, a=bytes(range(256)) * 40).read_bytes()
    file.write_bytes(data[: len(data) // 2])
    return file


def flipped(file: Path) -> Path:
    data = bytearray(zipped(file, a=b"words of a picture").read_bytes())
    data[45] ^= 0xFF
    file.write_bytes(data)
    return file


def test_an_archive_is_unpacked_once_and_again_when_it_has_changed(
    tmp_path: Path, cache: Path
) -> None:
    archive = zipped(tmp_path / "a.zip", one=b"1")
    folder = unpacked(archive)
    assert (folder / "images/one.png").read_bytes() == b"1"
    (folder / "images/one.png").write_bytes(b"seen")
    assert (unpacked(archive), (folder / "images/one.png").read_bytes()) == (
        folder,
        b"seen",
    )
    (tmp_path / "link.zip").symlink_to(archive)
    assert unpacked(tmp_path / "link.zip") == folder
    zipped(archive, one=b"1", two=b"22")
    assert unpacked(archive) != folder
    assert len(list(cache.iterdir())) == 2


@pytest.mark.parametrize(
    ("build", "error"),
    [
        (lambda file: file, MissingDataError),
        (cut, MissingDataError),
        (flipped, MissingDataError),
        (lambda file: entry(file, "../out.png"), UsageError),
        (lambda file: entry(file, "/out.png"), UsageError),
        (lambda file: entry(file, "a.png", stat.S_IFLNK | 0o777), UsageError),
        (lambda file: zipped(file, bomb=bytes(2**22)), UsageError),
    ],
    ids=["missing", "cut", "a bit", "above", "root", "a link", "a bomb"],
)
def test_nothing_is_kept_of_an_archive_that_cannot_be_used(
    tmp_path: Path,
    cache: Path,
    build: Callable[[Path], Path],
    error: type[MmevalError],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # else a bomb needs 200 MiB, which take a second to pack
    monkeypatch.setattr("mmeval.dataset.archive.MAX_RATIO", 2)
    with pytest.raises(error, match=r"a\.zip"):
        unpacked(build(tmp_path / "a.zip"))
    assert not cache.exists() or list(cache.iterdir()) == []
    assert not list(tmp_path.rglob("out.png"))


def test_a_disk_without_room_is_named_before_anything_is_written(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mmeval.dataset.archive.free_bytes", lambda folder: 3)
    with pytest.raises(StorageError, match="MMEVAL_CACHE_DIR"):
        unpacked(zipped(tmp_path / "a.zip", one=b"1234"))
    assert list(cache.iterdir()) == []


def test_prepare_unpacks_what_a_loader_opens(tmp_path: Path, cache: Path) -> None:
    rows = [{"input": [{"type": "image", "path": "images/one.png"}], "reference": "a"}]
    write_rows(tmp_path / "data", *rows)
    archive = zipped(tmp_path / "data/all.zip", one=picture().read())
    (tmp_path / "t.yaml").write_text(
        "task: t\ndataset_path: data\ndataset_kwargs: {media_archive: all.zip}\n"
        "expected: {media: {image: 1}}\n"
        "metric_list: [{metric: exact_match}]\nmetadata: {version: 1}\n"
    )
    env = environment(MMEVAL_CACHE_DIR=str(cache.parent))
    done = mmeval("prepare", "t", "--include_path", tmp_path, env=env)
    assert done.code == 0, done.out + done.err
    assert [*cache.iterdir()] == [unpacked(archive)]

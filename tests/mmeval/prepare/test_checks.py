import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from mmeval.content.media import Media
from mmeval.content.parts import Interleaved, Part
from mmeval.dataset.contract import DataSource
from mmeval.dataset.hub import HubFile
from mmeval.dataset.loaders.interleaved import load
from mmeval.decode.check import MediaLook
from mmeval.errors import UsageError
from mmeval.prepare.checks import MAX_NAMED, bounded, count, damaged, unexpected
from mmeval.records.sample import Sample, user
from mmeval.task.schema import ExpectedKeys
from tests.support.task_folder import write_rows
from tests.support.tiny_media import picture

CONTENT = b"content of a file"
LARGE = HubFile("a.bin", len(CONTENT), hashlib.sha256(CONTENT).hexdigest(), is_large=True)


@dataclass
class Rows:
    samples: list[Sample]
    error: Exception | None = None
    fingerprint: str = ""

    def __len__(self) -> int:
        return len(self.samples)

    def __iter__(self) -> Iterator[Sample]:
        yield from self.samples
        if self.error is not None:
            raise self.error


def pictured(*paths: Path) -> Sample:
    parts = tuple(Part("image", media=Media(path=path)) for path in paths)
    return Sample("s", input=(user("look"),), references=(Interleaved(parts),))


def test_a_medium_counts_once_however_many_rows_name_it(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_bytes(b"x")
    found = count(Rows([pictured(tmp_path / "a", tmp_path / "b"), pictured(tmp_path / "a")]), [])
    assert (found.rows, found.media, found.faults) == (2, {"image": 2}, [])


def test_empty_and_missing_media_are_named_each(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    empty, gone = count(Rows([pictured(tmp_path / "empty", tmp_path / "gone")]), []).faults
    assert empty.startswith(str(tmp_path / "empty")) and gone.startswith(str(tmp_path / "gone"))


def test_rows_that_cannot_be_read_are_named_each_where_the_loader_goes_on(tmp_path: Path) -> None:
    torn = {"input": "<<image1>>", "media": {"image1": "a.png"}}
    found = count(load(DataSource("t", write_rows(tmp_path, {"input": "q"}, torn, {"id": "x"}, {"input": "q"}))), [])
    assert [fault.partition("test.jsonl: ")[2].partition(":")[0] for fault in found.faults] == ["row 2", "row 3"]
    assert (found.rows, len(found.bad_marks), found.read) == (4, 2, True)


def test_what_is_wrong_with_a_sample_is_reported_once_and_its_media_are_not_counted(tmp_path: Path) -> None:
    bad = replace(pictured(tmp_path / "gone"), fault="row 1: its picture has gone")
    found = count(Rows([bad]), [])
    assert (found.rows, len(found.bad_marks), found.faults, found.media) == (1, 1, [bad.fault], {})
    found.samples["t"] = 1
    (fault,) = unexpected(ExpectedKeys(rows=5, media={"image": 1}), found, "t")
    assert fault.startswith("1 row is there")


@pytest.mark.parametrize("error", [UsageError("row 2 is odd"), RuntimeError("row 2 is odd")])
def test_a_row_that_cannot_be_read_ends_the_count(error: Exception) -> None:
    found = count(Rows([pictured()], error), [])
    assert (found.rows, found.read, found.faults[0].startswith("row 2 and")) == (1, False, True)
    assert [*unexpected(ExpectedKeys(rows=5), found, "t")] == [], "a count of a part is not compared"


@pytest.mark.parametrize(
    ("content", "fault"),
    [(CONTENT, ""), (None, "missing"), (CONTENT[:5], "5 bytes of 17"), (CONTENT[::-1], "its content")],
    ids=["sound", "missing", "cut off", "another content"],
)
def test_files_are_compared_with_those_of_the_hub(tmp_path: Path, content: bytes | None, fault: str) -> None:
    if content is not None:
        (tmp_path / "a.bin").write_bytes(content)
    found = list(damaged([LARGE], tmp_path))
    assert (len(found), fault in "".join(found)) == (bool(fault), True)


def test_of_a_damaged_link_its_target_is_to_be_deleted(tmp_path: Path) -> None:
    (tmp_path / "blob").write_bytes(bytes(len(CONTENT)))
    (tmp_path / "a.bin").symlink_to("blob")
    (fault,) = damaged([LARGE], tmp_path)
    assert f"delete {tmp_path.resolve() / 'blob'} and" in fault


def test_a_small_file_has_the_digest_that_git_gives_it(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"hello\n")
    of_git = "ce013625030ba8dba906f756967f9e9ca394464a"
    assert [*damaged([HubFile("a.bin", 6, of_git, is_large=False)], tmp_path)] == []


def test_faults_are_named_up_to_a_number_and_counted_behind_it() -> None:
    assert bounded(map(str, range(MAX_NAMED + 1500)), " (x)")[-2:] == ["9", "and 1,500 more like these (x)"]
    assert bounded(map(str, range(MAX_NAMED))) == [*map(str, range(MAX_NAMED))]


def test_damaged_media_are_named_each_once(tmp_path: Path) -> None:
    whole, cut, page = tmp_path / "whole.png", tmp_path / "cut.png", tmp_path / "page.png"
    whole.write_bytes(picture(size=(64, 64)))
    cut.write_bytes(whole.read_bytes()[:60])
    page.write_bytes(b"<!doctype html><html>not found</html>")
    found = count(Rows([pictured(whole, cut), pictured(cut, page)]), [], look=MediaLook())
    assert [(str(cut) in fault, str(page) in fault) for fault in found.faults] == [(True, False), (False, True)]
    assert count(Rows([pictured(cut)]), []).faults == [], "nothing is decoded unasked"

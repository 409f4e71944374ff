from __future__ import annotations

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

    found = count(Rows([pictured(tmp_path / "empty", tmp_path / "gone")]), [])

    assert [fault.partition(": ")[0].partition(" ")[0] for fault in found.faults] == [
        str(tmp_path / "empty"),
        str(tmp_path / "gone"),
    ]


def test_rows_that_cannot_be_read_are_named_each_where_the_loader_goes_on(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"input": "q"},
        {"input": "<<image1>>", "media": {"image1": "a.png"}},
        {"id": "x"},
        {"input": "q"},
    ]
    write_rows(tmp_path, *rows)

    found = count(load(DataSource("t", tmp_path)), [])

    assert [fault.partition("test.jsonl: ")[2] for fault in found.faults] == [
        'row 2: media image1 "a.png" is missing',
        'row 3: "input" is missing',
    ]
    assert (found.rows, len(found.bad_marks), found.read) == (4, 2, True)


def test_what_is_wrong_with_a_sample_is_told_once(tmp_path: Path) -> None:
    bad = replace(pictured(tmp_path / "gone"), fault="f.jsonl: row 1: its picture has gone")

    found = count(Rows([bad]), [])

    assert (found.rows, len(found.bad_marks), found.faults) == (1, 1, [bad.fault])


def test_rows_are_counted_where_some_cannot_be_asked_and_media_are_not_compared() -> None:
    bad = Sample("x", (), fault="row 1: its picture has gone")

    found = count(Rows([bad]), [])
    found.samples["t"] = 1

    expected = ExpectedKeys(rows=5, media={"image": 1})
    assert [*unexpected(expected, found, "t")] == [
        "1 row is there, the task file expects 5; fetch them again, or correct the file"
    ]


@pytest.mark.parametrize("error", [UsageError("row 2 is odd"), RuntimeError("row 2 is odd")])
def test_a_row_that_cannot_be_read_ends_the_count_and_is_told(error: Exception) -> None:
    found = count(Rows([pictured()], error), [])

    assert (found.rows, found.read) == (1, False)
    assert "row 2 and those after it cannot be read: " in found.faults[0]
    assert [*unexpected(ExpectedKeys(rows=5), found, "t")] == [], "a count of a part says nothing"


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (CONTENT, ""),
        (None, "it is missing"),
        (CONTENT[:5], "it has 5 bytes of 17"),
        (CONTENT[::-1], "its content is not that of the hub"),
    ],
    ids=["sound", "missing", "cut off", "another content"],
)
def test_files_are_compared_with_what_the_hub_says(tmp_path: Path, content: bytes | None, fault: str) -> None:
    if content is not None:
        (tmp_path / "a.bin").write_bytes(content)

    said = " ".join(damaged([LARGE], tmp_path))
    assert fault in said
    assert bool(said) is bool(fault)


def test_of_a_damaged_link_what_it_leads_to_is_to_be_deleted(tmp_path: Path) -> None:
    (tmp_path / "blob").write_bytes(bytes(len(CONTENT)))
    (tmp_path / "a.bin").symlink_to("blob")

    (fault,) = damaged([LARGE], tmp_path)

    assert f"delete {tmp_path.resolve() / 'blob'} and run the same command again" in fault


def test_a_small_file_has_the_digest_that_git_gives_it(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"hello\n")
    as_git_says = "ce013625030ba8dba906f756967f9e9ca394464a"

    assert [*damaged([HubFile("a.bin", 6, as_git_says, is_large=False)], tmp_path)] == []


def test_faults_are_named_up_to_a_number_and_counted_behind_it() -> None:
    named = bounded(str(number) for number in range(MAX_NAMED + 1500))

    assert named[-2:] == ["9", "and 1,500 more like these"]
    assert bounded(["one"]) == ["one"]


def test_damaged_media_are_named_each_once(tmp_path: Path) -> None:
    whole, cut, page = tmp_path / "whole.png", tmp_path / "cut.png", tmp_path / "page.png"
    whole.write_bytes(picture(size=(64, 64)))
    cut.write_bytes(whole.read_bytes()[:60])
    page.write_bytes(b"<!doctype html><html>not found</html>")

    found = count(Rows([pictured(whole, cut), pictured(cut, page)]), [], look=MediaLook())

    assert [(str(cut) in fault, str(page) in fault) for fault in found.faults] == [(True, False), (False, True)]
    assert all(fault.endswith("; fetch it again") for fault in found.faults)
    assert count(Rows([pictured(cut)]), []).faults == [], "nothing is decoded unasked"

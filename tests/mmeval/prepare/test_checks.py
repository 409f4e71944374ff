import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from mmeval.dataset.bad_sample import MAX_NAMED, bad_sample
from mmeval.dataset.contract import DataSource
from mmeval.dataset.hub import HubFile
from mmeval.dataset.loaders.interleaved import load
from mmeval.findings.finding import Subject
from mmeval.findings.from_error import PREPARE_DATA
from mmeval.media.media import Media
from mmeval.media.parts import Interleaved, Part
from mmeval.prepare.checks import (
    DataCounts,
    Mark,
    count,
    count_findings,
    damage_findings,
)
from mmeval.records.sample import Sample, user
from mmeval.task.schema import ExpectedKeys
from tests.support.task_folder import write_rows
from tests.support.tiny_media import picture

CONTENT = b"content of a file"
LARGE = HubFile(
    "a.bin", len(CONTENT), hashlib.sha256(CONTENT).hexdigest(), is_large=True
)


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


def seen(*samples: Sample) -> DataCounts:
    return count(Rows([*samples]), [])


def subjects(counts: DataCounts) -> list[str]:
    return [finding.subject.sample for finding in counts.findings]


def test_media_count_once_however_many_rows_name_them(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(picture())
    found = seen(pictured(tmp_path / "a", tmp_path / "b"), pictured(tmp_path / "a"))
    assert (found.rows, found.media, found.findings) == (2, {"image": 2}, [])


@pytest.mark.parametrize(
    ("content", "counted"),
    [
        (b"", {"image": 1}),
        (None, {}),
        (picture(size=(64, 64))[:60], {"image": 1}),
        (b"<!doctype html><html>not found</html>", {"image": 1}),
    ],
    ids=["empty", "missing", "cut", "a page"],
)
def test_a_damaged_medium_is_a_bad_sample_each_once(
    tmp_path: Path, content: bytes | None, counted: dict[str, int]
) -> None:
    file = tmp_path / "a.png"
    if content is not None:
        file.write_bytes(content)
    found = seen(pictured(file), pictured(file))
    (finding,) = found.findings
    assert (finding.kind, finding.severity) == ("bad_sample", "error")
    assert str(file) in finding.cause
    assert found.media == counted


def test_bad_rows_are_named_up_to_a_number_and_counted_behind_it(
    tmp_path: Path,
) -> None:
    torn: dict[str, Any] = {"input": "<<image1>>", "media": {"image1": "a.png"}}
    rows: list[dict[str, Any]] = [
        {"input": "q"},
        *[torn] * (MAX_NAMED + 3),
        {"id": "x"},
    ]
    found = count(load(DataSource("t", write_rows(tmp_path, *rows))), [])
    *named, more = found.findings
    assert (len(named), more.count, found.read) == (MAX_NAMED, 4, True)
    assert len(found.bad_marks) == MAX_NAMED + 4


def test_a_bad_sample_is_the_same_finding_as_anywhere(tmp_path: Path) -> None:
    bad = replace(pictured(tmp_path / "gone"), fault="row 1: its picture has gone")
    found = seen(bad)
    assert found.findings == [bad_sample("", bad)]
    assert found.media == {}, "its media are not counted"


def test_a_row_that_cannot_be_read_ends_the_count() -> None:
    found = count(Rows([pictured()], RuntimeError("row 2 is odd")), [])
    found.samples["t"] = 1
    assert (found.rows, found.read) == (1, False)
    assert subjects(found) == ["row 2 and later ones"]
    assert [*count_findings(ExpectedKeys(rows=5), found, "t")] == []


def test_numbers_that_differ_are_missing_data_or_another_definition() -> None:
    images: set[Mark] = {("image", f"{number}.png") for number in range(9)}
    found = DataCounts(rows=3, samples={"t": 3}, media_marks=images)
    expected = ExpectedKeys(rows=5, samples=3, media={"image": 4, "audio": 1})
    rows, pictures, sounds = count_findings(expected, found, "t")
    assert (rows.kind, rows.count, rows.of) == ("missing_data", 3, 5)
    assert rows.subject == Subject("t")
    assert (pictures.kind, pictures.count) == ("other_definition", 9)
    assert (sounds.kind, sounds.count, sounds.of) == ("missing_data", 0, 1)


def test_media_are_not_compared_beside_rows_that_cannot_be_asked() -> None:
    found = DataCounts(samples={"t": 0}, bad_marks={"a row"})
    assert [*count_findings(ExpectedKeys(media={"image": 4}), found, "t")] == []


@pytest.mark.parametrize(
    ("content", "kinds"),
    [
        (None, ["missing_data"]),
        (CONTENT, []),
        (CONTENT[:5], ["damaged"]),
        (CONTENT[::-1], ["damaged"]),
    ],
    ids=["missing", "sound", "cut", "other"],
)
def test_files_are_compared_with_those_of_the_hub(
    tmp_path: Path, content: bytes | None, kinds: list[str]
) -> None:
    if content is not None:
        (tmp_path / "a.bin").write_bytes(content)
    assert [finding.kind for finding in damage_findings([LARGE], tmp_path)] == kinds


def test_a_small_file_is_compared_by_the_digest_of_git(tmp_path: Path) -> None:
    (tmp_path / "b.bin").write_bytes(b"hello\n")
    of_git = "ce013625030ba8dba906f756967f9e9ca394464a"
    assert [
        *damage_findings([HubFile("b.bin", 6, of_git, is_large=False)], tmp_path)
    ] == []


def test_a_damaged_link_is_mended_at_its_target(tmp_path: Path) -> None:
    (tmp_path / "blob").write_bytes(CONTENT[:5])
    (tmp_path / "a.bin").symlink_to("blob")
    (finding,) = damage_findings([LARGE], tmp_path)
    blob = tmp_path.resolve() / "blob"
    assert finding.remedy == f"rm {blob} && {PREPARE_DATA}"


def candidates(*parts: Part, id: str = "s") -> Sample:
    return Sample(id, (user("?"),), candidates=tuple(Interleaved((p,)) for p in parts))


def test_candidates_whose_file_is_missing_are_counted_by_kind(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(picture())
    there = Part("image", media=Media(path=tmp_path / "a.png"))
    whole = candidates(there, there, id="whole")
    torn = candidates(there, Part("image"), Part("image"), Part("video"), id="torn")
    found = seen(whole, torn, torn)
    assert [(one.kind, one.count, one.of) for one in found.findings] == [
        ("missing_data", 4, 8),
        ("missing_data", 2, 2),
    ]
    assert subjects(found) == ["torn", "torn"]


def test_a_tag_in_the_text_of_a_candidate_is_not_a_missing_file() -> None:
    tag = Interleaved.from_text("not <<image1>>")
    assert seen(Sample("s", (user("?"),), candidates=(tag,))).findings == []


def test_a_label_is_summed_over_all_rows() -> None:
    rows = [Sample(str(at), (user("?"),), metadata={"criteria": at}) for at in range(4)]
    odd = [
        Sample("x", (user("?"),)),
        Sample("y", (user("?"),), metadata={"criteria": "7"}),
    ]
    found = count(Rows([*rows, *odd]), [], totals=["criteria"])
    assert found.totals == {"criteria": 6}
    found.samples["t"] = 6
    (finding,) = count_findings(ExpectedKeys(totals={"criteria": 7}), found, "t")
    assert (finding.kind, finding.count, finding.of) == ("missing_data", 6, 7)

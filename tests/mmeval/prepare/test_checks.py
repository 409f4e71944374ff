import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from mmeval.content.media import Media
from mmeval.content.parts import Interleaved, Part
from mmeval.dataset.contract import DataSource
from mmeval.dataset.hub import HubFile
from mmeval.dataset.loaders.interleaved import load
from mmeval.decode.check import MediaLook
from mmeval.prepare.checks import MAX_NAMED, bounded, count, damaged, unexpected
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


def test_media_count_once_however_many_rows_name_them_and_empty_and_missing_ones_are_named(
    tmp_path: Path,
) -> None:
    for name, content in {"a": b"x", "b": b"x", "empty": b""}.items():
        (tmp_path / name).write_bytes(content)
    found = count(
        Rows([pictured(tmp_path / "a", tmp_path / "b"), pictured(tmp_path / "a")]), []
    )
    assert (found.rows, found.media, found.faults) == (2, {"image": 2}, [])
    empty, gone = count(
        Rows([pictured(tmp_path / "empty", tmp_path / "gone")]), []
    ).faults
    assert empty.startswith(str(tmp_path / "empty")) and gone.startswith(
        str(tmp_path / "gone")
    )


def test_rows_that_cannot_be_read_are_named_up_to_a_number_and_counted_behind_it(
    tmp_path: Path,
) -> None:
    torn = {"input": "<<image1>>", "media": {"image1": "a.png"}}
    found = count(
        load(
            DataSource(
                "t",
                write_rows(tmp_path, {"input": "q"}, torn, {"id": "x"}, {"input": "q"}),
            )
        ),
        [],
    )
    assert [
        fault.partition("test.jsonl: ")[2].partition(":")[0] for fault in found.faults
    ] == ["row 2", "row 3"]
    assert (found.rows, len(found.bad_marks), found.read) == (4, 2, True)
    assert bounded(map(str, range(MAX_NAMED + 1500)), " (x)")[-2:] == [
        "9",
        "and 1,500 more like these (x)",
    ]
    assert bounded(map(str, range(MAX_NAMED))) == [*map(str, range(MAX_NAMED))]


def test_a_sample_that_is_wrong_is_reported_once_and_a_row_that_cannot_be_read_ends_the_count(
    tmp_path: Path,
) -> None:
    bad = replace(pictured(tmp_path / "gone"), fault="row 1: its picture has gone")
    found = count(Rows([bad]), [])
    assert (found.rows, len(found.bad_marks), found.faults, found.media) == (
        1,
        1,
        [bad.fault],
        {},
    )
    found.samples["t"] = 1
    (fault,) = unexpected(ExpectedKeys(rows=5, media={"image": 1}), found, "t")
    assert fault.startswith("1 row is there")
    found = count(Rows([pictured()], RuntimeError("row 2 is odd")), [])
    assert (found.rows, found.read, found.faults[0].startswith("row 2 and")) == (
        1,
        False,
        True,
    )
    assert [*unexpected(ExpectedKeys(rows=5), found, "t")] == [], (
        "a count of a part is not compared"
    )


def test_files_are_compared_with_those_of_the_hub(tmp_path: Path) -> None:
    faults = []
    for content in (b"", CONTENT, CONTENT[:5], CONTENT[::-1]):
        if content:
            (tmp_path / "a.bin").write_bytes(content)
        faults.append("".join(damaged([LARGE], tmp_path)))
    gone, sound, cut, other = faults
    assert ("missing" in gone, sound, "5 bytes of 17" in cut, "content" in other) == (
        True,
        "",
        True,
        True,
    )
    (tmp_path / "a.bin").rename(tmp_path / "blob")
    (tmp_path / "a.bin").symlink_to("blob")
    (fault,) = damaged([LARGE], tmp_path)
    assert f"delete {tmp_path.resolve() / 'blob'} and" in fault
    (tmp_path / "b.bin").write_bytes(b"hello\n")
    of_git = "ce013625030ba8dba906f756967f9e9ca394464a"
    assert [*damaged([HubFile("b.bin", 6, of_git, is_large=False)], tmp_path)] == []


def test_damaged_media_are_named_each_once(tmp_path: Path) -> None:
    whole = tmp_path / "whole.png"
    cut = tmp_path / "cut.png"
    page = tmp_path / "page.png"
    whole.write_bytes(picture(size=(64, 64)))
    cut.write_bytes(whole.read_bytes()[:60])
    page.write_bytes(b"<!doctype html><html>not found</html>")
    found = count(
        Rows([pictured(whole, cut), pictured(cut, page)]), [], look=MediaLook()
    )
    assert [(str(cut) in fault, str(page) in fault) for fault in found.faults] == [
        (True, False),
        (False, True),
    ]
    assert count(Rows([pictured(cut)]), []).faults == [], "nothing is decoded unasked"


def candidates(*parts: Part, id: str = "s") -> Sample:
    return Sample(id, (user("?"),), candidates=tuple(Interleaved((p,)) for p in parts))


def test_candidates_whose_file_is_missing_are_counted_by_kind(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(picture())
    there = Part("image", media=Media(path=tmp_path / "a.png"))
    whole = candidates(there, there, id="whole")
    torn = candidates(there, Part("image"), Part("image"), Part("video"), id="torn")
    found = count(Rows([whole, torn, torn]), [])
    image, video = found.faults
    assert image.startswith("4 of 8 image candidates are missing")
    assert video.startswith("2 of 2 video candidates are missing")
    assert ("'torn'" in image, len(found.torn_marks)) == (True, 1)
    assert count(Rows([whole]), []).faults == []


def test_a_tag_in_the_text_of_a_candidate_is_no_missing_file() -> None:
    tag = Interleaved.from_text("not <<image1>>")
    sample = Sample("s", (user("?"),), candidates=(tag,))
    assert count(Rows([sample]), []).faults == []


def test_a_label_is_summed_over_all_rows_and_compared() -> None:
    rows = [Sample(str(at), (user("?"),), metadata={"criteria": at}) for at in range(4)]
    odd = [
        Sample("x", (user("?"),)),
        Sample("y", (user("?"),), metadata={"criteria": "7"}),
    ]
    found = count(Rows([*rows, *odd]), [], totals=["criteria"])
    assert found.totals == {"criteria": 6}
    found.samples["t"] = 6
    assert [*unexpected(ExpectedKeys(totals={"criteria": 6}), found, "t")] == []
    (fault,) = unexpected(ExpectedKeys(totals={"criteria": 7}), found, "t")
    assert ("6 criteria" in fault, "7" in fault) == (True, True)

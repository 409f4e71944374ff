import base64
import json
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mmeval.dataset.bad_sample import rows_of
from mmeval.dataset.contract import BadRow, DataSource
from mmeval.dataset.loaders.interleaved import InterleavedDataset, MediaFolder, load
from mmeval.errors import UnknownNameError, UsageError
from mmeval.records.sample import Sample, user
from tests.support import tiny_media

PNG = b"\x89PNG\r\n\x1a\n"


def dataset(folder: Path, *rows: Any, **options: Any) -> InterleavedDataset:
    """The rows as ``test.jsonl``, with one picture, ``img/a.png``."""
    (folder / "img").mkdir(parents=True, exist_ok=True)
    (folder / "img/a.png").write_bytes(PNG)
    (folder / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return load(DataSource("t", folder, options=options))


def sample(folder: Path, row: Any) -> Sample:
    """The sample of a row; it has a fault if it cannot be asked."""
    (only,) = rows_of(dataset(folder, row))
    return only


def picture(path: str) -> dict[str, Any]:
    return {"input": [{"type": "image", "path": path}]}


def read(sample: Sample) -> bytes:
    return sample.input[0].content.media()[0].read()


def test_rows_are_counted_by_the_labels_that_are_known_of_them(tmp_path: Path) -> None:
    rows = [{"input": "?", "level": level} for level in ("easy", "hard", "hard", None)]
    files = dataset(tmp_path, *rows, 7).files

    def known(row: Mapping[str, Any]) -> dict[str, str]:
        return {"level": row["level"]} if row["level"] else {}

    counted = InterleavedDataset(files=files, root=tmp_path, labels=known)
    assert list(counted.label_counts()) == [
        ({"level": "easy"}, 1),
        ({"level": "hard"}, 2),
        ({}, 2),
    ]
    assert list(dataset(tmp_path, *rows).label_counts()) == [({}, 4)]


def test_a_whole_row_becomes_a_sample(tmp_path: Path) -> None:
    references = [
        "a hare",
        {"text": "see <<image2>>", "media": {"image2": "img/a.png"}},
    ]
    row = {
        "id": 7,
        "input": "Describe <<image1>>",
        "media": {"image1": "img/a.png"},
        "references": references,
    }
    actual = sample(tmp_path, {**row, "difficulty": "hard", "order": ["ti"]})
    assert (actual.id, actual.metadata) == (
        "7",
        {"difficulty": "hard", "order": ["ti"]},
    )
    (message,) = actual.input
    assert (message.role, message.content.raw, read(actual)) == (
        "user",
        "Describe <<image1>>",
        PNG,
    )
    assert [reference.raw for reference in actual.references] == [
        "a hare",
        "see <<image2>>",
    ]
    assert actual.references[1].media()[0].path == tmp_path / "img/a.png"


def test_references_may_be_one_several_or_none(tmp_path: Path) -> None:
    single_references: list[Any] = [
        {"reference": "a"},
        {"reference": [{"type": "text", "text": "a"}]},
        {"references": ["a", "b"]},
    ]
    rows = [
        *single_references,
        {"references": []},
        {},
        {"references": None, "reference": None},
    ]
    references = [sample(tmp_path, {"input": "x", **row}).references for row in rows]
    assert [[part.raw for part in contents] for contents in references] == [
        ["a"],
        ["a"],
        ["a", "b"],
        [],
        [],
        [],
    ]


def test_candidates_are_contents_and_no_label(tmp_path: Path) -> None:
    candidates = ["x", [{"type": "image", "path": "img/a.png"}], "<<image1>>"]
    actual = sample(
        tmp_path,
        {"input": "x", "candidates": candidates, "media": {"image1": "img/a.png"}},
    )
    assert [[part.kind for part in content.parts] for content in actual.candidates] == [
        ["text"],
        ["image"],
        ["image"],
    ]
    assert (actual.metadata, actual.references) == ({}, ())
    plain = sample(tmp_path, {"input": "x", "candidates": None})
    assert (plain.candidates, "candidates" in plain.to_json()) == ((), False)


def test_rows_are_counted_read_twice_one_by_one_and_go_by_their_number(
    tmp_path: Path,
) -> None:
    rows = dataset(
        tmp_path, {"input": "a"}, {"id": "own", "input": "b"}, {"input": "c"}
    )
    assert (
        len(rows),
        *([actual.id for actual in rows_of(rows)] for _ in range(2)),
    ) == (
        3,
        *(["1", "own", "3"],) * 2,
    )
    before = rows.fingerprint
    rows = dataset(
        tmp_path,
        {"input": "good"},
        {"input": {"text": "x", "media": {"image1": "img/gone.png"}}},
    )
    assert (next(rows_of(rows)).id, rows.fingerprint != before) == ("1", True)


@pytest.mark.parametrize(
    ("row", "word"),
    [
        (
            {"input": "x", "references": ["a", [{"type": "image", "path": "b.png"}]]},
            'references[1][0] "b.png" is',
        ),
        (
            {"input": "x", "candidates": ["a", [{"type": "image", "path": "b.png"}]]},
            'candidates[1][0] "b.png" is',
        ),
        ({"input": "x", "candidates": "Ada, Grace"}, "rename it"),
        (picture("img/link.png"), "input[0] 'img/link.png'"),
        (picture("a" * 9000), "input[0]"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_what_is_wrong_with_a_row_has_its_file_row_and_place(
    tmp_path: Path, row: Any, word: str
) -> None:
    rows = dataset(tmp_path, {"input": "good"}, row)
    (tmp_path / "img/link.png").symlink_to("/etc/passwd")
    _, bad = rows
    assert isinstance(bad, BadRow)
    assert bad.where == f"{tmp_path / 'test.jsonl'}: row 2"
    assert word in bad.reason


def test_paths_start_from_the_row_file_or_the_named_folder(tmp_path: Path) -> None:
    dataset(tmp_path, picture("a.png"))
    (tmp_path / "img/test.jsonl").write_text(json.dumps(picture("a.png")))
    by_row_file = load(DataSource("t", tmp_path, name="img"))
    by_option = load(DataSource("t", tmp_path, options={"media_folder": "img"}))
    assert [read(next(rows_of(rows))) for rows in (by_row_file, by_option)] == [
        PNG,
        PNG,
    ]


def test_media_of_an_archive_are_found_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MMEVAL_CACHE_DIR", str(tmp_path / "cache"))
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("in/a.png", PNG)
    for path, options in (("in/a.png", {}), ("a.png", {"media_folder": "in"})):
        rows = dataset(tmp_path, picture(path), media_archive="all.zip", **options)
        assert read(next(rows_of(rows))) == PNG
    (outside,) = dataset(tmp_path, picture("img/a.png"), media_archive="all.zip")
    assert isinstance(outside, BadRow)
    with pytest.raises(UsageError):
        dataset(tmp_path, picture("a.png"), media_archive="../all.zip")


def test_links_of_a_hub_snapshot_lead_to_its_own_blobs_only(tmp_path: Path) -> None:
    folder = tmp_path / "datasets--me--tiny" / "snapshots" / "abc"
    rows = dataset(folder, picture("img/blob.png"))
    blobs = folder.parent.parent / "blobs"
    blobs.mkdir()
    (blobs / "0123").write_bytes(PNG)
    (folder / "img/blob.png").symlink_to("../../../blobs/0123")
    assert read(next(rows_of(rows))) == PNG
    assert "inside" in sample(folder, picture("../../blobs/0123")).fault


def test_another_spelling_is_read_when_the_task_asks_so_and_unknown_options_are_refused(
    tmp_path: Path,
) -> None:
    rows = dataset(
        tmp_path,
        {"input": "see #image1#", "media": {"image1": "img/a.png"}},
        spellings=["hash"],
    )
    assert [part.kind for part in next(rows_of(rows)).input[0].content.parts] == [
        "text",
        "image",
    ]
    for options, near in (
        ({"datafile": "x"}, '"data_file"'),
        ({"spellings": ["tags"]}, '"tag"'),
    ):
        with pytest.raises(UnknownNameError, match=near):
            dataset(tmp_path, {"input": "x"}, **options)


@pytest.mark.parametrize(
    ("cell", "count"),
    [("a.png", 1), (["a.png", "a.png"], 2), ([{"path": "a.png"}], 1)],
)
def test_columns_of_paths_are_media_where_the_task_says_so(
    tmp_path: Path, cell: Any, count: int
) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    tags = "".join(f"<<image{number}>>" for number in range(1, count + 1))
    row = {"input": "draw", "reference": f"see {tags}", "drawn": cell, "level": 1}
    (actual,) = rows_of(dataset(tmp_path, row, media={"drawn": "images"}))
    assert (
        [medium.read() for medium in actual.references[0].media("image")],
        actual.metadata,
    ) == (
        [PNG] * count,
        {"level": 1},
    )


def test_media_beside_such_a_column_are_a_mapping(tmp_path: Path) -> None:
    row = {"input": "draw", "drawn": "a.png", "media": ["a.png"]}
    (actual,) = rows_of(dataset(tmp_path, row, media={"drawn": "images"}))
    assert 'row 1: "media" is a list' in actual.fault


@pytest.mark.parametrize("media", [["drawn"], {"drawn": "pictures"}, {"drawn": 1}])
def test_what_a_column_holds_is_a_kind_with_a_number_or_its_plural(
    tmp_path: Path, media: Any
) -> None:
    with pytest.raises(UsageError, match="dataset_kwargs: media"):
        dataset(tmp_path, {"input": "x"}, media=media)


def test_a_json_file_holds_one_list_of_rows(tmp_path: Path) -> None:
    long = f'{{"input": "b", "label": {"7" * 5000}}}'
    (tmp_path / "test.json").write_text(
        f'[{{"input": "a"}},\n {{"no": "input"}}, {{"input": "c"}}, {long}, '
        f'{{"input": "e"}}]'
    )
    rows = load(DataSource("t", tmp_path))
    samples = list(rows_of(rows))
    assert len(rows) == 5
    assert [sample.id for sample in samples if not sample.fault] == ["1", "3", "5"]
    assert "test.json: row 2" in samples[1].fault
    assert "4,300 digits" in samples[3].fault
    (tmp_path / "test.json").write_text('{"input": "a"}')
    with pytest.raises(UsageError, match=r"test\.json"):
        list(load(DataSource("t", tmp_path)))


CODE = base64.b64encode(tiny_media.picture(size=(20, 20))).decode()


@pytest.mark.parametrize(
    "medium",
    [
        CODE,
        {"url": f"data:image/png;base64,{CODE}"},
    ],
    ids=["base64", "a mapping"],
)
def test_a_medium_may_stand_in_its_row(tmp_path: Path, medium: Any) -> None:
    row = {"input": "See <<image1>>", "media": {"image1": medium}}
    assert read(sample(tmp_path, row)) == tiny_media.picture(size=(20, 20))


def test_a_sound_of_numbers_is_a_medium(tmp_path: Path) -> None:
    sound = {"array": [0.0, 0.5], "sampling_rate": 8000}
    row = {"input": "Hear <<audio1>>", "media": {"audio1": sound}}
    assert sample(tmp_path, row).input[0].content.media()[0].mime == "audio/wav"


def test_base64_in_a_text_is_a_fault_of_its_row(tmp_path: Path) -> None:
    assert "media" in sample(tmp_path, {"input": f"See {CODE}"}).fault


def test_messages_are_read_in_place_of_an_input(tmp_path: Path) -> None:
    messages = [
        {"role": "user", "content": "Which tree is <image>?"},
        {"role": "assistant", "content": "An oak."},
    ]
    row = {"messages": messages, "media": {"image1": "img/a.png"}, "level": "easy"}
    actual = sample(tmp_path, row)
    assert [part.kind for part in actual.input[0].content.parts] == [
        "text",
        "image",
        "text",
    ]
    assert [reference.raw for reference in actual.references] == ["An oak."]
    assert actual.metadata == {"level": "easy"}


def test_a_reference_of_the_row_goes_before_the_assistant_s_message(
    tmp_path: Path,
) -> None:
    messages = [
        {"role": "user", "content": "Which?"},
        {"role": "assistant", "content": "An ash."},
    ]
    actual = sample(tmp_path, {"messages": messages, "reference": "An oak."})
    assert [reference.raw for reference in actual.references] == ["An oak."]


def test_a_reference_may_name_a_medium_that_no_message_names(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "Which picture?"}]
    row = {"messages": messages, "media": {"image1": "img/a.png"}}
    actual = sample(tmp_path, {**row, "reference": "<<image1>>"})
    assert len(actual.references[0].media("image")) == 1
    assert "image1" in sample(tmp_path, row).fault


def test_messages_beside_an_input_are_a_label(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "Which?"}]
    actual = sample(tmp_path, {"input": "q", "messages": messages})
    assert actual.metadata == {"messages": messages}


@pytest.mark.parametrize(
    ("messages", "word"),
    [
        ([], "messages is empty"),
        ([{"role": "user"}], "messages[0] is not a message"),
        ([{"role": "usr", "content": "x"}], "'usr'"),
    ],
)
def test_what_is_wrong_with_messages_is_named(
    tmp_path: Path, messages: Any, word: str
) -> None:
    assert word in sample(tmp_path, {"messages": messages}).fault


def test_a_reader_of_rows_that_exits_costs_its_row_alone(tmp_path: Path) -> None:
    def read(row: Mapping[str, Any], position: str, resolve: MediaFolder) -> Sample:
        if position == "1":
            sys.exit("no")
        return Sample(position, (user("q"),))

    file = tmp_path / "test.jsonl"
    file.write_text("{}\n{}\n")
    bad, good = InterleavedDataset(files=[file], root=tmp_path, read=read)
    assert isinstance(bad, BadRow)
    assert bad.reason == "SystemExit: no"
    assert isinstance(good, Sample)

import base64
from pathlib import Path
from typing import Any

import pytest

from mmeval.dataset.bad_sample import rows_of
from mmeval.dataset.contract import DataSource
from mmeval.dataset.loaders.tsv import TsvDataset, load
from mmeval.errors import MissingDataError, UnknownNameError, UsageError
from mmeval.records.sample import Sample
from tests.support.task_folder import write_files
from tests.support.tiny_media import picture

OAK, ASH = picture(size=(20, 20)), picture(size=(30, 30))
CODE = base64.b64encode(OAK).decode()
OTHER = base64.b64encode(ASH).decode()
HEAD = "index\timage\tquestion\tA\tB\tanswer\n"


def opened(folder: Path, text: str, **options: Any) -> TsvDataset:
    write_files(folder, {"test.tsv": text})
    return load(DataSource("t", folder, options=options))


def first(dataset: TsvDataset) -> Sample:
    return next(rows_of(dataset))


def test_a_row_is_a_question_with_its_picture_and_options(tmp_path: Path) -> None:
    sample = first(opened(tmp_path, f"{HEAD}7\t{CODE}\tWhich?\toak\tash\tA\n"))
    parts = [part.text or part.kind for part in sample.input[0].content.parts]
    assert parts == ["image", "Which?\nA. oak\nB. ash"]
    assert (sample.id, sample.references[0].text) == ("7", "A")
    assert sample.metadata["options"] == {"A": "oak", "B": "ash"}


def test_an_index_stands_for_the_picture_of_its_row(tmp_path: Path) -> None:
    rows = f"9\t7\tAgain?\toak\tash\tB\n7\t{CODE}\tWhich?\toak\tash\tA\n"
    samples = list(rows_of(opened(tmp_path, HEAD + rows)))
    media = [sample.input[0].content.media("image") for sample in samples]
    assert [medium[0].read() for medium in media] == [OAK, OAK]


def test_a_list_holds_several_pictures(tmp_path: Path) -> None:
    row = f"1\t['{CODE}', '{OTHER}']\tWhich?\t\t\tA\n"
    sample = first(opened(tmp_path, HEAD + row))
    media = sample.input[0].content.media("image")
    assert [medium.read() for medium in media] == [OAK, ASH]


@pytest.mark.parametrize(
    ("cell", "count"), [("oak.png", 1), ("['oak.png', 'img/ash.png']", 2)]
)
def test_pictures_are_read_by_their_paths(
    tmp_path: Path, cell: str, count: int
) -> None:
    (tmp_path / "img").mkdir()
    (tmp_path / "oak.png").write_bytes(OAK)
    (tmp_path / "img/ash.png").write_bytes(ASH)
    text = f"index\timage_path\tquestion\tanswer\n1\t{cell}\tWhich?\toak\n"
    sample = first(opened(tmp_path, text))
    assert len(sample.input[0].content.media("image")) == count


def test_paths_start_in_the_folder_of_media(tmp_path: Path) -> None:
    (tmp_path / "img").mkdir()
    (tmp_path / "img/oak.png").write_bytes(OAK)
    text = "index\timage_path\tquestion\tanswer\n1\toak.png\tWhich?\toak\n"
    sample = first(opened(tmp_path, text, media_folder="img"))
    assert len(sample.input[0].content.media("image")) == 1


def test_columns_say_otherwise(tmp_path: Path) -> None:
    columns = {"input": "{{ question }} {{ image }}", "reference": "{{ B }}"}
    row = f"1\t{CODE}\tWhich?\toak\tash\tA\n"
    sample = first(opened(tmp_path, HEAD + row, columns=columns))
    parts = [part.text or part.kind for part in sample.input[0].content.parts]
    assert (parts, sample.references[0].text) == (["Which? ", "image"], "ash")


def test_a_cell_may_have_tabs_and_lines_within_quotes(tmp_path: Path) -> None:
    rows = f'1\t{CODE}\t"Which\none,\tsay?"\toak\tash\tA\n2\t1\tX?\toak\tash\tB\n'
    samples = list(rows_of(opened(tmp_path, HEAD + rows)))
    assert samples[0].metadata["question"] == "Which\none,\tsay?"
    assert len(samples[1].input[0].content.media("image")) == 1


@pytest.mark.parametrize(
    ("cell", "word"),
    [
        ("404", "the index of a row"),
        ("../up.png", "the index of a row"),
        (f"{CODE}!", "damaged"),
        (f"['{CODE}' '{CODE}']", "comma"),
        ("2", "row without a picture"),
    ],
)
def test_a_picture_that_cannot_be_read_is_a_fault_of_its_row(
    tmp_path: Path, cell: str, word: str
) -> None:
    rows = f"1\t{cell}\tWhich?\toak\tash\tA\n2\t\tWhich?\toak\tash\tB\n"
    faulty, sound = rows_of(opened(tmp_path, HEAD + rows))
    assert (word in faulty.fault, sound.fault) == (True, "")


def test_a_row_with_too_many_cells_is_a_fault_of_its_own(tmp_path: Path) -> None:
    rows = f"1\t{CODE}\tq\ta\tb\tA\tmore\n2\t{CODE}\tq\ta\tb\tA\n"
    faulty, sound = rows_of(opened(tmp_path, HEAD + rows))
    assert ("7 cells" in faulty.fault, sound.fault) == (True, "")


def test_the_rows_are_counted_without_blank_lines(tmp_path: Path) -> None:
    assert len(opened(tmp_path, f"{HEAD}1\t\tq\ta\tb\tA\n\n2\t\tq\ta\tb\tB\n")) == 2


def test_another_row_is_another_fingerprint(tmp_path: Path) -> None:
    marks = {
        opened(tmp_path, f"{HEAD}1\t\t{question}\ta\tb\tA\n").fingerprint
        for question in ("q", "q", "r")
    }
    assert len(marks) == 2


def test_a_missing_file_is_named_with_those_that_there_are(tmp_path: Path) -> None:
    write_files(tmp_path, {"dev.tsv": HEAD})
    with pytest.raises(MissingDataError, match=r"dev\.tsv"):
        load(DataSource("t", tmp_path))


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"media_columns": ["picture"]}, UnknownNameError),
        ({"media_colums": []}, UnknownNameError),
        ({"data_file": "../up.tsv"}, UsageError),
    ],
)
def test_what_does_not_exist_is_refused(
    tmp_path: Path, options: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        opened(tmp_path, f"{HEAD}1\t\tq\ta\tb\tA\n", **options)


@pytest.mark.parametrize("text", ["", "index\tquestion\n1\t\udcff\n"])
def test_a_file_that_is_no_tsv_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "test.tsv").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(UsageError, match=r"test\.tsv"):
        list(load(DataSource("t", tmp_path)))

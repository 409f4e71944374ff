import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mmeval.dataset.bad_sample import rows_of
from mmeval.dataset.contract import DataSource
from mmeval.errors import MissingDataError, UnknownNameError
from mmeval.records.sample import Sample
from mmeval.tasks import ueval
from mmeval.tasks.ueval.loader import load
from tests.support.tiny_media import picture

BUNDLED = Path(ueval.__file__).parent / "bundled"
OLDER: dict[str, Any] = {
    "id": "art_3",
    "prompt": "How do I draw a kite?",
    "text_ref": "1. Draw <<image1>>.",
    "image_ref": ["img/a.png", "img/b.png"],
    "task_type": "art",
    "question_type": "open",
    "text_rubrics": [{"criterion": "A kite.", "tags": ["content"]}],
    "image_rubrics": [
        {"criterion": "It is red.", "tags": [], "type": "image"},
        {"criterion": "It flies.", "tags": []},
    ],
}
NEWER = {
    **OLDER,
    "id": 7,
    "task": " Life",
    "text_rubrics": ["A kite."],
    "image_rubrics": ["It is red.", "It flies."],
}
NEWER = {
    key: value
    for key, value in NEWER.items()
    if key not in ("task_type", "question_type")
}


def samples(folder: Path, *rows: Any, form: str = "jsonl") -> list[Sample]:
    (folder / "img").mkdir(exist_ok=True)
    for name in ("a", "b"):
        (folder / "img" / f"{name}.png").write_bytes(picture())
    lines = [json.dumps(row) for row in rows]
    (folder / f"test.{form}").write_text(
        f"[{', '.join(lines)}]" if form == "json" else "\n".join(lines)
    )
    return list(read(folder))


def read(folder: Path) -> Iterator[Sample]:
    return rows_of(load(DataSource("ueval_art", folder)))


def test_the_rows_of_each_task_are_counted(tmp_path: Path) -> None:
    samples(tmp_path, OLDER, NEWER, OLDER, {**OLDER, "task_type": "cooking"})
    counts = load(DataSource("ueval_art", tmp_path)).label_counts()
    assert list(counts) == [
        ({"ueval_task": "art"}, 2),
        ({"ueval_task": "life"}, 1),
        ({}, 1),
    ]


@pytest.mark.parametrize("form", ["jsonl", "json"])
@pytest.mark.parametrize(
    ("row", "id", "task"),
    [(OLDER, "art_3", "art"), (NEWER, "7", "life")],
    ids=["older", "newer"],
)
def test_both_published_forms_are_read_and_no_label_is_lost(
    form: str, row: dict[str, Any], id: str, task: str, tmp_path: Path
) -> None:
    (sample,) = samples(tmp_path, row, form=form)
    assert (
        sample.id,
        sample.fault,
        [message.content.text for message in sample.input],
    ) == (id, "", [row["prompt"]])
    (reference,) = sample.references
    assert [(part.kind, part.text) for part in reference.parts] == [
        ("text", row["text_ref"]),
        *[("image", None)] * 2,
    ]
    kept = {
        key: value
        for key, value in row.items()
        if key not in ("id", "prompt", "text_ref", "image_ref")
    }
    assert sample.metadata == {**kept, "ueval_task": task, "criteria": 3}


def test_the_hub_form_holds_pictures_in_its_rows(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    (tmp_path / "data").mkdir()
    held = [
        {"bytes": picture(colour=shade), "path": f"{shade}.png"} for shade in (1, 2)
    ]
    rows = [
        {**NEWER, "image_ref": held},
        {**NEWER, "id": 8, "image_ref": [], "text_ref": None},
    ]
    parquet.write_table(
        arrow.Table.from_pylist(rows), tmp_path / "data" / "test-00000-of-00001.parquet"
    )
    first, second = read(tmp_path)
    assert [medium.read() for medium in first.references[0].media("image")] == [
        one["bytes"] for one in held
    ]
    assert (second.references, second.metadata["ueval_task"]) == ((), "life")


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"task_type": "cooking", "question_type": None}, "'cooking'"),
        ({"prompt": " "}, '"prompt"'),
        ({"prompt": ["x"]}, '"prompt"'),
        ({"text_rubrics": "A kite."}, "'text_rubrics'"),
        ({"image_rubrics": [{"text": "It is red."}]}, "criterion 1"),
        ({"image_ref": ["img/c.png"]}, "img/c.png"),
        ({"image_ref": ["../c.png"]}, "inside"),
        ({"id": True}, '"id"'),
    ],
)
def test_a_bad_row_costs_itself_alone_and_is_asked_of_the_task_that_it_names(
    change: dict[str, Any], word: str, tmp_path: Path
) -> None:
    bad, good = samples(tmp_path, {**OLDER, **change}, NEWER)
    assert (word in bad.fault, "test.jsonl: row 1" in bad.fault, good.fault) == (
        True,
        True,
        "",
    )
    assert bad.metadata.get("ueval_task") in (None, "art")


def test_a_row_of_an_unknown_task_with_its_kind_is_read_and_is_of_none_of_the_eight(
    tmp_path: Path,
) -> None:
    (sample,) = samples(tmp_path, {**OLDER, "task_type": "cooking"})
    assert (sample.fault, sample.metadata["ueval_task"]) == ("", "cooking")


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError):
        load(DataSource("ueval_art", tmp_path))
    with pytest.raises(UnknownNameError, match="data_file"):
        load(DataSource("ueval_art", BUNDLED, options={"data_files": "x"}))


def test_the_bundled_rows_have_every_task_both_forms_and_a_side_without_criteria() -> (
    None
):
    rows = list(read(BUNDLED))
    assert not any(sample.fault for sample in rows)
    assert len({sample.metadata["ueval_task"] for sample in rows}) == 8
    rubrics = [
        sample.metadata[side]
        for sample in rows
        for side in ("text_rubrics", "image_rubrics")
    ]
    assert {type(one) for side in rubrics for one in side} == {str, dict}
    assert [] in rubrics
    assert all(sample.references[0].media("image") for sample in rows)

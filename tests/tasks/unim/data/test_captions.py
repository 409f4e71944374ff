import logging
from pathlib import Path
from typing import Any

import pytest

from tests.support.unim import unim_row, unim_samples, write_captions, write_records

OTHER, PHYSICS = "natural_science/1_math/all.jsonl", "natural_science/2_physics/a.jsonl"
Rows = list[dict[str, Any]]


def row(
    question: str, answer: str, number: str = "1", **changes: Any
) -> dict[str, Any]:
    return unim_row(
        id=number, input={"content": question}, output={"content": answer}, **changes
    )


def captions(folder: Path) -> list[str | None]:
    return [
        sample.metadata.get("captioned_reference") for sample in unim_samples(folder)
    ]


ASKED = row("Q", "A <image1>")
TWO = [ASKED, row("R", "B <image1>")]


@pytest.mark.parametrize(
    ("records", "same_path", "others", "found"),
    [
        # The file of the same path comes first, and its text is taken as it is.
        (
            [ASKED],
            [row("other", "A <image1:a cat>\n ")],
            [row("Q", "A <image1: a dog>")],
            ["A <image1:a cat>\n "],
        ),
        # The domain's folder helps where the same words stand around the captions.
        (
            [row("<image1>?", "It  is <image2>.")],
            [],
            [row("<image1: a cat>?", "It is a dog.")],
            ["It is a dog."],
        ),
        # an id alone is not enough
        ([ASKED], [], [row("another question", "A cat")], [None]),
        # a repeated id, by its turn
        (TWO, [row("Q", "A cat"), row("R", "B dog")], [], ["A cat", "B dog"]),
        # two that fit are one too many
        ([ASKED], [], [row("Q", "A cat"), row("Q", "A dog")], [None]),
        ([ASKED], [], [], [None]),
    ],
)
def test_found_captions(
    tmp_path: Path,
    records: Rows,
    same_path: Rows,
    others: Rows,
    found: list[str | None],
) -> None:
    write_records(tmp_path, *records)
    if same_path:
        write_captions(tmp_path, *same_path)
    if others:
        write_captions(tmp_path, *others, file=OTHER)
    write_captions(tmp_path, row("Q", "A cat", subdomain="physics"), file=PHYSICS)
    assert captions(tmp_path) == found


def test_what_has_no_caption_is_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    write_records(tmp_path, ASKED)
    assert (captions(tmp_path), caplog.records) == ([None], [])
    path = write_captions(tmp_path, row("Q", "A cat", "2"))
    path.write_text(path.read_text() + "\n{oops")
    assert captions(tmp_path) == [None]
    assert [one.levelname for one in caplog.records] == [
        "WARNING"
    ] * 2 and "line 2" in caplog.text
    assert "natural_science/math/1" in caplog.text


def test_asked_with_captions_a_question_is_words_and_its_reference_stays(
    tmp_path: Path,
) -> None:
    write_records(
        tmp_path,
        unim_row(
            input={"modal": {"image1": "image/gone.png"}, "content": "See <image1>"}
        ),
    )
    write_captions(tmp_path, row("See <image1: a cat>", "Here: a dog"))
    (sample,) = unim_samples(tmp_path, variant="caption")
    assert not sample.fault
    assert [(part.kind, part.text) for part in sample.input[0].content.parts] == [
        ("text", "See <image1: a cat>")
    ]
    assert (sample.references[0].raw, sample.metadata["combination"]) == (
        "Here: <image1>",
        "I->I",
    )
    write_captions(tmp_path, row("Q", "A", "2"))
    assert "qapairs_caption" in unim_samples(tmp_path, variant="caption")[0].fault
    alone = tmp_path / "alone"
    write_captions(alone, row("See <image1: a cat>", "Here: <image2: a dog>"))
    (sample,) = unim_samples(alone, variant="caption")
    assert sample.input[0].content.raw == "See <image1: a cat>"
    assert sample.metadata["captioned_reference"] == "Here: <image2: a dog>"

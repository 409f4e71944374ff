import logging
from pathlib import Path
from typing import Any

import pytest

from tests.support.unim_folder import unim_row, unim_samples, write_captions, write_records

OTHER = "natural_science/1_math/all.jsonl"


def row(number: str, question: str, answer: str, **changes: Any) -> dict[str, Any]:
    return unim_row(id=number, input={"content": question}, output={"content": answer}, **changes)


def captions(folder: Path) -> list[str | None]:
    return [sample.metadata.get("captioned_reference") for sample in unim_samples(folder)]


def test_the_file_of_the_same_path_comes_first_and_its_text_is_taken_as_it_is(tmp_path: Path) -> None:
    write_records(tmp_path, row("1", "Q", "A <image1>"))
    write_captions(tmp_path, row("1", "other words", "A <image1:a cat>\n "))
    write_captions(tmp_path, row("1", "Q", "A <image1: a dog>"), file=OTHER)

    assert captions(tmp_path) == ["A <image1:a cat>\n "]


def test_the_domain_s_folder_helps_where_the_same_words_stand_around_the_captions(tmp_path: Path) -> None:
    write_records(tmp_path, row("1", "See <image1>, then?", "It  is <image2>."))
    write_captions(tmp_path, row("1", "See <image1: a cat>, then?", "It is a dog."), file=OTHER)

    assert captions(tmp_path) == ["It is a dog."]


def test_an_id_alone_is_never_enough(tmp_path: Path) -> None:
    write_records(tmp_path, row("1", "Q", "A <image1>"))
    write_captions(tmp_path, row("1", "Q", "A cat", subdomain="physics"), file="natural_science/2_physics/a.jsonl")
    write_captions(tmp_path, row("1", "another question", "A cat"), file=OTHER)

    assert captions(tmp_path) == [None]


def test_an_id_that_repeats_in_a_file_is_told_by_its_turn(tmp_path: Path) -> None:
    write_records(tmp_path, row("1", "Q", "A <image1>"), row("1", "R", "B <image1>"))
    write_captions(tmp_path, row("1", "Q", "A cat"), row("1", "R", "B dog"))

    assert captions(tmp_path) == ["A cat", "B dog"]


def test_an_id_that_repeats_across_files_is_told_by_its_words(tmp_path: Path) -> None:
    write_records(tmp_path, row("1", "Q", "A <image1>"))
    write_records(tmp_path, row("1", "R", "B <image1>"), file="natural_science/1_math/zzz.jsonl")
    write_captions(tmp_path, row("1", "R", "B dog"), row("1", "Q", "A cat"), file=OTHER)

    assert captions(tmp_path) == ["A cat", "B dog"]


def test_two_captions_that_fit_are_one_too_many(tmp_path: Path) -> None:
    write_records(tmp_path, row("1", "Q", "A <image1>"))
    write_captions(tmp_path, row("1", "Q", "A cat"), row("1", "Q", "A dog"), file=OTHER)

    assert captions(tmp_path) == [None]


def test_records_without_captions_and_captions_that_cannot_be_read_are_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_records(tmp_path, row("1", "Q", "A <image1>"))
    path = write_captions(tmp_path, row("2", "Q", "A cat"))
    path.write_text(path.read_text() + "\n{oops")
    caplog.set_level(logging.WARNING)

    assert captions(tmp_path) == [None]
    assert "1 caption records cannot be used, the first is at line 2" in caplog.text
    assert "no captions of 1 records, the first is natural_science/math/1" in caplog.text


def test_without_the_variant_nothing_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_records(tmp_path, row("1", "Q", "A <image1>"))

    assert captions(tmp_path) == [None]
    assert not caplog.records


def test_asked_with_captions_a_question_is_words_and_its_reference_stays(tmp_path: Path) -> None:
    given = {"modal": {"image1": "image/gone.png"}, "content": "See <image1>"}
    write_records(tmp_path, unim_row(input=given))
    write_captions(tmp_path, row("1", "See <image1: a cat>", "Here: a dog"))

    (sample,) = unim_samples(tmp_path, variant="caption")

    assert not sample.fault
    assert [(part.kind, part.text) for part in sample.input[0].content.parts] == [("text", "See <image1: a cat>")]
    assert sample.references[0].raw == "Here: <image1>"
    assert sample.metadata["combination"] == "I->I"


def test_a_question_without_captions_cannot_be_asked_with_captions(tmp_path: Path) -> None:
    write_records(tmp_path, unim_row())
    write_captions(tmp_path, row("2", "Q", "A"))

    (sample,) = unim_samples(tmp_path, variant="caption")

    assert "qapairs_caption has no record of this field, domain and id" in sample.fault


def test_the_caption_variant_alone_can_be_asked(tmp_path: Path) -> None:
    write_captions(tmp_path, row("1", "See <image1: a cat>", "Here: <image2: a dog>"))

    (sample,) = unim_samples(tmp_path, variant="caption")

    assert sample.input[0].content.raw == "See <image1: a cat>"
    assert sample.metadata["captioned_reference"] == "Here: <image2: a dog>"

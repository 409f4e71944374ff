from __future__ import annotations

import json
from typing import Any

import pytest

from mmeval.content.media import Media
from mmeval.content.parts import Interleaved, media_part
from mmeval.metric.bound import bind
from mmeval.metrics.document.reading import NO_OCR
from mmeval.metrics.judged.document_quality import (
    NOT_A_PICTURE,
    OVERALL,
    OVERALL_OF_ALL,
    SCALES,
    WEIGHTS,
    document_quality,
    weighted_overall,
)
from mmeval.records.response import ErrorKind, Response
from mmeval.records.trial import Trial
from tests.support.judging import Judged, judged
from tests.support.toy import reply
from tests.support.trials import trial

CSV, PICTURE = b"a,b\n1,2\n", b"\x89PNG\r\n\x1a\n" + bytes(20)
SIX = {"clarity": 5, "structure": 4, "consistency": 3, "readability": 2, "data_presentation": 1, "usefulness": 0}


def with_documents(*files: bytes, text: str = "") -> Trial:
    parts = [media_part(Media.from_bytes(data), "document") for data in files]
    return trial(Interleaved((*Interleaved.from_text(text).parts, *parts)))


def ask(scored: Trial, *replies: Any, **switches: Any) -> Judged:
    said = [one if isinstance(one, Response) else reply(json.dumps(one)) for one in replies]
    return judged("document_quality", scored, *said, **switches)


def items(found: Judged) -> list[dict[str, Any]]:
    listed = found.score.evidence["items"]
    assert isinstance(listed, list)
    return listed


@pytest.mark.parametrize(("grade", "quality"), [(1, 0), (2, 0.25), (3, 0.5), (4, 0.75), (5, 1)])
def test_a_grade_from_1_to_5_is_a_share(grade: int, quality: float) -> None:
    found = ask(with_documents(CSV), {"reason": "so", "score": grade})
    assert found.score.value == quality
    assert items(found) == [{"label": "document1", "quality": quality, "score": grade, "reason": "so"}]


def test_the_value_is_the_mean_over_documents_that_are_asked_about_at_the_same_time() -> None:
    found = ask(with_documents(CSV, b"words"), {"score": 5}, {"score": 2})
    assert found.score.value == pytest.approx((1 + 0.25) / 2)
    assert len(found.asked) == 2


def test_an_answer_without_a_document_is_inapplicable_and_a_failed_one_unscored() -> None:
    assert ask(trial("words")).score.status == "inapplicable"
    assert ask(trial(None)).score.status == "unscored"


def test_a_tag_without_a_file_is_0_and_has_nothing_in_the_official_profile() -> None:
    standard = ask(trial("See <document1>."))
    official = ask(trial("See <document1>."), unreadable="unscored")
    assert (standard.score.value, standard.asked) == (0.0, [])
    assert (official.score.value, official.score.status) == (None, "unscored")


def test_the_prompt_holds_the_medium_and_names_hints_only_where_they_are_given() -> None:
    (told,) = ask(with_documents(CSV), {"score": 5}).asked
    (untold,) = ask(with_documents(CSV), {"score": 5}, hints=False).asked
    assert [media.sha256 for media in told.messages[-1].content.media()] == [Media.from_bytes(CSV).sha256]
    assert "Hints" in told.messages[-1].content.text
    assert "Hints" not in untold.messages[-1].content.text


@pytest.mark.parametrize(
    ("rubric", "words"), [("grade", '"score"'), ("overall", OVERALL_OF_ALL), ("dimensions", '"usefulness"')]
)
def test_each_rubric_asks_for_its_own_numbers(rubric: str, words: str) -> None:
    (asked,) = ask(with_documents(CSV), {"score": 5, OVERALL_OF_ALL: 1, OVERALL: 1}, rubric=rubric).asked
    assert words in asked.messages[-1].content.text


@pytest.mark.parametrize(
    ("said", "quality", "raw"),
    [(64, 0.64, None), (0, 0, None), (100, 1, None), (104.5, 1, 1.045), (-3, 0, -0.03), ("80", 0.8, None)],
)
def test_the_released_overall_number_counts_as_it_is_reported(said: Any, quality: float, raw: float | None) -> None:
    found = ask(with_documents(CSV), {OVERALL_OF_ALL: said}, rubric="overall")
    assert found.score.value == pytest.approx(quality)
    assert items(found)[0].get("raw") == (None if raw is None else pytest.approx(raw))


def test_the_overall_number_of_six_dimensions_counts_as_reported_and_else_follows_from_them() -> None:
    reported = ask(with_documents(CSV), {**SIX, OVERALL: 70}, rubric="dimensions")
    left_out = ask(with_documents(CSV), SIX, rubric="dimensions")
    assert reported.score.value == pytest.approx(0.7)
    assert items(reported)[0]["clarity"] == 5
    # (5 * .20 + 4 * .15 + 3 * .20 + 2 * .15 + 1 * .20 + 0 * .10) / 5
    assert left_out.score.value == pytest.approx(0.54)


@pytest.mark.parametrize(
    ("name", "weight"),
    [
        ("clarity", 0.20),
        ("structure", 0.15),
        ("consistency", 0.20),
        ("readability", 0.15),
        ("data_presentation", 0.20),
        ("usefulness", 0.10),
    ],
)
def test_a_dimension_weighs_what_the_release_says(name: str, weight: float) -> None:
    assert weighted_overall({**dict.fromkeys(WEIGHTS, 0), name: 5}) == pytest.approx(100 * weight)


@pytest.mark.parametrize(
    "said", [{"clarity": 5}, {**SIX, OVERALL: "much"}, {**SIX, "usefulness": False}, {**SIX, "clarity": 1e308}, {}]
)
def test_six_dimensions_that_lack_one_and_the_overall_number_are_no_verdict(said: dict[str, Any]) -> None:
    assert SCALES["dimensions"].form.fault(reply(json.dumps(said)))


def test_six_numbers_up_to_5_are_asked_for_and_an_overall_one_up_to_100() -> None:
    asked = SCALES["dimensions"].form.asked
    assert asked.startswith('{"clarity": <a whole number from 0 to 5>, ')
    assert asked.endswith('"overall": <a number from 0 to 100>}')
    assert asked.count("from 0 to 5>") == 6


def test_official_is_the_unified_scorer_without_hints_on_pictures() -> None:
    bound = bind(document_quality, profile="official")
    assert (bound.params["rubric"], bound.params["hints"], bound.params["extraction"]) == ("overall", False, "pictures")
    assert bound.params["unreadable"] == "unscored"
    assert SCALES["overall"].form.asked == '{"overall_score_100": <a number from 0 to 100>}'


def test_the_release_has_nothing_for_what_is_no_picture() -> None:
    found = ask(with_documents(CSV, PICTURE), {OVERALL_OF_ALL: 50}, rubric="overall", extraction="pictures")
    assert (found.score.status, found.score.bounds) == ("unscored", (0.25, 0.75))
    assert items(found)[0]["reason"] == NOT_A_PICTURE


def failed(kind: ErrorKind, message: str) -> Response:
    return Response.failed(kind, message)


@pytest.mark.parametrize(("unreadable", "value"), [("zero", 0.0), ("unscored", None)])
def test_a_damaged_document_is_0_and_has_nothing_in_the_release(unreadable: str, value: float | None) -> None:
    found = ask(with_documents(PICTURE), failed("bad_media", "it is cut short"), unreadable=unreadable)
    assert found.score.value == value
    assert items(found)[0]["reason"] == "it is cut short"


def test_without_ocr_pictures_and_scans_are_left_out() -> None:
    found = ask(
        with_documents(PICTURE, b"%PDF-1.4 a scan", CSV),
        failed("unsupported", f"a.pdf: page 1 is a picture, and {NO_OCR}"),
        {"score": 3},
        ocr="none",
    )
    assert (found.score.value, len(found.asked)) == (0.5, 2)
    assert [item.get("left_out") for item in items(found)] == [True, True, None]


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (failed("unsupported", "it is application/msword, which cannot be read here"), "final"),
        (failed("server", "down"), "lost"),
        (failed("internal", "rapidocr is not installed"), "lost"),
    ],
)
def test_what_could_not_be_judged_is_unscored_with_its_bounds(error: Response, cause: str) -> None:
    found = ask(with_documents(CSV, CSV + b"3,4"), error, {"score": 5})
    assert (found.score.status, found.score.cause, found.score.bounds) == ("unscored", cause, (0.5, 1.0))


def test_what_was_done_to_a_document_stands_in_its_evidence() -> None:
    said = Response(output=Interleaved.from_text('{"score": 4}'), warnings=("document->markdown: 9 characters",))
    assert items(ask(with_documents(CSV), said))[0]["remarks"] == ["document->markdown: 9 characters"]


def test_with_repeats_each_document_is_asked_about_as_often() -> None:
    grades = [{"score": grade} for grade in (5, 3, 1, 1)]
    found = ask(with_documents(CSV, b"words"), *grades, repeats=2)
    assert found.score.value == pytest.approx((0.75 + 0) / 2)


def test_the_packages_that_it_needs_follow_from_its_switches() -> None:
    with_ocr = {need.partition(":")[0] for need in bind(document_quality).needs}
    without = {need.partition(":")[0] for need in bind(document_quality, {"ocr": "none"}).needs}
    assert with_ocr - without == {"rapidocr", "onnxruntime"}
    assert "pypdfium2" in without

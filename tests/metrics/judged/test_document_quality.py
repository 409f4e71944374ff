import json
from typing import Any

import pytest

from mmeval.media import Interleaved, Media, media_part
from mmeval.metric import bind
from mmeval.metrics.document.reading import NO_OCR
from mmeval.metrics.judged import document_quality as of
from mmeval.records import Response, Trial
from tests.support.judging import Judged, judged
from tests.support.toy import reply
from tests.support.trials import trial

CSV, PICTURE = b"a,b\n1,2\n", b"\x89PNG\r\n\x1a\n" + bytes(20)
SIX = {
    "clarity": 5,
    "structure": 4,
    "consistency": 3,
    "readability": 2,
    "data_presentation": 1,
    "usefulness": 0,
}


def with_documents(*files: bytes) -> Trial:
    return trial(
        Interleaved(
            tuple(media_part(Media.from_bytes(data), "document") for data in files)
        )
    )


def ask(scored: Trial, *replies: Any, **switches: Any) -> Judged:
    said = [
        one if isinstance(one, Response) else reply(json.dumps(one)) for one in replies
    ]
    return judged("document_quality", scored, *said, **switches)


def items(found: Judged) -> list[dict[str, Any]]:
    listed = found.score.evidence["items"]
    assert isinstance(listed, list)
    return listed


def test_the_value_is_the_mean_over_documents_and_without_one_it_is_inapplicable_or_0() -> (
    None
):
    found = ask(
        with_documents(CSV, b"words"), {"reason": "so", "score": 5}, {"score": 2}
    )
    assert found.score.value == pytest.approx((1 + 0.25) / 2)
    assert len(found.asked) == 2
    assert items(found)[0] == {
        "label": "document1",
        "quality": 1,
        "score": 5,
        "reason": "so",
    }
    said = Response(
        output=Interleaved.from_text('{"score": 4}'), warnings=("document->markdown",)
    )
    assert items(ask(with_documents(CSV), said))[0]["remarks"] == ["document->markdown"]
    found = ask(
        with_documents(CSV, b"words"),
        *({"score": grade} for grade in (5, 3, 1, 1)),
        repeats=2,
    )
    assert found.score.value == pytest.approx((0.75 + 0) / 2)
    assert ask(trial("words")).score.status == "inapplicable"
    assert ask(trial(None)).score.status == "unscored"
    standard, official = (
        ask(trial("See <document1>."), unreadable=it) for it in ("zero", "unscored")
    )
    assert standard.score.value == 0.0
    assert standard.asked == []
    assert official.score.status == "unscored"


def test_the_prompt_holds_the_medium_and_names_hints_only_where_they_are_given() -> (
    None
):
    (told,), (untold,) = (
        ask(with_documents(CSV), {"score": 5}, hints=hints).asked
        for hints in (True, False)
    )
    assert [media.sha256 for media in told.messages[-1].content.media()] == [
        Media.from_bytes(CSV).sha256
    ]
    assert ["Hints" in one.messages[-1].content.text for one in (told, untold)] == [
        True,
        False,
    ]
    assert {need.partition(":")[0] for need in bind(of.document_quality).needs} == {
        "rapidocr",
        "onnxruntime",
    }
    assert bind(of.document_quality, {"ocr": "none"}).needs == ()


def test_the_overall_number_of_six_dimensions_counts_as_reported_and_else_follows_from_them() -> (
    None
):
    reported = ask(with_documents(CSV), {**SIX, of.OVERALL: 70}, rubric="dimensions")
    left_out = ask(with_documents(CSV), SIX, rubric="dimensions")
    assert reported.score.value == pytest.approx(0.7)
    assert items(reported)[0]["clarity"] == 5
    # (5 * .20 + 4 * .15 + 3 * .20 + 2 * .15 + 1 * .20 + 0 * .10) / 5
    assert left_out.score.value == pytest.approx(0.54)
    first = {"clarity": 0.20, "structure": 0.15, "consistency": 0.20}
    assert {
        **first,
        "readability": 0.15,
        "data_presentation": 0.20,
        "usefulness": 0.10,
    } == of.WEIGHTS
    for said in (
        {"clarity": 5},
        {**SIX, of.OVERALL: "much"},
        {**SIX, "usefulness": False},
    ):
        assert of.SCALES["dimensions"].form.fault(reply(json.dumps(said)))
    asked = of.SCALES["dimensions"].form.asked
    assert asked.count("from 0 to 5>") == 6
    assert asked.count('"overall": <') == 1
    assert asked.count("from 0 to 100>") == 1


def test_the_release_has_no_number_for_other_files_than_pictures_and_counts_one_beyond_its_scale_as_the_end() -> (
    None
):
    params = bind(of.document_quality, profile="official").params
    official = {
        name: params[name] for name in ("rubric", "hints", "extraction", "unreadable")
    }
    assert official == {
        "rubric": "overall",
        "hints": False,
        "extraction": "pictures",
        "unreadable": "unscored",
    }
    found = ask(
        with_documents(CSV, PICTURE, PICTURE),
        {of.OVERALL_100: 50},
        {of.OVERALL_100: 104.5},
        **official,
    )
    assert found.score.status == "unscored"
    assert found.score.bounds == (0.5, pytest.approx(5 / 6))
    assert items(found)[0]["reason"] == of.NOT_A_PICTURE
    assert items(found)[2]["raw"] == pytest.approx(1.045)


def test_a_damaged_document_is_0_or_unscored_and_one_without_a_verdict_leaves_bounds() -> (
    None
):
    for unreadable, value in {"zero": 0.0, "unscored": None}.items():
        damaged = Response.failed("bad_media", "it is cut short")
        found = ask(with_documents(PICTURE), damaged, unreadable=unreadable)
        assert found.score.value == value
        assert items(found)[0]["reason"] == "it is cut short"
    scan = Response.failed("unsupported", f"a.pdf: page 1 is a picture, and {NO_OCR}")
    found = ask(
        with_documents(PICTURE, b"%PDF-1.4 a scan", CSV), scan, {"score": 3}, ocr="none"
    )
    assert found.score.value == 0.5
    assert len(found.asked) == 2
    assert [item.get("left_out") for item in items(found)] == [True, True, None]
    score = ask(
        with_documents(CSV, CSV + b"3,4"),
        Response.failed("unsupported", "down"),
        {"score": 5},
    ).score
    assert score.status == "unscored"
    assert score.cause == "final"
    assert score.bounds == (0.5, 1.0)

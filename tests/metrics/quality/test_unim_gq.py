import math

import pytest

from mmeval.metrics.quality.items import ItemScore, together
from mmeval.metrics.quality.unim_gq import unim_gq
from mmeval.records import Score

NONE = Score.inapplicable("the answer has none")
NO_JUDGE = Score.unavailable("it asks the role 'judge'")


def items(*qualities: float | str | None) -> Score:
    """A piece with items of these qualities; None is an unmeasured one, a word one that
    is left out."""

    def item(quality: float | str | None) -> ItemScore:
        left_out = (
            ItemScore.unavailable("no OCR")
            if isinstance(quality, str)
            else ItemScore.none("damaged")
        )
        return ItemScore(quality) if isinstance(quality, float) else left_out

    return together([(f"item{at}", item(one)) for at, one in enumerate(qualities)])


def gq(**pieces: Score) -> Score:
    found: Score = unim_gq.function(pieces, of=tuple(pieces))
    return found


def test_every_item_of_the_seven_modalities_counts_the_same() -> None:
    assert unim_gq.range == (0, 1)
    assert unim_gq.takes_missing is True
    found = gq(text=items(1.0), image=items(0.0, 0.5, 0.5), audio=NONE)
    assert found.value == 0.5  # the mean of the three means would be another number
    image = {"count": 3, "mean": pytest.approx(1 / 3)}
    assert found.evidence == {
        "modalities": {"text": {"count": 1, "mean": 1.0}, "image": image}
    }
    # a piece without items is one
    assert gq(text=items(1.0, 1.0), other=Score(0.25)).value == 0.75


def test_items_without_a_scorer_are_left_out_and_without_any_it_is_unavailable() -> (
    None
):
    half = {"modalities": {"image": {"count": 1, "mean": 0.5}}, "gq_partial": True}
    assert gq(text=NO_JUDGE, image=items(0.5)) == Score(
        0.5, evidence={**half, "without": ["text"]}
    )
    found = gq(document=items(0.25, "no OCR here"), image=items(0.75))
    assert found.value == 0.5
    assert found.evidence["gq_partial"] is True
    assert found.evidence["without"] == ["document"]
    lost = gq(text=NO_JUDGE, image=NONE)
    document = gq(document=items("no OCR here"), image=NONE)
    assert lost.status == "unavailable"
    assert document.status == "unavailable"
    assert lost.reason[-5:] == " text"
    assert gq(text=NONE, image=NONE).status == "inapplicable"


def test_an_item_without_a_quality_or_a_failed_piece_leaves_bounds() -> None:
    found = gq(text=items(1.0), image=items(0.5, None), audio=NONE)
    assert found.status == "unscored"
    assert found.cause == "final"
    assert found.bounds == (0.5, pytest.approx(2.5 / 3))
    assert "image: item1: damaged" in found.reason
    assert found.evidence["modalities"]["image"] == {"count": 1, "mean": 0.5}
    failed = Score.unscored("ValueError", bounds=(0.25, 1.0))
    # many pictures would outweigh the text
    assert gq(text=items(0.5), image=failed).bounds == (0.25, 1.0)
    assert gq(image=failed).bounds == (0.25, 1.0)
    assert gq(text=items(0.5), image=Score.lost("the process died")).cause == "lost"


def test_an_item_is_held_between_0_and_1_and_no_number_is_unknown() -> None:
    for quality, held in {1.5: 1.0, -0.5: 0.0}.items():
        scored = Score(
            quality, evidence={"items": [{"label": "a", "quality": quality}]}
        )
        assert gq(text=scored).value == gq(text=Score(quality)).value == held
    for unknown in (math.nan, math.inf, "good"):
        found = gq(
            theirs=Score(1.0, evidence={"items": [{"label": "a", "quality": unknown}]})
        )
        assert found.status == "unscored"
        assert found.bounds == (0.0, 1.0)
    # no items
    assert (
        gq(
            text=Score(0.5, evidence={"items": 3}),
            image=Score(0.5, evidence={"items": []}),
        ).value
        == 0.5
    )

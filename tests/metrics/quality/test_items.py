import pytest

from mmeval.errors import CorruptMediaError, MediaLimitError, UnsupportedMediaError
from mmeval.media import Interleaved, Media, media_part
from mmeval.metrics.quality import items as of
from mmeval.records import Score
from tests.support.pictures import even, medium
from tests.support.trials import trial

RED, BLUE = medium(even(4, 4, (255, 0, 0))), medium(even(4, 4, (0, 0, 255)))
GOOD = of.ItemScore(0.75)


def test_items_are_the_media_or_tags_of_a_kind_in_their_order() -> None:
    content = Interleaved.from_text(
        "<<image2>> and <<image1>>, <<audio1>>", media={"image2": RED, "image1": BLUE}
    )
    assert [(item.label, item.media) for item in of.items_of(content, "image")] == [
        ("image2", RED),
        ("image1", BLUE),
    ]
    assert [item.media for item in of.items_of(content, "audio")] == [None]
    assert labels(
        Interleaved.from_text("<<image1>>, again <<image1>>", media={"image1": RED})
    ) == ["image1"]
    assert labels(Interleaved.from_text("<<image1>> <<image1>> <<image2>>")) == [
        "image1",
        "image2",
    ]
    assert labels(
        Interleaved((media_part(RED), media_part(RED), media_part(BLUE)))
    ) == ["image1", "image2", "image3"]


def labels(content: Interleaved) -> list[str]:
    return [item.label for item in of.items_of(content, "image")]


def measured(
    *parts: Media,
    how: of.ItemScore | Exception = GOOD,
    unreadable: of.Unreadable = "zero",
) -> Score:
    def measure(_media: Media) -> of.ItemScore:
        if isinstance(how, Exception):
            raise how
        return how

    answer = Interleaved(tuple(media_part(part) for part in parts))
    return of.quality_of_media(trial(answer), "image", measure, unreadable=unreadable)


def test_the_mean_counts_and_an_answer_without_an_item_is_no_bad_one() -> None:
    qualities = iter((of.ItemScore(0.5, {"term": 1}), of.ItemScore(1.0)))
    answer = Interleaved((media_part(RED), media_part(BLUE)))
    score = of.quality_of_media(trial(answer), "image", lambda _: next(qualities))
    items = [
        {"label": "image1", "quality": 0.5, "term": 1},
        {"label": "image2", "quality": 1.0},
    ]
    assert score == Score(0.75, evidence={"items": items})
    score = measured()
    assert score.status == "inapplicable"
    assert score.bounds is None
    assert score == of.nothing_of("image") and "image" in score.reason
    assert (
        of.quality_of_media(trial(None), "image", lambda _: GOOD).status == "unscored"
    )


def test_a_tag_without_a_file_is_worth_nothing_and_an_item_beyond_a_limit_unscored() -> (
    None
):
    named = of.quality_of_media(
        trial(Interleaved.from_text("<<image1>>")), "image", lambda _: GOOD
    )
    damaged = measured(RED, how=CorruptMediaError("not a picture"))
    assert named.value == 0.0
    assert named.evidence["items"][0]["reason"] == of.UNSEEN
    assert damaged.value == 0.0
    assert damaged.evidence["items"][0]["reason"] == "not a picture"
    score = measured(RED, how=CorruptMediaError("not a picture"), unreadable="unscored")
    assert score.status == "unscored"
    assert score.bounds == (0.0, 1.0)
    assert score.reason == "image1: not a picture"
    score = measured(RED, how=MediaLimitError("too large"))
    assert score.status == "unscored"
    assert score.bounds == (0.0, 1.0)


@pytest.mark.parametrize("unreadable", ["zero", "unscored"])
def test_an_item_that_is_not_read_here_is_never_worth_nothing(
    unreadable: of.Unreadable,
) -> None:
    how = UnsupportedMediaError("a format that is not read")
    score = measured(RED, how=how, unreadable=unreadable)
    assert score.status == "unscored"
    assert score.bounds == (0.0, 1.0)
    assert "a format that is not read" in score.reason


def test_an_unknown_item_leaves_bounds_and_an_unavailable_one_is_left_out() -> None:
    score = of.together(
        [
            ("a", of.ItemScore(0.5)),
            ("b", of.ItemScore.none("lost", cause="lost")),
            ("c", of.ItemScore.none("x")),
        ]
    )
    assert score.status == "unscored"
    assert score.cause == "lost"
    assert score.bounds == pytest.approx((0.5 / 3, 2.5 / 3))
    assert score.reason == "b: lost; c: x"
    score = of.together(
        [("a", of.ItemScore(0.5)), ("b", of.ItemScore.unavailable("no reader"))]
    )
    assert score.value == 0.5
    assert score.evidence["items"][1] == {
        "label": "b",
        "quality": None,
        "reason": "no reader",
        "left_out": True,
    }
    alone = of.together([("a", of.ItemScore.unavailable("no reader"))])
    assert alone.status == "unavailable"
    assert alone.reason == "a: no reader"
    assert [
        of.in_released_digits(quality) for quality in (0.873146, 0.690185, 0.0, 1.0)
    ] == [0.8731, 0.6902, 0.0, 1.0]

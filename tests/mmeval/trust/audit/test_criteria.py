import pytest

from mmeval.trust.audit.criteria import criteria_in, media_criteria, share_met

RUBRIC = ["It greets.", {"id": "short", "criterion": "It is short.", "side": "text"}]
EVIDENCE = {
    "criteria": [
        {"id": "1", "weight": 2, "met": True},
        {"id": "2", "weight": 1, "met": 0.5},
        {"id": "unsure", "weight": 1, "met": None},
        {"id": "lost", "weight": 1, "met": None, "lost": "timeout"},
    ]
}


def test_a_criterion_about_text_is_not_about_media() -> None:
    assert media_criteria(RUBRIC) == {"1"}


def test_an_answer_without_a_rubric_has_no_criteria() -> None:
    assert media_criteria(None) is None


@pytest.mark.parametrize(
    ("names", "share"),
    [
        (("1",), (1.0, False)),
        (("1", "2"), (2.5 / 3, False)),
        (("1", "unsure"), (None, True)),
        (("unsure", "lost"), (None, False)),
        ((), (None, False)),
    ],
)
def test_the_share_of_some_criteria_is_weighted(
    names: tuple[str, ...], share: tuple[float | None, bool]
) -> None:
    assert share_met(criteria_in(EVIDENCE), names) == share

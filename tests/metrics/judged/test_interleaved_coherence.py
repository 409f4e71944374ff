import json
from typing import Any

import pytest

from mmeval.errors import UsageError
from mmeval.media import Interleaved, text_part
from mmeval.metric import bind, load_metric
from mmeval.metrics.judged.interleaved_coherence import OUTPUTS
from mmeval.records import Trial
from tests.support.judging import QUESTION, RED, Judged, answer_trial, judge_unim

TRIAL = answer_trial()
HC, SH, ICS = OUTPUTS
BEST = '{"coherence": 5, "style_consistency": 5}'


def grades(coherence: Any, style: Any, reason: str = "so") -> str:
    return json.dumps(
        {"reason": reason, "coherence": coherence, "style_consistency": style}
    )


def coherence(*says: Any, **more: Any) -> Judged:
    return judge_unim("interleaved_coherence", more.pop("trial", TRIAL), *says, **more)


def values(done: Judged) -> list[float | None]:
    return [done.scores[name].value for name in OUTPUTS]


def test_two_grades_become_three_shares_by_a_weight() -> None:
    for given, wanted in {(5, 1): [1, 0, 0.8], (3, 4): [0.5, 0.75, 0.55]}.items():
        for profile in ("standard", "official"):
            assert values(coherence(grades(*given), profile=profile)) == pytest.approx(
                wanted
            )
    assert values(coherence(grades(5, 1), weight=0.7))[2] == pytest.approx(0.7)
    assert values(coherence('{"coherence": 4}', '{"coherence": 4}', weight=1.0)) == [
        0.75,
        None,
        0.75,
    ]
    with pytest.raises(UsageError, match="'weight'"):
        bind(load_metric("ics"), {"weight": 1.5})


def test_the_judge_sees_the_captioned_answer_and_the_evidence_has_the_grades() -> None:
    blind, seeing = coherence(grades(3, 3)), coherence(grades(3, 3), show_input=True)
    assert "answer begins\nIt is <<image1: a red kettle>>.\n" in blind.questions[0]
    assert QUESTION not in blind.questions[0]
    assert f"task begins\n{QUESTION}\n" in seeing.questions[0]
    scores = coherence(grades(4, 2, "mostly")).scores
    assert scores[HC].evidence == {"reason": "mostly", "coherence": 4}
    assert scores[SH].evidence == {"reason": "mostly", "style_consistency": 2}
    assert scores[ICS].evidence["captions"] == [
        {"label": "image1", "kind": "image", "text": "a red kettle"}
    ]
    assert scores[ICS].evidence["coherence"] == 4
    assert scores[ICS].evidence["weight"] == 0.8


def test_an_empty_answer_has_the_lowest_grades_and_a_lost_caption_leaves_all_three_unscored() -> (
    None
):
    done = coherence(trial=Trial(TRIAL.sample, output=Interleaved((text_part(" \n"),))))
    assert values(done) == [0, 0, 0]
    assert done.calls == []
    done = coherence(lost=RED)
    for score in done.scores.values():
        assert score.status == "unscored"
        assert score.bounds == (0.0, 1.0)
        assert score.cause == "lost"
        assert "image1: server" in score.reason
    assert done.of("judge").calls == []


def test_the_release_takes_failed_captions_as_empty_and_missing_grades_as_the_lowest() -> (
    None
):
    whole, gone = (
        coherence(grades(3, 3), profile="official", lost=lost) for lost in (None, RED)
    )
    assert "It is <<image1:a red kettle>>." in whole.questions[0]
    assert "It is <<image1:>>." in gone.questions[0]
    assert values(gone) == [0.5] * 3
    done = coherence('{"coherence": 5, "style_consistency": null}', profile="official")
    assert values(done) == pytest.approx([1, 0, 0.8])
    assert done.scores[ICS].evidence["unread"] == 1
    assert "unread" not in done.scores[HC].evidence
    assert len(done.of("judge").calls) == 1
    for profile in ("standard", "official"):
        done = coherence(
            grades(5, 5),
            "no",
            grades(3, 3),
            profile=profile,
            judge_failure="lowest",
            repeats=3,
        )
        assert values(done) == [0.5] * 3  # the mean of 5, 1 and 3 is 3
        assert done.scores[ICS].evidence["unread"] == 1


def test_replies_that_cannot_be_read_are_left_out_or_the_lowest_and_the_release_reads_strict_json() -> (
    None
):
    for said in ("", "I would say four."):
        out, low = coherence(said), coherence(said, judge_failure="lowest")
        assert [score.status for score in out.scores.values()] == ["unscored"] * 3
        assert values(low) == [0, 0, 0]
        assert low.scores[ICS].evidence["unread"] == 1
        assert values(coherence(said, profile="official")) == [0, 0, 0]
    assert values(coherence("[4, 4]", profile="official")) == [0, 0, 0]
    assert values(coherence('{"coherence": 5}', profile="official")) == pytest.approx(
        [1, 0, 0.8]
    )
    fenced = {
        f"```json\n{BEST}\n```": 1.0,
        f"```json\n{BEST}": 1.0,
        f"{BEST}\n```": 1.0,
        f"```\n{BEST}\n```": 0.0,
    }
    for said, official in (
        fenced | {f"Here: {BEST}": 0.0, BEST.replace('"', "'"): 0.0}
    ).items():
        assert values(coherence(said, profile="official")) == [official] * 3, said
        assert values(coherence(said)) == [1.0] * 3, said


@pytest.mark.parametrize(
    ("given", "scores", "bounds"),
    [
        ("coherence", [0.75, None, None], (0.6, 0.8)),
        ("style_consistency", [None, 0.75, None], (0.15, 0.95)),
    ],
)
def test_one_grade_alone_leaves_bounds(
    given: str, scores: list[float | None], bounds: tuple[float, float]
) -> None:
    half = json.dumps({given: 4})
    done = coherence(half, half)
    first, second = done.of("judge").calls
    assert first.request == second.request
    assert first.accept is not second.accept
    assert values(done) == scores
    assert done.scores[ICS].bounds == pytest.approx(bounds)
    (lost,) = (
        score
        for name, score in done.scores.items()
        if score.value is None and name != ICS
    )
    assert lost.bounds == (0.0, 1.0)
    assert "bad_reply" in done.scores[ICS].reason


def test_a_judge_that_then_gives_both_grades_is_believed_and_a_number_beyond_the_scale_is_its_end() -> (
    None
):
    assert values(coherence('{"coherence": 4}', grades(2, 3))) == pytest.approx(
        [0.25, 0.5, 0.3]
    )
    done = coherence(grades(4, 5), grades(4, 3), repeats=2, combine="majority")
    assert values(done) == [0.75, None, None]
    assert done.scores[ICS].cause == "unsure"
    read: dict[Any, tuple[float | None, float]] = {
        "4": (0.75, 0.75),
        4.4: (0.75, 0.85),
        4.5: (1.0, 0.875),
    }
    read |= {
        6: (1.0, 1.0),
        0: (0.0, 0.0),
        **dict.fromkeys(["good", True, 1e300], (None, 0.0)),
    }
    for written, (standard, official) in read.items():
        half = [] if standard is not None else [grades(written, 3)]
        assert coherence(grades(written, 3), *half).scores[HC].value == standard
        assert values(coherence(grades(written, 3), profile="official"))[
            0
        ] == pytest.approx(official)
    content, style, _ = coherence(grades(7, 5)).scores.values()
    assert content.evidence["coherence"] == 5
    assert content.evidence["raw"] == [7]
    assert "raw" not in style.evidence

from typing import Any

import pytest

from mmeval.metric.judge import ReplyError
from mmeval.metrics.judged.isg.replies import score_form, whole_form, yes_form

ROBUST = score_form("robust", analyze_first=False)
OFFICIAL = score_form("official", analyze_first=False)


@pytest.mark.parametrize(
    ("written", "robust", "official"),
    [
        ("7", 7, 7),
        ("7.5", 7.5, 7.5),
        ('"8"', 8, "unfit"),
        ('"8/10"', 8, "unfit"),
        ('"8 out of 10"', None, "unfit"),
        ("true", None, 1),
        ("null", None, "unfit"),
        ("[7]", None, "unfit"),
        ('{"score": 7}', 7, "unfit"),
        ('{"Score": "7"}', 7, "unfit"),
        ('{"value": 7}', None, "unfit"),
        ("11", 10, 11),
        ("0", 1, 0),
        ("-3", 1, -3),
        (f"1{'0' * 400}", None, 1e300),
        (f"-1{'0' * 400}", None, -1e300),
        ("1.7e308", 10, 1e300),
    ],
)
def test_a_number_is_read_by_each_profile(
    written: str, robust: Any, official: Any
) -> None:
    text = f'{{"Judge": {written}, "Reason": "so"}}'
    if robust is None:
        with pytest.raises(ReplyError):
            ROBUST.read(text)
    else:
        vote = ROBUST.read(text)
        assert vote["Judge"] == robust
        assert vote["Reason"] == "so"
        assert vote.get("remark") == (
            "clamped" if written[:2] in ("11", "10", "0", "-3", "1.") else None
        )
    vote = OFFICIAL.read(text)
    assert (vote["remark"] if vote["Judge"] is None else vote["Judge"]) == official


@pytest.mark.parametrize(
    ("text", "robust", "official"),
    [
        ('Sure!\n```json\n{"judge": 7}\n``` as you see', 7, None),
        ('{"JUDGE": 7}', 7, None),
        ('{"score": 7}', None, None),
        ("7", None, None),
        ("[]", None, None),
        ('{"Judge": 7} {"Judge": 9}', 7, None),
        ('{"Reason": "so"} {"Judge": 9}', None, None),
        ('{"verdict": {"judge": "7/10"}}', 7, None),
        ('{"a": {"Judge": 7}, "b": {"Judge": 9}}', None, None),
        ('{"Judge": 7', None, None),
        (" ", None, None),
    ],
)
def test_prose_and_other_keys_are_read_by_the_robust_reading_alone(
    text: str, robust: Any, official: Any
) -> None:
    found = None if ROBUST.fault(_said(text)) else ROBUST.read(text)["Judge"]
    assert found == robust
    assert OFFICIAL.read(text)["Judge"] == official
    assert OFFICIAL.read(text)["unreadable"] is True


def _said(text: str) -> Any:
    from tests.support.toy import reply

    return reply(text)


@pytest.mark.parametrize(
    ("written", "robust", "official"),
    [
        ('"Yes"', True, True),
        ('"yes"', True, True),
        ('"YES."', True, False),
        ('" yes"', True, False),
        ('"**Yes** it is"', True, False),
        ('"yesterday"', False, False),
        ('"yes_man"', True, False),
        ('"Not sure, yes"', False, False),
        ("true", True, False),
        ("false", False, False),
        ("null", False, False),
        ('["yes"]', False, False),
    ],
)
def test_yes_is_read_by_each_profile(
    written: str, robust: bool, official: bool
) -> None:
    text = f'{{"Judge": {written}}}'
    values = [
        yes_form(reading, analyze_first=False).read(text)["Judge"]
        for reading in ("robust", "official")
    ]
    assert values == [robust, official]


def test_a_reply_without_a_verdict_is_refused_or_no() -> None:
    with pytest.raises(ReplyError):
        yes_form("robust", analyze_first=False).read('{"Reason": "so"}')
    assert yes_form("official", analyze_first=False).read("prose") == {
        "Judge": False,
        "unreadable": True,
    }


def test_the_overall_score_counts_and_the_dimensions_are_kept() -> None:
    text = (
        '{"coherence": {"score": 5}, "Content_Accuracy": {"score": "6"}, '
        '"overall_score": "7.5"}'
    )
    robust, official = (
        whole_form(reading, analyze_first=False).read(text)
        for reading in ("robust", "official")
    )
    assert robust == {
        "overall_score": 7.5,
        "dimensions": {"coherence": 5, "content_accuracy": 6},
    }
    assert official["overall_score"] is None
    assert official["remark"] == "unfit"


def test_the_words_stand_before_the_verdict_where_the_judge_is_to_analyze_first() -> (
    None
):
    for form in (score_form, yes_form):
        first, last = (
            form("robust", analyze_first=analyze).asked for analyze in (True, False)
        )
        assert first.index("Reason") < first.index("Judge")
        assert last.index("Judge") < last.index("Reason")
    first, last = (
        whole_form("robust", analyze_first=analyze).asked for analyze in (True, False)
    )
    assert (
        first.index("explanation")
        < first.index('"score"')
        < first.index("overall_score")
    )
    assert first.index("final_thoughts") < first.index("overall_score")
    assert last.index('"score"') < last.index("explanation")
    assert last.index("overall_score") < last.index("final_thoughts")

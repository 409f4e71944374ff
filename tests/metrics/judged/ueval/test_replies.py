import time
from typing import Any

import pytest

from mmeval.metric.judge import ReplyError
from mmeval.metrics.judged.reading import Reading
from mmeval.metrics.judged.ueval.replies import criterion_form, official_object

FENCE = "```"
LOST = None
"""The reply is refused, and asked for again."""


def read(text: str, reading: Reading) -> Any:
    """Whether the criterion is met, with the remark on a no that was not read_value; None for
    a refused reply."""
    try:
        vote = criterion_form(reading).read(text)
    except ReplyError:
        return LOST
    return (
        (vote["criteria_met"], vote["remark"])
        if "remark" in vote
        else vote["criteria_met"]
    )


@pytest.mark.parametrize(
    ("value", "robust", "official"),
    [
        ("true", True, True),
        ("false", False, False),
        ('"True"', True, True),
        ('" YES "', True, True),
        ('"y"', True, True),
        ('"no"', False, False),
        ('"N"', False, False),
        ('"Not Sure"', (False, "not_sure"), (False, "not_sure")),
        ("1", LOST, (False, "odd_value")),
        ("null", LOST, (False, "odd_value")),
        ('"partly"', LOST, (False, "odd_value")),
        ("[true]", LOST, (False, "odd_value")),
    ],
)
def test_a_value_is_a_yes_a_no_or_neither(
    value: str, robust: Any, official: Any
) -> None:
    text = f'{{"criteria_met": {value}, "explanation": "so"}}'
    assert read(text, "robust") == robust
    assert read(text, "official") == official


@pytest.mark.parametrize(
    ("text", "robust", "official"),
    [
        (f'{FENCE}json\n{{"criteria_met": true}}\n{FENCE}', True, True),
        (f'{FENCE}JSON\n{{"criteria_met": true}}\n{FENCE}', True, True),
        (f'{FENCE}json\n[{{"criteria_met": true}}]\n{FENCE}', True, True),
        (
            f'{{"a": 1}} {FENCE}json {{"reason": "x", "criteria_met": true}} {FENCE}',
            True,
            True,
        ),
        (
            f'{FENCE}json\n{{"criteria_met": tru}}\n{FENCE} {{"criteria_met": true}}',
            LOST,
            LOST,
        ),
        ('So: {"criteria_met": false} Bye.', False, False),
        ('{"criteria_met": true} {"criteria_met": false}', LOST, True),
        ('{"note": 1} {"explanation": "x", "criteria_met": true}', True, True),
        ('{"reason": "x", "criteria_met": true}', True, True),
        ('{"reason": "x", "criteria_met": true} {"reason": "y"}', True, LOST),
        ('{"explanation": "a \\sigma b", "criteria_met": true}', True, True),
        ('{"explanation": "a } b", "criteria_met": true}', True, True),
        ('{"met": true}', LOST, (False, "missing_key")),
        ("{'criteria_met': True,}", True, LOST),
        ('{"criteria_met": true,}', True, LOST),
        ('{"explanation": "a\nb", "criteria_met": true}', True, LOST),
        ('{"criteria_met": true', LOST, LOST),
        ("true", LOST, LOST),
        ("", LOST, LOST),
    ],
)
def test_the_object_of_a_reply_is_found_robustly_or_as_the_release_does(
    text: str, robust: Any, official: Any
) -> None:
    assert read(text, "robust") == robust
    assert read(text, "official") == official


def test_a_vote_keeps_the_raw_value_the_reply_and_an_explanation() -> None:
    text = '{"explanation": "a roof", "criteria_met": "no"}'
    for reading in ("robust", "official"):
        vote = criterion_form(reading).read(text)
        assert vote == {
            "criteria_met": False,
            "raw": "no",
            "reply": text,
            "explanation": "a roof",
        }
    raw = [
        criterion_form("official").read(f'{{"criteria_met": {value}}}')["raw"]
        for value in ("[1]", "1e999", "9" * 30, "2")
    ]
    assert raw == ["[1]", "Infinity", "9" * 30, 2]
    assert (
        len(
            criterion_form("official").read(f'{{"criteria_met": "{"x" * 5000}"}}')[
                "raw"
            ]
        )
        == 200
    )


@pytest.mark.parametrize(
    "piece",
    ['{"criteria_met"', f'{FENCE}json {{"', "}" + " " * 50, "\\" * 8, "{" * 8, "[" * 8],
)
def test_reading_a_hostile_reply_takes_time_linear_in_its_length(piece: str) -> None:
    started = time.process_time()
    with pytest.raises(ReplyError):
        official_object(piece * (200_000 // len(piece)))
    assert time.process_time() - started < 1

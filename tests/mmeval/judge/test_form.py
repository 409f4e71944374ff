from __future__ import annotations

from typing import Any

import pytest

from mmeval.errors import UsageError
from mmeval.judge.form import Choice, Number, ReplyForm, Text, YesNo
from mmeval.judge.json_reply import ReplyError
from tests.support.toy import reply

GRADE = ReplyForm((Text("reason"), Number("grade", 1, 5, unsure=True)))


# --- one reply --------------------------------------------------------------------------------------------------------


def test_the_form_says_what_is_asked_for() -> None:
    form = ReplyForm((Text("reason"), Number("grade", 1, 5, unsure=True), Choice("kind", ("a", "b")), YesNo("met")))

    assert form.asked == (
        '{"reason": <one or two sentences>, "grade": <a whole number from 1 to 5, or "not sure">, '
        '"kind": <one of "a", "b">, "met": <"yes" or "no">}'
    )


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        (Number("x", 1, 5), "4", 4),
        (Number("x", 1, 5), "4.0", 4),
        (Number("x", 1, 5), '"4"', 4),
        (Number("x", 0, 1, whole=False), "0.25", 0.25),
        (Number("x", 1, 5, unsure=True), '"Not sure."', None),
        (Choice("x", ("Good", "not bad")), '"good"', "Good"),
        (Choice("x", ("Good", "not bad")), '" Not  bad. "', "not bad"),
        (YesNo("x"), '"Yes."', True),
        (YesNo("x"), "false", False),
        (YesNo("x", unsure=True), '"not_sure"', None),
        (Text("x"), '"because"', "because"),
    ],
    ids=str,
)
def test_a_value_that_fits_is_read(field: Any, text: str, value: Any) -> None:
    assert ReplyForm((field,)).read(f'{{"x": {text}}}') == {"x": value}


@pytest.mark.parametrize(
    ("field", "text"),
    [
        *((Number("x", 1, 5), text) for text in ("0", "6", "3.5", "true", "null", '"4/5"', '"four"', '"1e999"', "[4]")),
        (Number("x", 1, 5), '"not sure"'),
        *((Choice("x", ("a", "b")), text) for text in ('"c"', '"a or b"', "1")),
        *((YesNo("x"), text) for text in ('"yes and no"', '"maybe"', "1", '"not sure"')),
        (Text("x", optional=False), "3"),
    ],
    ids=str,
)
def test_a_value_that_does_not_fit_is_refused_by_name(field: Any, text: str) -> None:
    with pytest.raises(ReplyError, match=r"^x is .*, not "):
        ReplyForm((field,)).read(f'{{"x": {text}}}')


def test_a_field_may_be_left_out_only_where_the_form_says_so() -> None:
    assert GRADE.read('{"grade": 3}') == {"grade": 3}
    assert GRADE.fault(reply('{"reason": "fine"}')) == "the reply's JSON lacks 'grade'"


def test_options_that_a_reply_could_not_tell_apart_are_refused() -> None:
    for options in (("a", "A."), ("a", ""), ("a", "not sure")):
        with pytest.raises(UsageError, match="cannot be told apart"):
            Choice("x", options, unsure=True)

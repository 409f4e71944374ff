from typing import Any

import pytest

from mmeval.errors import UsageError
from mmeval.metric.judge.form import (
    MAX_TEXT_CHARS,
    Choice,
    Number,
    ReplyForm,
    Text,
    YesNo,
)
from mmeval.metric.judge.json_reply import ReplyError
from tests.support.toy import reply


def test_the_form_says_what_is_asked_for() -> None:
    share = Number("share", 0, 1, whole=False)
    grade = Number("grade", 1, 5, unsure=True)
    form = ReplyForm(
        (Text("why", "words"), grade, share, Choice("kind", ("a", "b")), YesNo("met"))
    )
    fields = ('"why": <words>', '"grade": <a whole number from 1 to 5, or "not sure">')
    more = (
        '"share": <a number from 0 to 1>',
        '"kind": <one of "a", "b">',
        '"met": <"yes" or "no">',
    )
    assert form.asked == "{" + ", ".join((*fields, *more)) + "}"


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        (Number("x", 1, 5), "4", 4),
        (Number("x", 1, 5), "5.0", 5),
        (Number("x", 1, 5), '"1"', 1),
        (Number("x", 0, 1, whole=False), "0.25", 0.25),
        (Number("x", 1, 5, unsure=True), '"Not sure."', None),
        (Choice("x", ("Good", "not bad")), '"good"', "Good"),
        (Choice("x", ("a", "not b")), '" Not  b. "', "not b"),
        (YesNo("x"), '"Yes."', True),
        (YesNo("x"), "false", False),
        (YesNo("x", unsure=True), '"not_sure"', None),
        (Text("x"), '"because"', "because"),
        (Text("x"), f'"{"a" * 2001}"', "a" * MAX_TEXT_CHARS),
        (Number("x", 1, 5), f'"{"0" * 38}4"', 4),
        (Number("x", 1, 5), '"4/5"', 4),
        (Number("x", 1, 5), '" 4.0 / 5.0"', 4),
        (Number("x", 1, 5), '"4 out of 5"', 4),
        (YesNo("x"), '"True"', True),
    ],
    ids=str,
)
def test_a_value_that_fits_is_read(field: Any, text: str, value: Any) -> None:
    assert ReplyForm((field,)).read(f'{{"x": {text}}}') == {"x": value}
    assert MAX_TEXT_CHARS == 2000


NUMBERS = (
    "0",
    "6",
    "3.5",
    "true",
    "null",
    '"4/10"',
    '"4/"',
    '"4/5/5"',
    '"4.5/5"',
    '"1e999"',
    '"not sure"',
    f'"{"0" * 39}4"',
)
MISFITS: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (Number("x", 1, 5), NUMBERS),
    (Choice("x", ("a", "b")), ('"c"', "1")),
    (YesNo("x"), ('"maybe"', "1", '"not sure"')),
    (Text("x", optional=False), ("3",)),
)


@pytest.mark.parametrize(("field", "texts"), MISFITS)
def test_a_value_that_does_not_fit_is_refused_by_name(
    field: Any, texts: tuple[str, ...]
) -> None:
    for text in texts:
        with pytest.raises(ReplyError, match=r"^x is not "):
            ReplyForm((field,)).read(f'{{"x": {text}}}')


def test_a_field_may_be_left_out_only_where_the_form_says_so() -> None:
    form = ReplyForm((Text("reason"), Number("grade", 1, 5)))
    assert form.read('{"grade": 3}') == {"grade": 3}
    assert form.fault(reply('{"grade": 3}')) == ""
    assert "'grade'" in form.fault(reply('{"reason": "fine"}'))


def test_a_field_in_an_inner_object_is_read_with_those_beside_it() -> None:
    form = ReplyForm((Text("reason"), Number("grade", 1, 5)))
    inner = '{"evaluation": {"Reason": "fine", "Grade": "4/5"}}'
    assert form.read(inner) == {"reason": "fine", "grade": 4}


def test_options_that_a_reply_could_not_distinguish_are_refused() -> None:
    for options in (("a", "A."), ("a", ""), ("a", "not sure")):
        with pytest.raises(UsageError):
            Choice("x", options, unsure=True)
    Choice("x", ("a", "not sure"))


@pytest.mark.parametrize(
    ("field", "schema"),
    [
        (Number("x", 1, 5), {"type": "integer", "enum": [1, 2, 3, 4, 5]}),
        (Number("x", 0, 100), {"type": "integer", "minimum": 0, "maximum": 100}),
        (
            Number("x", 0, 1, whole=False),
            {"type": "number", "minimum": 0, "maximum": 1},
        ),
        (Choice("x", ("a", "b")), {"type": "string", "enum": ["a", "b"]}),
        (YesNo("x"), {"type": "string", "enum": ["yes", "no"]}),
        (
            YesNo("x", unsure=True),
            {
                "anyOf": [
                    {"type": "string", "enum": ["yes", "no"]},
                    {"type": "string", "enum": ["not sure"]},
                ]
            },
        ),
        (Text("x"), {"type": "string"}),
    ],
    ids=str,
)
def test_the_schema_of_a_field_allows_its_values(
    field: Any, schema: dict[str, Any]
) -> None:
    form = ReplyForm((field,)).schema

    assert form is not None
    assert form["properties"] == {"x": schema}


def test_the_schema_of_a_form_requires_all_fields_in_their_order() -> None:
    form = ReplyForm((Text("why"), YesNo("met"))).schema

    assert form is not None
    assert list(form["properties"]) == form["required"] == ["why", "met"]
    assert form["additionalProperties"] is False


def test_a_form_with_its_own_reader_has_no_schema() -> None:
    class Spoken(ReplyForm):
        def read(self, text: str) -> dict[str, Any]:
            return {"met": text}

    assert Spoken((YesNo("met"),)).schema is None


def test_a_field_without_a_schema_leaves_the_form_without_one() -> None:
    class Unknown:
        name = "x"
        optional = False
        unsure = False

        def asked(self) -> str:
            return "anything"

        def read(self, value: Any) -> Any:
            return value

    assert ReplyForm((YesNo("met"), Unknown())).schema is None

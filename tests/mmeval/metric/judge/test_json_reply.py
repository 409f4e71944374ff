import contextlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmeval.media.parts import text_part
from mmeval.metric.judge.json_reply import (
    ReplyError,
    accepts,
    read_object,
    read_objects,
    strict_json,
)
from mmeval.records.response import answered

READ: dict[str, tuple[str, dict[str, Any]]] = {
    "prose around it": (
        'I weigh {both sides}. {"grade": 4} That is all.',
        {"grade": 4},
    ),
    "single quotes": (
        "{'grade': 4, 'why': 'it is \"fine\"'}",
        {"grade": 4, "why": 'it is "fine"'},
    ),
    "trailing commas": ('{"grade": 4, "list": [1, 2,],}', {"grade": 4, "list": [1, 2]}),
    "words of Python": (
        '{"grade": None, "a": True, "b": False}',
        {"grade": None, "a": True, "b": False},
    ),
    "a line break in a text": ('{"grade": "a\nb"}', {"grade": "a\nb"}),
    "escapes": (r'{"grade": "\u00e9\ud83d\ude00\n\"\/"}', {"grade": 'é😀\n"/'}),
    "escapes that are none": (r'{"grade": "\alpha \d"}', {"grade": r"\alpha \d"}),
    "half a surrogate": (r'{"grade": "\ud83d"}', {"grade": "\ufffd"}),
    "the key as a word": (
        'My grade: 4, for "grade" means {grade}. {"grade": 4}',
        {"grade": 4},
    ),
    "doubled braces": ('{{"grade": 4}}', {"grade": 4}),
    "the same object twice": (
        '{"grade": 4, "a": 1} so {"a": 1, "grade": 4}',
        {"a": 1, "grade": 4},
    ),
    "escapes of blanks": (r'{"grade": "\t\r\b\f\\"}', {"grade": "\t\r\b\f\\"}),
    "as deep as it may be": (
        '{"grade": ' + "[" * 32 + "]" * 32 + "}",
        {"grade": json.loads("[" * 32 + "]" * 32)},
    ),
    "another case": ('{"Grade": 4}', {"grade": 4}),
    "the same value in two cases": ('{"GRADE": 4, "grade": 4}', {"grade": 4}),
    "an inner object beside others": (
        '{"id": 7, "scale": {"high": 5}, "verdict": {"Grade": 4}}',
        {"grade": 4},
    ),
    "an inner object of an inner one": ('{"a": {"b": {"grade": 4}}}', {"grade": 4}),
    "an object in a list": ('{"verdicts": [{"grade": 4}]}', {"grade": 4}),
    "an object with more of them inside": (
        '{"grade": 4, "before": {"grade": 2}}',
        {"grade": 4, "before": {"grade": 2}},
    ),
    "a share without quotes": ('{"grade": 4/5}', {"grade": "4/5"}),
    "as long as it may be": ('{"grade": 4}'.ljust(200_000), {"grade": 4}),
    "as many digits as there may be": (
        '{"grade": %s}' % ("1" * 64),
        {"grade": int("1" * 64)},
    ),
}


@pytest.mark.parametrize(("text", "found"), READ.values(), ids=READ)
def test_an_object_is_read_however_it_is_dressed_up(
    text: str, found: dict[str, Any]
) -> None:
    assert read_object(text, ["grade"]) == found


REFUSED = {
    "no object": ("four", "contains no JSON object"),
    "two different answers": (
        '{"grade": 4} or {"grade": 5}',
        "several different answers",
    ),
    "true is not 1": ('{"grade": true} or {"grade": 1}', "several different answers"),
    "two inner objects": (
        '{"first": {"grade": 4}, "second": {"grade": 5}}',
        "several different answers",
    ),
    "two inner objects of one value": (
        '{"first": {"grade": 4}, "second": {"grade": 4}}',
        "several different answers",
    ),
    "two values in two cases": ('{"grade": 4, "Grade": 5}', "two values of 'grade'"),
    "another case in a broken one": ('{"Grade": four} {"grade": 4}', "malformed"),
    "cut off in a value": ('{"grade": 4', "ends in the middle"),
    "cut off after a whole one": ('{"grade": 4} no: {"grade": ', "ends in the middle"),
    "cut off around a whole one": ('{"first": {"grade": 4}', "ends in the middle"),
    "a piece of a broken one": ('{"first": {"grade": 4}, oops}', "malformed"),
    "a key twice": ('{"grade": 4, "grade": 5}', "occurs twice"),
    "a quotation in a broken one": (
        '{"why": "it says "{"grade": 4}" itself", "grade": 1}',
        "malformed",
    ),
    "a quotation that ends what it stands in": (
        '{"why": "it says "}{"grade": 4}" itself", "grade": 1}',
        "malformed",
    ),
    "a broken one after a quotation": (
        'It says {"grade": 4}. {"grade": one}',
        "malformed",
    ),
    "a piece of a broken one without a wanted key": (
        '{"a": {"b": 4}, oops}',
        "contains no JSON object",
    ),
    "cut off in a word, after a brace in a text": (
        """{"}": {"grade": 4}, "b": {"grade": 5}, "c": nul""",
        "malformed",
    ),
    "a piece of a text that is cut off after a brace": (
        """{"a": x, "b": "} {'grade': 4} \\""",
        "malformed",
    ),
    "a first key that lacks a mark": (
        """{grade': 1, 'why': "} {'grade': 5}", 'b': "'"}""",
        "malformed",
    ),
    "a quotation in an escaped one": (
        r"""{\"grade\": 1, \"why\": \"says {'grade': 5}\"}""",
        "malformed",
    ),
    "no number of JSON": ('{"grade": NaN}', "malformed"),
    "leading zeros": ('{"grade": 04}', "malformed"),
    "a number without end": ('{"grade": 1e999}', "too large"),
    "too deep": ('{"grade": ' + "[" * 33, "nested deeper"),
    "too long": ('{"grade": 4}'.ljust(200_001), "more than 200000"),
    "too many digits": ('{"grade": %s}' % ("1" * 65), "malformed"),
}


@pytest.mark.parametrize(("text", "why"), REFUSED.values(), ids=REFUSED)
def test_what_would_be_a_guess_is_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(ReplyError, match=why):
        read_object(text, ["grade"])


def test_keys_may_have_blanks_or_dashes_for_underscores() -> None:
    for key in ("criteria_met", "Criteria Met", "criteria-met"):
        found = read_object(f'{{"{key}": true}}', ["criteria_met"])
        assert found == {"criteria_met": True}


def test_an_optional_key_has_the_spelling_that_was_asked_for() -> None:
    text = '{"Reason": "a", "reason": "b", "grade": 4}'
    found = read_object(text, ["grade"], optional=["reason"])
    assert found == {"reason": "b", "grade": 4}


def test_the_first_object_is_refused_without_the_key_whatever_follows() -> None:
    with pytest.raises(ReplyError, match="lacks"):
        read_object('{"a": 1} {"grade": 4}', ["grade"], first=True)


LISTS: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "nothing else": ('[{"a": 1}, {"a": 2}]', [{"a": 1}, {"a": 2}]),
    "prose and fences": (
        "Here [so to say]:\n```json\n[{'a': ']',},]\n``` Done [1].",
        [{"a": "]"}],
    ),
    "lists of other things": (
        '[1, 2] [] ["a"] [{"a": 1}, 2] [{"b": [1]}]',
        [{"b": [1]}],
    ),
    "two lists": ('[{"a": 1}] no: [{"a": 2}]', [{"a": 1}]),
    "in an object": ('{"plan": [{"a": 1}]}', [{"a": 1}]),
}


@pytest.mark.parametrize(("text", "found"), LISTS.values(), ids=LISTS)
def test_the_first_list_of_objects_is_read(
    text: str, found: list[dict[str, Any]]
) -> None:
    assert read_objects(text) == found


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("four [4]", "no list of JSON objects"),
        ('[{"a": 1}, {"a":', "ends in the middle"),
        ('[{"a": 1} {"a": 2}] [{"a": 3}]', "malformed"),
        ("[" * 40, "nested deeper"),
        ('[{"a": 4}]'.ljust(200_001), "more than 200000"),
    ],
    ids=["none", "cut off", "broken", "too deep", "too long"],
)
def test_a_list_that_would_be_a_guess_is_refused(text: str, why: str) -> None:
    with pytest.raises(ReplyError, match=why):
        read_objects(text)


def test_a_call_accepts_what_a_reader_can_read() -> None:
    good, bad = (
        accepts(read_object)(answered([text_part(text)]))
        for text in ('{"a": 1}', "none")
    )
    assert (good, bool(bad)) == ("", True)


def test_a_text_that_is_only_json_has_a_value() -> None:
    texts = ('{"a": 1}', " [1] ", "1 2", "", "[" * 100_000)
    assert [*map(strict_json, texts)] == [{"a": 1}, [1], None, None, None]


WITH_BRACES = st.text(st.sampled_from("{}\"'\\:, aé\n"), max_size=12)
QUICKLY = settings(max_examples=50, deadline=None)


@given(
    st.dictionaries(
        WITH_BRACES, WITH_BRACES | st.dictionaries(WITH_BRACES, WITH_BRACES), min_size=1
    ),
    st.data(),
)
@QUICKLY
def test_an_object_that_is_cut_off_anywhere_is_never_read(
    meant: dict[str, Any], data: st.DataObject
) -> None:
    text = json.dumps(meant)
    with pytest.raises(ReplyError):
        read_object(text[: data.draw(st.integers(0, len(text) - 1))])


@given(st.text(alphabet="{}[]\"'\\,:1tn \n", max_size=60))
@QUICKLY
def test_no_text_does_anything_but_be_read_or_refused(text: str) -> None:
    with contextlib.suppress(ReplyError):
        assert isinstance(read_object(text), dict)
    with contextlib.suppress(ReplyError):
        assert read_objects(text)

"""Reads the judge's reply about a criterion: ``{"criteria_met": true}``.

``robust`` reads the object; prose or fences may surround it. Every value except yes, no
and "not sure" is rejected, and the judge is asked again. ``official`` reads like the
released evaluator, oddities included. This reading only rejects a reply without an
object, and every value except yes counts as no.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from mmeval.metric.judge import (
    MAX_TEXT_CHARS,
    NOT_SURE,
    ReplyError,
    Vote,
    read_object,
    strict_json,
)
from mmeval.metrics.judged.reading import ReadForm, Reading

KEY = "criteria_met"
EXPLANATION = "explanation"
Remark = Literal["not_sure", "odd_value", "missing_key"]
"""Why a criterion is not met although the judge did not answer no. The judge is not
sure, or an official reply contains another value or no value."""
REMARKS: tuple[Remark, ...] = get_args(Remark)
MISSING: Remark | None = "missing_key"
YES, NO = ("true", "yes", "y", "1"), ("false", "no", "n", "0")
_MAX_RAW_CHARS, _LARGEST = 200, 2**53

# Possessive quantifiers: the patterns read hostile text in linear time.
_FENCE, _FENCE_END = re.compile(r"```json\s*+(?=\{)"), re.compile(r"\}(?=\s*+```)")
_KEYED, _BRACE = re.compile(rf'(?=\{{\s*+"(?:{KEY}|{EXPLANATION})")'), re.compile(r"\}")
_STRAY = re.compile(r'(?<!\\)\\(?!["\\/bfnrtu])')


@dataclass(frozen=True)
class CriterionField:
    """The field of the reply.

    The field is true if the criterion is met. "Not sure" is read as false.
    """

    name: str = KEY
    unsure: bool = False  # with True the form would read "not sure" as None
    optional: bool = False

    def asked(self) -> str:
        return f'true, false, or "{NOT_SURE}"'

    def read(self, value: Any) -> bool:
        met, remark = read_value(value)
        if remark == "odd_value":
            raise ReplyError(f"the value is not {self.asked()}")
        return met


@dataclass(frozen=True)
class CriterionForm(ReadForm):
    """The reply about a criterion.

    A vote also contains the ``raw`` value, the ``reply``, the judge's explanation if
    there is one, and the ``remark`` if the judge did not answer yes or no.
    """

    def read(self, text: str) -> Vote:
        if self.reading == "robust":
            reply: Mapping[str, Any] = read_object(text, [KEY], optional=[EXPLANATION])
            CriterionField().read(reply[KEY])
        else:
            reply = official_object(text)
        met, remark = False, MISSING
        if KEY in reply:
            met, remark = read_value(reply[KEY])
        raw = reply.get(KEY)
        is_small = isinstance(raw, int | float) and abs(raw) < _LARGEST
        if raw is not None and not is_small:
            # A string, a nested value, or a number that JSON cannot represent exactly
            # becomes a shortened string.
            text_of_raw = raw if isinstance(raw, str) else json.dumps(raw)
            raw = text_of_raw[:_MAX_RAW_CHARS]
        vote = {
            KEY: met,
            "raw": raw,
            "reply": text[:MAX_TEXT_CHARS],
        }
        if remark:
            vote["remark"] = remark
        explanation = reply.get(EXPLANATION)
        if isinstance(explanation, str):
            vote[EXPLANATION] = explanation[:MAX_TEXT_CHARS]
        return vote


def criterion_form(reading: Reading) -> CriterionForm:
    """Returns the form of a reply about a criterion."""
    return CriterionForm(
        (CriterionField(),), example=f'{{"{KEY}": true}}', reading=reading
    )


def read_value(value: Any) -> tuple[bool, Remark | None]:
    """Returns True if a value means yes, and a remark if it means neither yes nor no.

    A number means neither, since the released evaluator treats 1 as not met.
    """
    if isinstance(value, bool):
        return value, None
    word = value.strip().casefold() if isinstance(value, str) else ""
    if word in YES or word in NO:
        return word in YES, None
    if word == NOT_SURE:
        return False, "not_sure"
    return False, "odd_value"


def official_object(text: str) -> Mapping[str, Any]:
    """Finds the object of a reply like the released evaluator.

    The evaluator makes four attempts: the object in a fence marked ``json``, the first
    object that begins with one of the two keys (up to the next closing brace), the text
    from the first opening to the last closing brace, and this text with stray
    backslashes doubled. Official oddity: only the first match of each attempt is used,
    and only the last two attempts find an object that begins with another key. Raises
    ReplyError without an object.
    """
    whole = text[max(0, text.find("{")) : text.rfind("}") + 1]
    for candidate in (
        _between(_FENCE, _FENCE_END, text),
        _between(_KEYED, _BRACE, text),
        whole,
        _STRAY.sub(r"\\\\", whole),
    ):
        reply = strict_json(candidate)
        if isinstance(reply, dict):
            return reply
    raise ReplyError("the reply does not contain a JSON object")


def _between(
    opening: re.Pattern[str],
    closing: re.Pattern[str],
    text: str,
) -> str:
    """Returns the text after the first opening mark, up to the next closing mark.

    The text is empty if one of the two marks is missing.
    """
    start = opening.search(text)
    if start is None:
        return ""
    end = closing.search(text, start.end())
    if end is None:
        return ""
    return text[start.end() : end.end()]

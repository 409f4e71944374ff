"""The judge's reply about one criterion: ``{"criteria_met": true}``, and how it is
read.

``robust`` reads the object with prose and fences around it, and refuses what is no yes,
no or "not sure", after which the judge is asked again. ``official`` reads as the
released evaluator does, oddities included: it refuses only a reply without an object,
and everything that does not say yes is a no.
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
"""Why a criterion is not met though the judge has not said no: it is not sure, or an
official reply says something else or nothing."""
REMARKS: tuple[Remark, ...] = get_args(Remark)
MISSING: Remark | None = "missing_key"
YES, NO = ("true", "yes", "y", "1"), ("false", "no", "n", "0")
_MAX_RAW_CHARS, _LARGEST = 200, 2**53

_FENCE, _FENCE_END = re.compile(r"```json\s*+(?=\{)"), re.compile(r"\}(?=\s*+```)")
_KEYED, _BRACE = re.compile(rf'(?=\{{\s*+"(?:{KEY}|{EXPLANATION})")'), re.compile(r"\}")
_STRAY = re.compile(r'(?<!\\)\\(?!["\\/bfnrtu])')


@dataclass(frozen=True)
class Met:
    """Whether a criterion is met, as a bool: the one field of the reply. Not being sure
    is a no."""

    name: str = KEY
    unsure: bool = False  # the form would make it a value of its own
    optional: bool = False

    def asked(self) -> str:
        return f'true, false, or "{NOT_SURE}"'

    def read(self, value: Any) -> bool:
        met, remark = said(value)
        if remark == "odd_value":
            raise ReplyError(f"the value is not {self.asked()}")
        return met


@dataclass(frozen=True)
class MetForm(ReadForm):
    """The reply about one criterion. A vote also has the ``raw`` value, the ``reply``,
    the judge's explanation, where it gives one, and the ``remark`` of a no that the
    judge has not said."""

    def read(self, text: str) -> Vote:
        if self.reading == "robust":
            found: Mapping[str, Any] = read_object(text, [KEY], optional=[EXPLANATION])
            Met().read(found[KEY])
        else:
            found = official_object(text)
        met, remark = False, MISSING
        if KEY in found:
            met, remark = said(found[KEY])
        raw = found.get(KEY)
        is_small = isinstance(raw, int | float) and abs(raw) < _LARGEST
        if raw is not None and not is_small:
            # What is long, nested or no number of JSON becomes a cut text.
            text_of_raw = raw if isinstance(raw, str) else json.dumps(raw)
            raw = text_of_raw[:_MAX_RAW_CHARS]
        vote = {
            KEY: met,
            "raw": raw,
            "reply": text[:MAX_TEXT_CHARS],
        }
        if remark:
            vote["remark"] = remark
        words = found.get(EXPLANATION)
        if isinstance(words, str):
            vote[EXPLANATION] = words[:MAX_TEXT_CHARS]
        return vote


def met_form(reading: Reading) -> MetForm:
    """The reply about one criterion, read in one of the two ways."""
    return MetForm((Met(),), example=f'{{"{KEY}": true}}', reading=reading)


def said(value: Any) -> tuple[bool, Remark | None]:
    """Whether a value says yes, and why it is a no where it does not say so.
    A number is neither: the released evaluator counts 1 as not met."""
    if isinstance(value, bool):
        return value, None
    word = value.strip().casefold() if isinstance(value, str) else ""
    if word in YES or word in NO:
        return word in YES, None
    if word == NOT_SURE:
        return False, "not_sure"
    return False, "odd_value"


def official_object(text: str) -> Mapping[str, Any]:
    """The object of a reply as the released evaluator finds it; ReplyError without one.

    It is that of a fence marked ``json``; else the first that begins with one of the
    two keys, up to the next closing brace; else the text from the first opening brace
    to the last closing one, at last with stray backslashes doubled. Official oddity:
    only the first match of each way is tried, and an object with another key first
    waits for the last.
    """
    whole = text[max(0, text.find("{")) : text.rfind("}") + 1]
    for way in (
        _between(_FENCE, _FENCE_END, text),
        _between(_KEYED, _BRACE, text),
        whole,
        _STRAY.sub(r"\\\\", whole),
    ):
        found = strict_json(way)
        if isinstance(found, dict):
            return found
    raise ReplyError("the reply holds no JSON object")


def _between(
    opening: re.Pattern[str],
    closing: re.Pattern[str],
    text: str,
) -> str:
    """From the first opening to the first closing after it: a later opening has none
    where this one has none."""
    start = opening.search(text)
    if start is None:
        return ""
    end = closing.search(text, start.end())
    if end is None:
        return ""
    return text[start.end() : end.end()]

"""The judge's replies about ISG-Bench's answers, and how they are read.

    {"Judge": 7, "Reason": "..."}        a pair of blocks
    {"Judge": "Yes", "Reason": "..."}    a picture
    {"coherence": {"score": 7, "explanation": "..."}, ..., "overall_score": 7, "final_thoughts": "..."}

``robust`` reads the first object, with prose and fences around it, its keys in any
case, and refuses a reply without a usable value, after which the judge is asked again.
``official`` reads as the released script does: the whole reply is JSON with exact keys,
and what it cannot use counts in its own way.
"""  # noqa: E501

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from mmeval.metric.judge import (
    MAX_TEXT_CHARS,
    Number,
    ReplyError,
    Text,
    Vote,
    YesNo,
    read_object,
    strict_json,
)
from mmeval.metrics.judged.reading import UNREADABLE, ReadForm, Reading
from mmeval.records import Response

VERDICT, REASON, OVERALL = "Judge", "Reason", "overall_score"
LOWEST, HIGHEST = 1.0, 10.0
DIMENSIONS = (
    "coherence",
    "content_accuracy",
    "relevance_and_responsiveness",
    "visual_textual_alignment",
    "creativity_and_originality",
)
Remark = Literal["clamped", "unreadable", "unfit"]
"""What is odd about a value: it was outside of the scale; there was none; or it is none
that can be added up."""
_LARGEST = 10**300
"""Where numbers that count as they are end, so that they can be added up."""
_NUMBER = re.compile(
    r"\s*+([+-]?(?:\d{1,20}(?:\.\d{0,20})?|\.\d{1,20}))"
    r"\s*+(?:/\s*+10\s*+)?(?:\.\s*+)?"
)
_YES = re.compile(r"[\s\"'“”‘’*]*yes(?![^\W_])", re.IGNORECASE)


@dataclass(frozen=True)
class ScoreForm(ReadForm):
    """A reply with one number under ``key``. A vote has it (None: no usable one), and
    what is odd about it."""

    key: str = VERDICT

    def read_reply(self, response: Response) -> Vote:
        is_silent = response.is_refused and not response.text.strip()
        if is_silent and self.reads_refusals:
            # The released script has no reply at all then, and nothing to add up.
            return {self.key: None, "remark": "unfit"}
        return super().read_reply(response)

    def read(self, text: str) -> Vote:
        found = reply_object(text, self.key, self.reading)
        value, remark = score_of(found, self.key, self.reading)
        if self.reading == "robust" and value is None:
            raise ReplyError(
                f"{self.key} is {found.get(self.key.lower())!r:.80}, not a number "
                "from 1 to 10"
            )
        vote: dict[str, Any] = {self.key: value}
        if remark == "unreadable":
            vote[UNREADABLE] = True
        elif remark is not None:
            vote["remark"] = remark
        return {**vote, **_words(found, self.reading)}


@dataclass(frozen=True)
class YesForm(ReadForm):
    """A reply with yes or no under ``Judge``. Official: what is not text is *unfit*;
    the released script ends there."""

    def read(self, text: str) -> Vote:
        found = reply_object(text, VERDICT, self.reading)
        vote: dict[str, Any] = {VERDICT: says_yes(found, self.reading)}
        if self.reading == "robust":
            if VERDICT.lower() not in found:
                raise ReplyError(f"the reply has no {VERDICT}")
        elif VERDICT not in found:
            vote[UNREADABLE] = True
        elif not isinstance(found[VERDICT], str):
            vote["remark"] = "unfit"
        return {**vote, **_words(found, self.reading)}


@dataclass(frozen=True)
class WholeForm(ScoreForm):
    """The reply about a whole answer: its overall score, and those of the five
    dimensions as evidence."""

    analyze_first: bool = False

    @property
    def asked(self) -> str:
        number = "<a number from 1 to 10>"
        one = self._object({"score": number, "explanation": "<one sentence>"})
        whole = self._object(
            {OVERALL: number, "final_thoughts": "<one or two sentences>"}
        )
        each = "".join(f'"{name}": {one}, ' for name in DIMENSIONS)
        return f"{{{each}{whole[1:]}"

    def _object(self, pair: Mapping[str, str]) -> str:
        """Two keys with what is asked for, the words first where the judge is to
        analyze first."""
        keys = [f'"{key}": {asked}' for key, asked in pair.items()]
        if self.analyze_first:
            keys.reverse()
        return "{" + ", ".join(keys) + "}"

    def read(self, text: str) -> Vote:
        found = reply_object(text, self.key, self.reading)
        dimensions: dict[str, float] = {}
        for name in DIMENSIONS:
            score, _ = score_of(found, name, "robust")
            if score is not None:
                dimensions[name] = score
        return {**super().read(text), "dimensions": dimensions}


def scale(
    _pieces: Mapping[str, tuple[float, float]], switches: Mapping[str, Any]
) -> tuple[float, float]:
    """The range of a score. Official oddity: numbers outside of the scale count as they
    are."""
    if switches["reading"] == "official":
        return (-math.inf, math.inf)
    return (LOWEST, HIGHEST)


def score_form(reading: Reading, *, analyze_first: bool) -> ScoreForm:
    """The reply with a score of a pair of blocks."""
    number = Number(VERDICT, LOWEST, HIGHEST, whole=False)
    fields = _ordered(number, analyze_first=analyze_first)
    return ScoreForm(fields, example=f'{{"{VERDICT}": 10}}', reading=reading)


def yes_form(reading: Reading, *, analyze_first: bool) -> YesForm:
    """The reply with yes or no."""
    fields = _ordered(YesNo(VERDICT), analyze_first=analyze_first)
    return YesForm(fields, example=f'{{"{VERDICT}": "Yes"}}', reading=reading)


def whole_form(reading: Reading, *, analyze_first: bool) -> WholeForm:
    """The reply about a whole answer."""
    return WholeForm(
        (Number(OVERALL, LOWEST, HIGHEST, whole=False),),
        example=f'{{"{OVERALL}": 10}}',
        key=OVERALL,
        reading=reading,
        analyze_first=analyze_first,
    )


def reply_object(
    text: str,
    key: str,
    reading: Reading,
) -> Mapping[str, Any]:
    """The object of a reply: robust the first one or what has the key inside of it, its
    keys in small letters; official the whole reply as it stands, or empty."""
    if reading == "robust":
        return small_keys(read_object(text, [key], first=True))
    whole = strict_json(text)
    if isinstance(whole, dict):
        return whole
    return {}


def small_keys(found: Mapping[str, Any]) -> dict[str, Any]:
    """With the keys in small letters; of several that are alike then the first
    counts."""
    small: dict[str, Any] = {}
    for key, value in found.items():
        small.setdefault(str(key).casefold(), value)
    return small


def score_of(
    found: Mapping[str, Any], key: str, reading: Reading
) -> tuple[float | None, Remark | None]:
    """The number under a key, and what is odd about it; without a usable one None.

    Official oddity: numbers are taken as they are, true is 1, and a value that cannot
    be added up is *unfit*, which there makes the whole sample's score 1.
    """
    if reading == "official":
        value = found.get(key)
        if isinstance(value, float) and not math.isfinite(value):
            return None, "unfit"
        if isinstance(value, int | float):
            return float(min(max(value, -_LARGEST), _LARGEST)), None
        return None, "unfit" if key in found else "unreadable"
    key = key.casefold()
    value = found.get(key)
    if isinstance(value, Mapping):
        value = small_keys(value).get("score")
    number = _number(value)
    if number is None:
        return None, "unfit" if key in found else "unreadable"
    clamped = min(max(number, LOWEST), HIGHEST)
    if clamped == number:
        return clamped, None
    return clamped, "clamped"


def says_yes(found: Mapping[str, Any], reading: Reading) -> bool:
    """Whether the verdict is yes. Official: only a text that is exactly ``yes``, in any
    case."""
    if reading == "official":
        value = found.get(VERDICT)
        return isinstance(value, str) and value.lower() == "yes"
    value = found.get(VERDICT.lower())
    return value is True or (isinstance(value, str) and _YES.match(value) is not None)


def _number(value: Any) -> float | None:
    if isinstance(value, str):
        read = _NUMBER.fullmatch(value)
        return float(read[1]) if read else None
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return float(max(min(value, 10**9), -(10**9)))
    if isinstance(value, float) and math.isfinite(value):
        return value
    return None


def _ordered(
    verdict: Number | YesNo, *, analyze_first: bool
) -> tuple[Text | Number | YesNo, ...]:
    if analyze_first:
        return (Text(REASON), verdict)
    return (verdict, Text(REASON))


def _words(found: Mapping[str, Any], reading: Reading) -> dict[str, str]:
    key = REASON if reading == "official" else REASON.lower()
    value = found.get(key)
    if isinstance(value, str):
        return {REASON: value[:MAX_TEXT_CHARS]}
    return {}

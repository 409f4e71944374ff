"""Reads a judge's replies about ISG-Bench's answers.

    {"Judge": 7, "Reason": "..."}        a pair of blocks
    {"Judge": "Yes", "Reason": "..."}    a picture
    {"coherence": {"score": 7, "explanation": "..."}, ..., "overall_score": 7, "final_thoughts": "..."}

``robust`` reads the first object. Its keys may be in any case, and prose or fences may
surround it. It rejects a reply without a usable value, and the judge is asked again.
``official`` reads like the released script: the whole reply must be JSON with exact
keys, and an unusable value affects the score as in the script.
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
"""What is odd about a value: it is outside the scale, missing, or not a number that the
released script can add up."""
_LARGEST = 10**300
"""The bound of numbers that are not clamped to the scale. The bound keeps sums
finite."""
# Possessive quantifiers: the patterns read hostile text in linear time.
_NUMBER = re.compile(
    r"\s*+([+-]?(?:\d{1,20}(?:\.\d{0,20})?|\.\d{1,20}))"
    r"\s*+(?:/\s*+10\s*+)?(?:\.\s*+)?"
)
_YES = re.compile(r"[\s\"'“”‘’*]*yes(?![^\W_])", re.IGNORECASE)


@dataclass(frozen=True)
class ScoreForm(ReadForm):
    """A reply with one number under ``key``.

    A vote contains the number (None if it is unusable), and a remark if the value is
    odd.
    """

    key: str = VERDICT

    def read_reply(self, response: Response) -> Vote:
        is_empty_refusal = response.is_refused and not response.text.strip()
        if is_empty_refusal and self.reads_refusals:
            # In this case the released script has no reply, and nothing to add up.
            return {self.key: None, "remark": "unfit"}
        return super().read_reply(response)

    def read(self, text: str) -> Vote:
        reply = reply_object(text, self.key, self.reading)
        value, remark = score_of(reply, self.key, self.reading)
        if self.reading == "robust" and value is None:
            raise ReplyError(
                f"{self.key} is {reply.get(self.key.lower())!r:.80}, not a number "
                "from 1 to 10"
            )
        vote: dict[str, Any] = {self.key: value}
        if remark == "unreadable":
            vote[UNREADABLE] = True
        elif remark is not None:
            vote["remark"] = remark
        return {**vote, **_words(reply, self.reading)}


@dataclass(frozen=True)
class YesForm(ReadForm):
    """A reply with yes or no under ``Judge``.

    In the official reading, a value that is not a string is *unfit*, since the released
    script then ends with an exception.
    """

    def read(self, text: str) -> Vote:
        reply = reply_object(text, VERDICT, self.reading)
        vote: dict[str, Any] = {VERDICT: says_yes(reply, self.reading)}
        if self.reading == "robust":
            if VERDICT.lower() not in reply:
                raise ReplyError(f"the reply has no {VERDICT}")
        elif VERDICT not in reply:
            vote[UNREADABLE] = True
        elif not isinstance(reply[VERDICT], str):
            vote["remark"] = "unfit"
        return {**vote, **_words(reply, self.reading)}


@dataclass(frozen=True)
class WholeForm(ScoreForm):
    """A reply about a whole answer.

    Only the overall score is used. The scores of the five dimensions are evidence.
    """

    analyze_first: bool = False

    @property
    def asked(self) -> str:
        number = "<a number from 1 to 10>"
        dimension = self._object({"score": number, "explanation": "<one sentence>"})
        overall = self._object(
            {OVERALL: number, "final_thoughts": "<one or two sentences>"}
        )
        dimensions = "".join(f'"{name}": {dimension}, ' for name in DIMENSIONS)
        return f"{{{dimensions}{overall[1:]}"

    def _object(self, pair: Mapping[str, str]) -> str:
        """Returns two keys with the requested values.

        With ``analyze_first`` the words precede the number.
        """
        keys = [f'"{key}": {value}' for key, value in pair.items()]
        if self.analyze_first:
            keys.reverse()
        return "{" + ", ".join(keys) + "}"

    def read(self, text: str) -> Vote:
        reply = reply_object(text, self.key, self.reading)
        dimensions: dict[str, float] = {}
        for name in DIMENSIONS:
            score, _ = score_of(reply, name, "robust")
            if score is not None:
                dimensions[name] = score
        return {**super().read(text), "dimensions": dimensions}


def scale(
    _pieces: Mapping[str, tuple[float, float]], switches: Mapping[str, Any]
) -> tuple[float, float]:
    """Returns the range of a score.

    Official oddity: numbers outside the scale are used unchanged.
    """
    if switches["reading"] == "official":
        return (-math.inf, math.inf)
    return (LOWEST, HIGHEST)


def score_form(reading: Reading, *, analyze_first: bool) -> ScoreForm:
    """Returns the form of a reply with the score of a pair of blocks."""
    number = Number(VERDICT, LOWEST, HIGHEST, whole=False)
    fields = _ordered(number, analyze_first=analyze_first)
    return ScoreForm(fields, example=f'{{"{VERDICT}": 10}}', reading=reading)


def yes_form(reading: Reading, *, analyze_first: bool) -> YesForm:
    """Returns the form of a reply with yes or no."""
    fields = _ordered(YesNo(VERDICT), analyze_first=analyze_first)
    return YesForm(fields, example=f'{{"{VERDICT}": "Yes"}}', reading=reading)


def whole_form(reading: Reading, *, analyze_first: bool) -> WholeForm:
    """Returns the form of a reply about a whole answer."""
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
    """Returns the object in a reply.

    The robust reading takes the first object with the key, and its keys become
    lowercase. The official reading takes the whole reply, or an empty mapping if the
    reply is not an object.
    """
    if reading == "robust":
        return lower_keys(read_object(text, [key], first=True))
    whole = strict_json(text)
    if isinstance(whole, dict):
        return whole
    return {}


def lower_keys(reply: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the reply with lowercase keys.

    Of several equal keys, the first is kept.
    """
    lowered: dict[str, Any] = {}
    for key, value in reply.items():
        lowered.setdefault(str(key).casefold(), value)
    return lowered


def score_of(
    reply: Mapping[str, Any], key: str, reading: Reading
) -> tuple[float | None, Remark | None]:
    """Returns the number under a key (None if unusable), and what is odd about it.

    Official oddity: numbers are not clamped, true is 1, and a value that cannot be
    added up is *unfit*, which makes the score of the whole sample 1.
    """
    if reading == "official":
        value = reply.get(key)
        if isinstance(value, float) and not math.isfinite(value):
            return None, "unfit"
        if isinstance(value, int | float):
            return float(min(max(value, -_LARGEST), _LARGEST)), None
        return None, "unfit" if key in reply else "unreadable"
    key = key.casefold()
    value = reply.get(key)
    if isinstance(value, Mapping):
        value = lower_keys(value).get("score")
    number = _number(value)
    if number is None:
        return None, "unfit" if key in reply else "unreadable"
    clamped = min(max(number, LOWEST), HIGHEST)
    if clamped == number:
        return clamped, None
    return clamped, "clamped"


def says_yes(reply: Mapping[str, Any], reading: Reading) -> bool:
    """Returns True if the verdict is yes.

    The official reading accepts only ``yes``, in any case.
    """
    if reading == "official":
        value = reply.get(VERDICT)
        return isinstance(value, str) and value.lower() == "yes"
    value = reply.get(VERDICT.lower())
    return value is True or (isinstance(value, str) and _YES.match(value) is not None)


def _number(value: Any) -> float | None:
    if isinstance(value, str):
        match = _NUMBER.fullmatch(value)
        return float(match[1]) if match else None
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


def _words(reply: Mapping[str, Any], reading: Reading) -> dict[str, str]:
    key = REASON if reading == "official" else REASON.lower()
    value = reply.get(key)
    if isinstance(value, str):
        return {REASON: value[:MAX_TEXT_CHARS]}
    return {}

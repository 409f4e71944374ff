"""Finds the answer in a longer text: the switch ``extract`` of text metrics."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeAlias

from mmeval.metrics.text.numbers import last_number
from mmeval.system import Condition, regex_fault

_BRACES = re.compile(r"(?P<box>\\(?:boxed|fbox)\s*\{)|\\.|[{}]", re.DOTALL)
_FORMS = (
    "'last_number', 'boxed', {after: MARK}, or a regular expression such as 'answer "
    "is (.*)'"
)


def _regexes_fault(patterns: Any) -> str:
    for pattern in patterns:
        if fault := regex_fault(pattern):
            return fault
    return ""


def _extract_fault(extract: Any) -> str:
    if isinstance(extract, Mapping):
        mark = extract.get("after")
        if extract.keys() == {"after"} and isinstance(mark, str) and mark:
            return ""
        return _FORMS
    if extract in ("", "last_number", "boxed"):
        return ""
    if re.fullmatch(r"\w+", extract):
        # As a pattern, a single word only matches itself, so it is a misspelt name.
        return _FORMS
    return regex_fault(extract)


Extract: TypeAlias = Annotated[str | Mapping[str, str], Condition(_extract_fault)]
"""Where the answer is in a text: ``last_number``, ``boxed``, ``{after: MARK}`` or a
regular expression. If the switch is empty, the whole text is the answer."""
Regexes: TypeAlias = Annotated[Sequence[str], Condition(_regexes_fault)]
"""Regular expressions."""


def extracted(text: str, extract: Extract) -> str | None:
    """Returns the answer in a text, or None if the text has no answer.

    Of several answers the last is returned, since a text that reasons ends with its
    answer. For a regular expression the answer is the first group that is not empty, or
    the whole match if there is no group.

    >>> extracted("4 + 5 = \\\\boxed{9}", "boxed")
    '9'
    >>> extracted("Half of it, so #### 18", {"after": "####"})
    '18'
    >>> extracted("The answer is oak.", "answer is (\\\\w+)")
    'oak'
    """
    if not extract:
        return text
    if isinstance(extract, Mapping):
        _, mark, after = text.rpartition(extract["after"])
        return after.strip() if mark else None
    if extract == "last_number":
        number = last_number(text)
        return number.text if number else None
    if extract == "boxed":
        return _last_boxed(text) or None
    answer: str | None = None
    for match in re.finditer(extract, text):
        groups = [group for group in match.groups() if group]
        answer = (groups or match)[0].strip()
    return answer


def _last_boxed(text: str) -> str:
    """Returns the content of the last closed ``\\boxed{...}``, with inner braces."""
    content = ""
    opened: list[int | None] = []
    for brace in _BRACES.finditer(text):
        if brace["box"]:
            opened.append(brace.end())
        elif brace[0] == "{":
            opened.append(None)
        elif brace[0] == "}" and opened:
            start = opened.pop()
            if start is not None:
                content = text[start : brace.start()]
    return content.strip()

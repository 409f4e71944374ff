"""Checks constraints on a text: its beginning, end, keywords and length."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from mmeval.errors import UsageError, did_you_mean
from mmeval.metric import metric
from mmeval.metrics.text.normalisers import NORMALISERS, speech
from mmeval.metrics.text.words import count_words
from mmeval.records import Sample, Score, Trial

Missing = Literal["zero", "empty_text"]
"""How an answer without text is scored: 0, or like an empty text, which can meet
constraints."""

MAX_ITEMS = 100
"""Maximum number of constraints in a row, and of strings in a constraint."""
MAX_CHARS = 10_000
"""Maximum number of characters in a string."""


def _check(sample: Sample, switches: Mapping[str, Any]) -> str:
    key = switches["constraint_key"]
    try:
        constraints_of(sample.metadata.get(key))
    except UsageError as error:
        return f"the row's label {key!r}: {error}"
    return ""


@metric(
    range=(0, 1),
    version="2",
    source="MMMG, Transcript Generation and Transcript Editing; official: audio "
    "evaluators 54527db8",
    profiles={"official": {"lower_keywords": False, "missing": "empty_text"}},
    check=_check,
)
def text_constraints(
    trial: Trial,
    *,
    constraint_key: str = "constraint",
    normalise: Literal["speech", "none"] = "none",
    lower_keywords: bool = True,
    missing: Missing = "zero",
) -> Score:
    """1 if the answer's text meets every constraint of the row, else 0.

    Range 0 to 1, higher is better. The text is the answer's text parts, in lowercase
    and without white space at both ends. The answer is unscored if the label is
    invalid. ``mmeval check`` names such rows.

    The label is a constraint or a list of constraints:

    - ``["exact_match", TEXT]``: the text equals TEXT, normalised as speech.
    - ``["start", TEXT]``, ``["end", TEXT]``: the text begins or ends with TEXT,
      normalised as speech.
    - ``["keyword_include", WORD, ...]``: the text contains every keyword, anywhere.
    - ``["keyword_exclude", WORD, ...]``: the text does not contain any keyword.
    - ``["keyword_count", WORD, NUMBER]``: the number of times that the keyword occurs.
    - ``["length_word", NUMBER]``: the number of words. ``can't`` and ``it's`` count as
      two words each.

    NUMBER is a comparison such as ``== 10``, ``< 20`` or ``>= 20 and count <= 35``.

    Not measured: whether the text makes sense.

    Labels, for example: ``{"constraint": ["keyword_include", "harbour", "lamp"]}``.

    Switches:

    - ``constraint_key``: the label.
    - ``normalise``: ``none``, or ``speech`` to normalise the answer like a transcript.
    - ``lower_keywords``: compare keywords in lowercase, like the text. The released
      script does not, so it never finds a keyword with a capital.
    - ``missing``: an answer without text scores 0 (``zero``), or is an ``empty_text``
      that can meet constraints, as in the released script.

    Evidence: each constraint, whether it is ``met``, and the number ``found``.

    Example: ``mmeval try metric text_constraints --answer "The harbour lamp"
    --metadata '{"constraint": ["length_word", "< 3"]}'`` gives 0.
    """
    if trial.output is None:
        return Score.unscored("there is no answer to score")
    try:
        constraints = constraints_of(trial.sample.metadata.get(constraint_key))
    except UsageError as error:
        return Score.unscored(f"the row's label {constraint_key!r}: {error}")
    text = trial.output.words
    if not text.strip() and missing == "zero":
        return Score(0.0, evidence={"reason": "the answer has no text"})
    results = all_met(
        NORMALISERS[normalise](text), constraints, lower_keywords=lower_keywords
    )
    return Score(float(results.met), evidence={"constraints": results.evidence})


class ConstraintResults(NamedTuple):
    """The result of all constraints, and the evidence of each constraint."""

    met: bool
    evidence: list[dict[str, Any]]


def all_met(
    text: str, constraints: Sequence[Constraint], *, lower_keywords: bool = True
) -> ConstraintResults:
    """Checks the constraints on a text, such as a normalised transcript.

    Without constraints, every text passes. ``lower_keywords`` is the switch of
    ``text_constraints``.
    """
    compared = text.lower().strip()
    evidence = [
        constraint.checked(compared, lower_keywords=lower_keywords)
        for constraint in constraints
    ]
    return ConstraintResults(all(found["met"] for found in evidence), evidence)


class CountCondition(NamedTuple):
    """A condition on a number. The number meets the condition if all limits hold."""

    written: str
    limits: tuple[tuple[Callable[[int, int], bool], int], ...]

    def holds(self, count: int) -> bool:
        return all(compare(count, limit) for compare, limit in self.limits)


class Constraint(NamedTuple):
    """A constraint: its kind, its texts or keywords, and any condition on a number."""

    kind: str
    words: tuple[str, ...]
    condition: CountCondition | None = None

    def checked(self, text: str, *, lower_keywords: bool) -> dict[str, Any]:
        """Checks a text and returns the constraint, ``met``, and the counted number."""
        if self.kind in _NORMALISED:
            words = list(map(speech, self.words))
        elif lower_keywords:
            words = list(map(str.lower, self.words))
        else:
            # Official oddity (54527db8): the text is in lowercase, but the keywords are
            # not. A keyword with a capital is never found. So a constraint that
            # excludes it is always met, and a constraint that includes it is never met.
            words = list(self.words)
        written = [self.kind, *self.words]
        if self.condition is None:
            return {"constraint": written, "met": _TESTS[self.kind](text, words)}
        number = (
            count_words(text) if self.kind == "length_word" else text.count(words[0])
        )
        return {
            "constraint": [*written, self.condition.written],
            "met": self.condition.holds(number),
            "found": number,
        }


_NORMALISED = ("exact_match", "start", "end")
_COUNTED = ("keyword_count", "length_word")
_TESTS: Mapping[str, Callable[[str, Sequence[str]], bool]] = {
    "exact_match": lambda text, words: text == words[0],
    "start": lambda text, words: text.startswith(words[0]),
    "end": lambda text, words: text.endswith(words[0]),
    "keyword_include": lambda text, words: all(word in text for word in words),
    "keyword_exclude": lambda text, words: not any(word in text for word in words),
}
_ARGUMENTS: Mapping[str, str] = {
    "exact_match": "one text",
    "start": "one text",
    "end": "one text",
    "keyword_include": "keywords",
    "keyword_exclude": "keywords",
    "keyword_count": "one keyword and a count",
    "length_word": "a count of words",
}
KINDS = tuple(_ARGUMENTS)


def constraints_of(label: Any) -> tuple[Constraint, ...]:
    """Reads a label's constraint or list of constraints. Raises UsageError.

    >>> [row.kind for row in constraints_of([["start", "together"], ["length_word", "< 20"]])]
    ['start', 'length_word']
    """  # noqa: E501
    if not isinstance(label, (list, tuple)) or not label:
        raise UsageError(
            f"write a constraint [kind, ...] or a list of them, not {label!r:.80}"
        )
    written = [label] if isinstance(label[0], str) else list(label)
    if len(written) > MAX_ITEMS:
        raise UsageError(
            f"it has {len(written)} constraints; at most {MAX_ITEMS} are allowed"
        )
    return tuple(map(_constraint, written))


def _constraint(written: Any) -> Constraint:
    is_list = isinstance(written, (list, tuple))
    if not is_list or not all(
        isinstance(item, str) and item.strip() for item in written
    ):
        raise UsageError(
            f"a constraint is a list of non-empty strings, not {written!r:.80}"
        )
    if len(written) > MAX_ITEMS or max(map(len, written), default=0) > MAX_CHARS:
        raise UsageError(
            f"a constraint has at most {MAX_ITEMS} texts of {MAX_CHARS} characters: "
            f"{written!r:.80}"
        )
    kind, *words = written or [""]
    if kind not in KINDS:
        near = did_you_mean(kind, KINDS) or f"; there are {', '.join(KINDS)}"
        raise UsageError(f"unknown kind of constraint {kind!r:.80}{near}")
    count = None
    if kind in _COUNTED and words:
        count = parsed_condition(words.pop())
    number = len(words)
    if kind == "length_word":
        fits = count is not None and number == 0
    elif kind == "keyword_count":
        fits = count is not None and number == 1
    elif kind in _NORMALISED:
        fits = number == 1
    else:
        fits = number >= 1
    if not fits:
        raise UsageError(f"{kind} needs {_ARGUMENTS[kind]}, not {list(written)!r:.80}")
    return Constraint(kind, tuple(words), count)


def parsed_condition(written: str) -> CountCondition:
    """Parses a condition such as ``>= 20 and count <= 35``. The text is never executed.

    Raises UsageError for another form.

    >>> parsed_condition(">= 20 and count <= 35").holds(36)
    False
    """
    limits: list[tuple[Callable[[int, int], bool], int]] = []
    for piece in re.split(r"\band\b", written):
        term = _TERM.fullmatch(piece)
        if term is None:
            raise UsageError(
                "write a number as '== 10' or '>= 20 and count <= 35', not "
                f"{written!r:.80}"
            )
        limits.append((_OPERATORS[term[1]], int(term[2])))
    return CountCondition(written, tuple(limits))


_TERM = re.compile(r"\s*(?:count\s*)?(==|!=|<=|>=|<|>)\s*([0-9]{1,9})\s*", re.ASCII)
_OPERATORS: Mapping[str, Callable[[int, int], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}

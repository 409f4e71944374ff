"""States the result of a comparison in words: one sentence for each compared run."""

from __future__ import annotations

from collections.abc import Iterator

from mmeval.comparison.compare import Comparison
from mmeval.comparison.number import VERDICT_WORDS
from mmeval.comparison.run_pair import ONE_SIDED

_MOST_NAMED = 2
_DIFFERENT = (VERDICT_WORDS["better"], VERDICT_WORDS["worse"])
"""Numbers with these verdicts come first, and are named. Of the others, one is named
and several are counted."""


def verdict_sentences(comparison: Comparison) -> Iterator[str]:
    """Yields the verdicts of each compared run, such as ``omni-2 against omni-1: better
    in VQA, accuracy; no difference seen in 2 numbers``. Slices are not included."""
    reference, *others = comparison.names
    for run in others:
        by_words: dict[str, list[str]] = {words: [] for words in _DIFFERENT}
        in_one_run = 0
        for number in comparison.numbers:
            if number.run != run or number.slice:
                continue
            if number.why == ONE_SIDED:
                in_one_run += 1
            else:
                by_words.setdefault(number.verdict_words, []).append(number.title)
        clauses = []
        for words, titles in by_words.items():
            if titles:
                clauses.append(f"{words} in {_named(words, titles)}")
        if in_one_run:
            clauses.append(f"numbers in one run only: {in_one_run:,}")
        yield f"{run} against {reference}: {'; '.join(clauses) or 'no number'}"


def _named(words: str, titles: list[str]) -> str:
    count = len(titles)
    if words not in _DIFFERENT and count > 1:
        return f"{count:,} numbers"
    # titles contain commas
    named = " and ".join(titles[:_MOST_NAMED])
    return f"{named} and {count - _MOST_NAMED:,} more" if count > _MOST_NAMED else named

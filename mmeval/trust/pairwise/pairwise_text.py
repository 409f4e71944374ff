"""Formats pairwise comparisons as text in at most 80 columns."""

from __future__ import annotations

from collections.abc import Iterator

from mmeval.forecast.estimate import RoleLoad, TokenRange
from mmeval.report.short_table import number_text
from mmeval.system.wording import printable
from mmeval.trust.pairs.ranking_text import ranking_sentence, ranking_table
from mmeval.trust.pairwise.pairwise import Pairwise
from mmeval.trust.text import labelled, note

_WIDEST_NAME = 24
_LEFT_OUT = {
    "not_asked": "answers without a partner: {:,}",
    "asked_otherwise": "pairs with different questions: {:,}",
    "failed": "pairs with a failed answer: {:,}",
}


def pairwise_text(result: Pairwise, width: int) -> str:
    """Returns the text that the command prints: the order, then each run."""
    ranking = result.ranking
    if ranking is None:
        lines = [*labelled("verdict", "no pair has an outcome.", width), ""]
    else:
        lines = [*labelled("verdict", f"{ranking_sentence(ranking)}.", width), ""]
        lines += ranking_table(ranking, width)
    for text in _notes(result):
        lines += note(text, width)
    return "".join(f"{line}\n" for line in lines)


def pair_calls_text(
    load: RoleLoad, judge: str, pairs: int, dollars: TokenRange | None, width: int
) -> str:
    """Returns what a dry run prints: the calls, and their price if it is known."""
    cost = "price unknown"
    if dollars is not None:
        cost = f"{dollars.low:,.2f} to {dollars.high:,.2f} dollars"
    sentence = (
        f"{_short(judge)} would compare {pairs:,} pairs of answers, in "
        f"{load.calls:,.0f} calls ({cost})."
    )
    return "".join(f"{line}\n" for line in labelled("dry run", sentence, width))


def _notes(result: Pairwise) -> Iterator[str]:
    asked = result.asked
    yield f"judge: {_short(result.judge)}, asked about {asked:,} pairs in both orders"
    if asked:
        share = number_text(result.inconsistent / asked)
        yield (
            f"pairs whose two orders differ, counted as ties: {result.inconsistent:,} "
            f"({share})"
        )
    if result.without_judge:
        yield f"pairs with equal or empty answers, not asked: {result.without_judge:,}"
    if result.without_outcome:
        yield f"pairs without a verdict: {result.without_outcome:,}"
    for reason, count in result.left_out.items():
        if count:
            yield f"left out: {_LEFT_OUT[reason].format(count)}"


def _short(name: str) -> str:
    return printable(name, limit=_WIDEST_NAME)

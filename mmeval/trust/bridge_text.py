"""Formats bridged numbers as text in at most 80 columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from mmeval.comparison.statistics import LEVEL
from mmeval.report.short_table import number_text
from mmeval.run.costs.prices import Price
from mmeval.store.spending import CallTotals
from mmeval.system.wording import listed, printable
from mmeval.trust.bridge import NOT_RANDOM, Bridge, BridgedRun
from mmeval.trust.text import interval_text, labelled, note, p_text, signed, table

_WIDEST_NAME = 18
_WIDEST_IN_PAIR = 11
_MOST_NAMED = 5
_RUN_HEADS = ("run", "asked", "old", "new", "95 %", "new - old")
_CALL_HEADS = ("run", "answers", "calls")
_PAIR_HEADS = ("pair", "old", "new", "95 %", "p", "verdict")


def bridge_text(result: Bridge, old: str, new: str, width: int) -> str:
    """Returns the text that the command prints: what is carried over, then each run
    and each pair of runs. ``old`` and ``new`` are the judges."""
    lines: list[str] = []
    for sentence in _sentences(result, old, new):
        lines += labelled("verdict", f"{sentence}.", width)
    if result.runs:
        lines.append("")
        lines += table(_RUN_HEADS, _run_rows(result.runs))
        for run in result.runs:
            if run.why:
                lines += note(f"{_short(run.run)} has no number: {run.why}", width)
    if result.pairs:
        lines.append("")
        lines += table(_PAIR_HEADS, _pair_rows(result))
        if len(result.pairs) > 1:
            lines += note(f"Holm over {len(result.pairs):,} tests", width)
    return "".join(f"{line}\n" for line in lines)


def calls_text(
    runs: Iterable[tuple[str, int, CallTotals]],
    new: str,
    price: Price | None,
    width: int,
) -> str:
    """Returns what a dry run prints: the answers that the new judge would judge, and
    what the old judge needed for them. ``price`` is that of the new judge."""
    rows: list[Sequence[str]] = []
    answers = 0
    total = CallTotals()
    for name, of_run, spent in runs:
        rows.append((_short(name), f"{of_run:,}", f"{spent.answered:,}"))
        answers += of_run
        total += spent
    cost = "price unknown"
    if price is not None:
        cost = f"about {price.cost(total):,.2f} dollars"
    sentence = (
        f"{_short(new)} would judge {answers:,} answers, in about "
        f"{total.answered:,} calls ({cost})."
    )
    lines = labelled("dry run", sentence, width)
    lines.append("")
    lines += table(_CALL_HEADS, rows)
    lines += note("Calls are those of the old judge for the same answers.", width)
    return "".join(f"{line}\n" for line in lines)


def _sentences(result: Bridge, old: str, new: str) -> Iterator[str]:
    judges = f"from {_short(old)} to {_short(new)}"
    if result.refused:
        sentence = f"nothing is carried over {judges}: {result.refused}"
        if result.refused == NOT_RANDOM:
            sentence += "; if they were, use --assume_random"
        if result.samples:
            sentence += f" ({listed(list(result.samples), _MOST_NAMED)})"
        yield sentence
        return
    carried = sum(run.new is not None for run in result.runs)
    yield f"{carried:,} of {len(result.runs):,} runs have a number {judges}"
    if result.pairs:
        counts = Counter(pair.verdict for pair in result.pairs)
        words = [f"{name} {count:,}" for name, count in sorted(counts.items())]
        yield f"order of pairs: {', '.join(words)}"
    if result.homogeneity is None:
        return
    p = p_text(result.homogeneity.p)
    if result.homogeneity.p < LEVEL:
        yield (
            f"{_short(new)} favours some runs (p {p}), so no single shift may be "
            "added to old numbers"
        )
    else:
        yield f"no run is seen to be favoured (p {p})"


def _run_rows(runs: Sequence[BridgedRun]) -> Iterator[Sequence[str]]:
    for run in runs:
        value = None if run.new is None else run.new.value
        ends = None if run.new is None else run.new.ci95
        yield (
            _short(run.run),
            f"{run.asked:,}/{run.trials:,}",
            number_text(run.old),
            number_text(value),
            interval_text(ends),
            "-" if run.shift is None else signed(run.shift.value),
        )


def _pair_rows(result: Bridge) -> Iterator[Sequence[str]]:
    for pair in result.pairs:
        yield (
            f"{_in_pair(pair.b)} - {_in_pair(pair.a)}",
            signed(pair.old),
            signed(pair.new.value),
            interval_text(pair.new.ci95),
            p_text(pair.p_adjusted),
            pair.verdict,
        )


def _short(name: str) -> str:
    return printable(name, limit=_WIDEST_NAME)


def _in_pair(name: str) -> str:
    return printable(name, limit=_WIDEST_IN_PAIR)

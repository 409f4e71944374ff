"""Formats a calibration as text in at most 80 columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mmeval.report.short_table import number_text
from mmeval.system.wording import printable, wrapped
from mmeval.trust.calibrate import (
    NOT_RANDOM,
    Calibration,
    CalibrationOptions,
    CalibrationResult,
)
from mmeval.trust.text import interval_text, labelled, note, p_text, signed, table

_WIDEST_NAME = 24
_LEFT_OUT = {
    "no_score": "rated trials without a score: {:,}",
    "no_majority": "rated trials without a majority: {:,}",
    "gold": "trials that were chosen to check raters: {:,}",
}
_HEADS = ("", "value", "95 %", "these trials, 95 %")


def calibration_text(calibration: Calibration, width: int) -> str:
    """Returns the text that the command prints: the result first, then each run and
    slice with its three values."""
    lines: list[str] = []
    for sentence in _sentences(calibration):
        lines += labelled("verdict", f"{sentence}.", width)
    for result in calibration.results:
        lines.append("")
        lines += _block(result, calibration.options, width)
    return "".join(f"{line}\n" for line in lines)


def _sentences(calibration: Calibration) -> Iterator[str]:
    options = calibration.options
    for result in calibration.results:
        if not result.slice:
            yield _sentence(result, options)
    if calibration.refused:
        yield f"no difference: {calibration.refused}"
    difference = calibration.difference
    if difference is not None:
        name_a, name_b = _short(options.run), _short(options.against)
        yield (
            f"{name_b} minus {name_a}: {signed(difference.value)} "
            f"({interval_text(difference.ci95)}), p {p_text(difference.p)}"
        )


def _sentence(result: CalibrationResult, options: CalibrationOptions) -> str:
    metric = _short(options.metric)
    subject = f"{_short(result.run)}, {metric}" if result.run else metric
    alone = number_text(result.judge.value)
    if result.corrected is None:
        return f"{subject}: {alone}, not corrected: {result.refused or result.why}"
    return (
        f"{subject}: {number_text(result.corrected.value)} "
        f"({interval_text(result.corrected.ci95)}) after correction, {alone} before it"
    )


def _block(
    result: CalibrationResult, options: CalibrationOptions, width: int
) -> list[str]:
    title = f"{result.ratings:,} of {result.trials:,} trials rated"
    if result.clusters != result.trials:
        title += f", {result.rated_clusters:,} of {result.clusters:,} clusters"
    names = [_short(name) for name in (result.run, result.slice) if name]
    lines = wrapped(", ".join([*names, title]), width, indent="   ")
    lines += table(_HEADS, _rows(result, options))
    for text in _notes(result, options):
        lines += note(text, width)
    return lines


def _rows(
    result: CalibrationResult, options: CalibrationOptions
) -> Iterator[Sequence[str]]:
    judge = result.judge
    yield (
        f"{_short(options.metric)} alone",
        number_text(judge.value),
        interval_text(judge.ci95),
        "",
    )
    for name, estimate in (
        ("people alone", result.people),
        ("corrected", result.corrected),
    ):
        if estimate is not None:
            yield (
                name,
                number_text(estimate.value),
                interval_text(estimate.ci95),
                interval_text(estimate.ci95_run),
            )


def _notes(result: CalibrationResult, options: CalibrationOptions) -> Iterator[str]:
    if result.refused == NOT_RANDOM:
        yield "refused: not drawn at random; if they were, use --assume_random"
    elif result.refused:
        yield f"refused: {result.refused}"
    elif result.why:
        yield f"not corrected: {result.why}"
    for reason, count in result.left_out.items():
        yield _LEFT_OUT[reason].format(count)
    # a slice repeats the counts of the whole
    strata = {} if result.slice else result.strata
    for name, count_of in strata.items():
        yield (
            f"{_short(options.strata)} {_short(name)}: {count_of.ratings:,} of "
            f"{count_of.trials:,} rated"
        )
    needed = result.needed
    if needed is not None and needed.ratings is not None:
        yield (f"{needed.ratings:,} ratings give a half width of {options.precision:g}")
    elif needed is not None:
        yield (
            f"ratings of all trials give a half width of "
            f"{number_text(needed.least_half_width)}, not {options.precision:g}"
        )
    sequence = result.sequence
    if sequence is not None:
        ends = interval_text(sequence.ci95) if sequence.ci95 else "unknown yet"
        yield (
            f"holds at every look: {number_text(sequence.value)}, {ends}, after "
            f"{sequence.clusters:,} clusters"
        )
    yield from result.remarks


def _short(name: str) -> str:
    return printable(name, limit=_WIDEST_NAME)

"""Formats an agreement as text in at most 80 columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mmeval.report.short_table import number_text
from mmeval.system.wording import listed, printable
from mmeval.trust.agreement.agree import Agreement, AgreementSlice
from mmeval.trust.agreement.jackknife import AgreementStatistic
from mmeval.trust.agreement.raters import FEWEST_SELF_PAIRS, RaterAgreement
from mmeval.trust.human_values import HumanValue
from mmeval.trust.pairs.ranking_text import ranking_sentence, ranking_table
from mmeval.trust.text import interval_text, labelled, note, signed, table

_WIDEST_NAME = 24
_MOST_NAMED = 5
_WIDE = 0.05
_NAMES = {
    "accuracy": "accuracy",
    "kappa": "kappa",
    "kappa_linear": "kappa, linear",
    "kappa_quadratic": "kappa, quadratic",
    "pearson": "Pearson",
    "spearman": "Spearman",
    "kendall": "Kendall",
    "pairwise_accuracy": "pairwise accuracy",
    "mean_error": "mean error",
    "mean_absolute_error": "mean absolute error",
}
_SIGNED = frozenset({"mean_error"})
_AS_THEY_ARE = frozenset({"accuracy", "pairwise_accuracy", "mean_absolute_error"})
"""Shares and errors, whose decimals mean something even if the interval is wide."""
_EQUAL_PAIRS = "equal pairs of raters"
_SHORT = ("accuracy", "kappa", "pearson", "spearman")
"""The statistics of slices."""
_LEFT_OUT = {
    "no_score": "rated trials without a score: {:,}",
    "no_majority": "rated trials without a majority: {:,}",
    "no_rating": "scored trials without a rating: {:,}",
}


def agreement_text(agreement: Agreement, skipped: Mapping[str, int], width: int) -> str:
    """Returns the text that the command prints: the result first, then the details.

    ``skipped`` counts the records of the files that are left out, by reason.
    """
    lines: list[str] = []
    for sentence in _sentences(agreement):
        lines += labelled("verdict", f"{sentence}.", width)
    if agreement.whole is not None:
        lines.append("")
        lines += _of_metric(agreement, agreement.whole, width)
        lines += _of_slices(agreement)
    if agreement.raters.trials:
        lines.append("")
        lines += _of_raters(agreement.raters, agreement.metric, width)
    if agreement.pairs is not None:
        lines.append("")
        lines += ranking_table(agreement.pairs, width)
    for text in _last_notes(agreement, skipped):
        lines += note(text, width)
    return "".join(f"{line}\n" for line in lines)


def _sentences(agreement: Agreement) -> Iterator[str]:
    whole = agreement.whole
    if whole is not None:
        metric = _short(agreement.metric)
        yield f"{metric} and people: {_headline(whole, agreement.human)}"
    raters = agreement.raters
    if raters.trials:
        yield (
            f"people among themselves: alpha {_best_alpha(raters)} over "
            f"{raters.trials:,} trials with {raters.raters:,} raters"
        )
    if whole is None and not raters.trials and agreement.pairs is None:
        yield f"{agreement.rated:,} rated trials, none with two raters"
    if agreement.pairs is not None:
        yield ranking_sentence(agreement.pairs)


def _headline(whole: AgreementSlice, human: HumanValue) -> str:
    name = "accuracy"
    if human != "majority" and "pearson" in whole.statistics:
        name = "pearson"
    statistic = whole.statistics[name]
    trials = f"over {whole.trials:,} trials"
    if statistic.value is None:
        return f"{_NAMES[name]} unknown {trials}: {statistic.why}"
    value = _value_text(statistic, name)
    return f"{_NAMES[name]} {value} ({interval_text(statistic.ci95)}) {trials}"


def _best_alpha(raters: RaterAgreement) -> str:
    """Returns alpha for the distances of numbers, or that of equal words."""
    interval = raters.alphas["interval"]
    nominal = raters.alphas["nominal"]
    alpha = nominal if interval.value is None else interval
    return f"{_value_text(alpha, 'alpha')} ({interval_text(alpha.ci95)})"


def _of_metric(agreement: Agreement, whole: AgreementSlice, width: int) -> list[str]:
    title = f"{whole.trials:,} trials with both, people's {agreement.human}"
    if whole.clusters != whole.trials:
        title += f", {whole.clusters:,} clusters"
    lines = note(title, width)
    rows = []
    for name, statistic in whole.statistics.items():
        constant = _constant(whole, name)
        ends = interval_text(statistic.ci95)
        value = _value_text(statistic, name)
        rows.append((_NAMES[name], value, ends, constant))
    lines += table(("", "value", "95 %", "constant"), rows)
    if whole.constant is not None:
        answer = whole.constant.answer
        shown = _short(answer) if isinstance(answer, str) else f"{answer:g}"
        lines += note(f"constant: a judge that always answers {shown}", width)
    is_mean_of_several = agreement.human != "majority" and agreement.raters.trials > 0
    if is_mean_of_several:
        lines += note(
            "accuracy and kappa ask for equal values, which a mean seldom has; use "
            "--human majority",
            width,
        )
    for reason, text in _LEFT_OUT.items():
        if agreement.left_out[reason]:
            lines += note(text.format(agreement.left_out[reason]), width)
    return lines


def _constant(whole: AgreementSlice, name: str) -> str:
    value = getattr(whole.constant, name, None)
    return "" if value is None else number_text(value)


def _value_text(statistic: AgreementStatistic, name: str) -> str:
    """Returns a value. A correlation with a wide interval has two decimals."""
    if statistic.value is None:
        return "-"
    if name in _SIGNED:
        return signed(statistic.value)
    ends = statistic.ci95
    is_wide = ends is None or ends[1] - ends[0] > _WIDE
    if is_wide and name not in _AS_THEY_ARE:
        return f"{statistic.value:.2f}"
    return number_text(statistic.value)


def _of_slices(agreement: Agreement) -> list[str]:
    if not agreement.slices:
        return []
    names = [name for name in _SHORT if name in _all_statistics(agreement)]
    rows = []
    for value, each in agreement.slices.items():
        cells = [_value_text(each.statistics[name], name) for name in names]
        rows.append((_short(value), f"{each.trials:,}", *cells))
    if agreement.options.macro:
        macro = agreement.macro
        cells = [_mean_text(macro[name].value, name) for name in names]
        rows.append((f"mean of {len(agreement.slices):,}", "", *cells))
    heads = [_short(agreement.options.by), "trials"]
    heads += [_NAMES[name] for name in names]
    return ["", *table(heads, rows)]


def _mean_text(value: float | None, name: str) -> str:
    return _value_text(AgreementStatistic(value), name)


def _all_statistics(agreement: Agreement) -> set[str]:
    names: set[str] = set()
    for each in agreement.slices.values():
        names.update(each.statistics)
    return names


def _of_raters(raters: RaterAgreement, metric: str, width: int) -> list[str]:
    rows = [(_EQUAL_PAIRS, raters.agreement)]
    for level, alpha in raters.alphas.items():
        if alpha.value is not None:
            rows.append((f"alpha, {level}", alpha))
    cells = []
    for name, statistic in rows:
        ends = interval_text(statistic.ci95)
        kind = "accuracy" if name == _EQUAL_PAIRS else "alpha"
        cells.append((name, _value_text(statistic, kind), ends))
    title = f"{raters.raters:,} raters, {raters.trials:,} trials with two or more"
    lines = note(title, width)
    lines += table(("", "value", "95 %"), cells)

    ceilings = _ceilings(raters)
    if ceilings:
        heads = ["with the other raters", "a rater"]
        if metric:
            heads.append(_short(metric))
        columns_shown = [row[: len(heads)] for row in ceilings]
        lines += ["", *table(heads, columns_shown)]
    if raters.self is not None:
        lines += note(_self_text(raters), width)
    return lines


def _ceilings(raters: RaterAgreement) -> list[Sequence[str]]:
    rows: list[Sequence[str]] = []
    for name, value in raters.ceiling.items():
        if value is not None:
            judge = raters.same_footing[name]
            judge_text = "-" if judge is None else f"{judge:.2f}"
            rows.append((_NAMES[name], f"{value:.2f}", judge_text))
    return rows


def _self_text(raters: RaterAgreement) -> str:
    assert raters.self is not None
    text = (
        f"raters with themselves: share of equal values {raters.self.agreement:.2f}, "
        f"trials rated twice {raters.self.pairs:,}"
    )
    if raters.self.pairs < FEWEST_SELF_PAIRS:
        text += ", which are few"
    return text


def _last_notes(agreement: Agreement, skipped: Mapping[str, int]) -> Iterator[str]:
    replaced = agreement.given - agreement.ratings
    if replaced:
        yield f"ratings replaced by a later line: {replaced:,}"
    for reason, count in skipped.items():
        yield f"left out: {count:,} ({printable(reason, limit=60)})"
    below = agreement.below_gold_floor
    if below:
        names = [_short(name) for name in below]
        yield (
            f"fewer than {agreement.options.gold_floor:g} of the gold answers right: "
            f"{listed(names, _MOST_NAMED)}"
        )
    elif agreement.gold:
        yield f"gold answers: all {len(agreement.gold):,} raters above the floor"


def _short(name: str) -> str:
    return printable(name, limit=_WIDEST_NAME)

"""Renders a dry run on one screen: the verdict, a line a benchmark, and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mmeval.findings.brief import brief_lines, label_column
from mmeval.findings.render import WIDTH, RemedyTarget
from mmeval.forecast.benchmarks import BenchmarkForecast, by_benchmark, summed
from mmeval.forecast.estimate import RoleLoad
from mmeval.forecast.records import (
    THIS_MACHINE,
    FirstRequest,
    Forecast,
    dollar_words,
)
from mmeval.forecast.text import (
    Fact,
    content_text,
    cost_words,
    folder_words,
    price_facts,
    short,
    shortened_name,
    spending_facts,
    unpriced_models,
)
from mmeval.run.costs.prices import line_to_add
from mmeval.system.wording import printable, size, wrapped

_LABEL = 10
_MOST_ROWS = 12
"""Maximum number of benchmarks with a line. The others share one line."""
_MIN_NAME = 12
"""Minimum width of the names. If it does not fit, columns are left out."""
_GAP = "  "
_ROUNDED_FROM = 1e4
"""From this number of tokens, ranges are shown without decimals."""


def short_forecast_text(forecast: Forecast, width: int = WIDTH) -> str:
    """Returns the verdict, a line for each benchmark, facts and findings."""
    benchmarks = by_benchmark(forecast)
    facts = list(_facts(forecast))
    labels = [len(label) + len(_GAP) for label, _ in facts]
    column = max(_LABEL, label_column(forecast.findings), *labels)
    lines = wrapped(_verdict(benchmarks), width)
    lines += ["", *_table(forecast, benchmarks, width), ""]
    for label, text in facts:
        lines += wrapped(f"{label:{column}}{text}", width, " " * column)
    place = RemedyTarget(forecast.words)
    lines += brief_lines(forecast.findings, place, width, column=column)
    if forecast.first is not None:
        lines += _first_lines(forecast.first, column, width)
    more = f"{'more':{column}}--table full, or --format json"
    lines += wrapped(more, width, " " * column)
    return "\n".join(lines) + "\n"


def _verdict(benchmarks: Sequence[BenchmarkForecast]) -> str:
    """Returns ``9 calls of 5 benchmarks; 73 tasks cannot be asked``."""
    total = summed(benchmarks, "all")
    noun = "benchmark" if any(row.is_group for row in benchmarks) else "task"
    text = f"{_calls(total.load, 'call')} of {_amount(len(benchmarks), noun)}"
    if total.load.kept:
        text += f"; {total.load.kept:,.0f} more are answered already"
    if total.unaskable:
        text += f"; {_amount(total.unaskable, 'task')} cannot be asked"
    return f"{text} (dry run: nothing was sent)"


def _table(
    forecast: Forecast, benchmarks: Sequence[BenchmarkForecast], width: int
) -> list[str]:
    """Returns the heading and the rows of the table.

    Columns that are less important are left out if the table is too wide.
    """
    shown = list(benchmarks)
    if len(shown) > _MOST_ROWS:
        rest = shown[_MOST_ROWS - 1 :]
        shown = shown[: _MOST_ROWS - 1]
        shown.append(summed(rest, f"{len(rest):,} others"))
    if len(benchmarks) > 1:
        shown.append(summed(benchmarks, "all"))
    rows = [_cells(row, forecast) for row in shown]
    widths = {}
    for header in rows[0]:
        widths[header] = max(len(header), *(len(row[header]) for row in rows))
    if not any(row.is_group for row in shown):
        del widths["tasks asked"]
    for optional in ("media", "tasks asked", "samples"):
        if _room(widths, width) < _MIN_NAME:
            widths.pop(optional, None)
    room = max(_MIN_NAME, _room(widths, width))
    names = [printable(row.name, limit=room) for row in shown]
    name_width = max(map(len, names))
    heading = {header: header for header in widths}
    lines = []
    for name, row in zip(["", *names], [heading, *rows], strict=True):
        line = f"{name:{name_width}}"
        for header, text_width in widths.items():
            line += f"{_GAP}{row[header]:>{text_width}}"
        lines.append(line)
    return lines


def _cells(row: BenchmarkForecast, forecast: Forecast) -> dict[str, str]:
    """Returns the cells of a row by their headings."""
    return {
        "tasks asked": f"{row.tasks - row.unaskable:,} of {row.tasks:,}",
        "samples": _samples(row),
        "calls": _calls(row.load),
        "media": size(row.load.media_bytes),
        "tokens": _tokens(row.load),
        "dollars": cost_words(row.dollars(forecast)),
    }


def _room(widths: Mapping[str, int], width: int) -> int:
    """Returns the width that these columns leave for the names."""
    return width - sum(widths.values()) - len(_GAP) * len(widths)


def _samples(row: BenchmarkForecast) -> str:
    """Returns the number of samples. The tasks of a group may share their rows."""
    if row.tasks == 1 and row.samples < row.rows:
        return f"{row.samples:,} of {row.rows:,}"
    return f"{row.samples:,}"


def _calls(load: RoleLoad, noun: str = "") -> str:
    """Returns the number of calls, which may be an estimate."""
    text = f"{load.calls:,.0f}"
    if noun:
        text = _amount(round(load.calls), noun)
    if load.estimated:
        return f"about {text}"
    return text


def _tokens(load: RoleLoad) -> str:
    tokens = load.tokens_in + load.tokens_out
    if not tokens.high:
        return "0"
    return f"{_rounded(tokens.low)} to {_rounded(tokens.high)}"


def _rounded(count: float) -> str:
    """Returns a number of tokens: ``950``, ``12 k``, ``4.6 M``."""
    if _ROUNDED_FROM <= count < 1e6:
        return f"{count / 1e3:,.0f} k"
    return short(count)


def _facts(forecast: Forecast) -> Iterator[Fact]:
    """Yields where data go, what they cost, and what the run needs."""
    loads = forecast.by_role()
    for role, host in forecast.hosts.items():
        load = loads.get(role, RoleLoad())
        place = f"on {THIS_MACHINE}"
        if host.host != THIS_MACHINE:
            place = f"data go to {shortened_name(host.host)}"
        text = f"{shortened_name(host.model)}, {place}: {_calls(load, 'call')}"
        cost = forecast.dollars(role, load)
        if len(forecast.hosts) > 1 and cost is not None:
            text += f", {cost_words(cost)} dollars"
        if load.equal:
            text += f"; {load.equal:,.0f} more reuse an equal answer"
        yield role, text
    for node in forecast.nodes:
        yield "node", shortened_name(str(node))
    yield from price_facts(forecast)
    unpriced = unpriced_models(forecast)
    if unpriced:
        entries = ", ".join(line_to_add(model) for model in unpriced)
        content = shortened_name(f"models: {{{entries}}}")
        yield "no price", f"--model_cost_config FILE with {content}"
    total = forecast.total()
    if total is not None and total.low < total.high:
        words = f"{dollar_words(total)} dollars"
        yield "cost", f"{words}: with short answers, and with the longest ones"
    for label, text in spending_facts(forecast):
        yield label, text
    needed, free = size(forecast.disk_bytes), size(forecast.free_bytes)
    yield "folder", f"{folder_words(forecast)}; needs {needed} at most, {free} free"


def _first_lines(first: FirstRequest, column: int, width: int) -> list[str]:
    """Returns the sample of the first request, and the beginning of its question."""
    sample = f"{first.task}, {shortened_name(first.sample)}"
    lines = [f"{'first':{column}}request to the {first.role}: {sample}"]
    for message in first.request.messages[-1:]:
        text = content_text(message.content, is_short=True)
        lines.append(f"{'':{column}}{' '.join(text.split())}")
    return [printable(line, limit=width) for line in lines]


def _amount(number: int, noun: str) -> str:
    plural = "" if number == 1 else "s"
    return f"{number:,} {noun}{plural}"

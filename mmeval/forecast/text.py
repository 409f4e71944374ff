"""Renders all of a dry run: tasks, facts, findings and the first request."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mmeval.findings.render import RemedyTarget, terminal_lines
from mmeval.forecast.estimate import RoleLoad, TokenRange
from mmeval.forecast.records import Forecast, dollar_words
from mmeval.media.parts import Interleaved
from mmeval.records.request import Request
from mmeval.report.markdown import cell, table_lines
from mmeval.run.costs.bill import spent_words
from mmeval.run.costs.prices import Price, line_to_add
from mmeval.system.wording import escaped, printable, size

_HEADERS = (
    "Tasks",
    "Samples",
    "Role",
    "Calls",
    "Kept",
    "Media sent",
    "Tokens in",
    "Tokens out",
    "USD",
)
_RIGHT_ALIGNED = frozenset(_HEADERS[1:2] + _HEADERS[3:])
MAX_CHARS = 500
"""Maximum number of characters of a name."""
Fact = tuple[str, str]
"""A label and its text."""


def forecast_text(forecast: Forecast) -> str:
    """Returns all tasks, facts and findings, and the whole first request."""
    lines = ["dry run: nothing was loaded, sent or written", ""]
    lines += table_lines(_HEADERS, _rows(forecast), right_aligned=_RIGHT_ALIGNED)
    lines.append("")
    lines.append(f"run folder: {folder_words(forecast)}")
    for role, target in forecast.hosts.items():
        model, host = shortened_name(target.model), shortened_name(target.host)
        lines.append(f"{role}: {model}, its data go to {host}")
    lines += [f"node {shortened_name(str(node))}" for node in forecast.nodes]
    lines += _cost_lines(forecast)
    needed, free = size(forecast.disk_bytes), size(forecast.free_bytes)
    lines.append(f"disk: about {needed} needed at most, {free} free")
    equal = sum(load.equal for load in forecast.by_role().values())
    if equal:
        lines.append(f"calls that reuse the answer to an equal call: {equal:,.0f}")
    lines += terminal_lines(forecast.findings, RemedyTarget(forecast.words))
    first = forecast.first
    if first is not None:
        model = shortened_name(forecast.hosts[first.role].model)
        sample = f"sample {shortened_name(first.sample)}"
        lines.append("")
        lines.append(
            f"the first request: {first.task}, {sample}, to {first.role} ({model})"
        )
        settings = [f"wants: {'+'.join(first.request.wants)}"]
        for name, value in first.request.params.to_json().items():
            settings.append(f"{name}: {value}")
        lines.append(f"[{', '.join(settings)}]")
        lines += request_lines(first.request)
    return "\n".join(lines) + "\n"


def folder_words(forecast: Forecast) -> str:
    """Returns the run folder, and how many answers it has."""
    answered = "new"
    if forecast.answers:
        answered = f"calls answered: {forecast.answers:,}"
    if forecast.other_answers:
        answered += f"; in its run and other shards: {forecast.other_answers:,}"
    return f"{forecast.folder} ({answered})"


def _rows(forecast: Forecast) -> list[list[str]]:
    rows = []
    for task in forecast.tasks:
        first = [cell(task.task.name), f"{task.samples:,} of {task.rows:,}"]
        # the model under test comes first
        for role in sorted(task.loads, key=lambda role: role != "model"):
            numbers = _numbers(forecast, role, task.loads[role])
            rows.append([*first, cell(role), *numbers])
            first = ["", ""]
        if not task.loads:
            rows.append([*first, *[""] * (len(_HEADERS) - 2)])
    if len(forecast.tasks) > 1:
        for role, load in forecast.by_role().items():
            numbers = _numbers(forecast, role, load)
            rows.append(["all", "", cell(role), *numbers])
    return rows


def _numbers(
    forecast: Forecast,
    role: str,
    load: RoleLoad,
) -> list[str]:
    about = "about " if load.estimated else ""
    return [
        f"{about}{load.calls:,.0f}",
        f"{load.kept:,.0f}",
        size(load.media_bytes),
        _range(load.tokens_in),
        _range(load.tokens_out),
        cost_words(forecast.dollars(role, load)),
    ]


def cost_words(cost: TokenRange | None) -> str:
    """Returns a cost for a table; None is an unknown price."""
    if cost is None:
        return "unknown"
    return dollar_words(cost) if cost.high else "0"


def _range(tokens: TokenRange) -> str:
    low, high = short(tokens.low), short(tokens.high)
    return high if low == high else f"{low} to {high}"


def shortened_name(text: str) -> str:
    return printable(text, limit=MAX_CHARS)


def _cost_lines(forecast: Forecast) -> Iterator[str]:
    for label, text in price_facts(forecast):
        yield f"{label}: {text}"
    unknown = unpriced_models(forecast)
    if unknown:
        names = ", ".join(map(shortened_name, unknown))
        yield f"price: unknown for {names}; add it with --model_cost_config FILE"
        yield "and these lines, with the prices (0 if nothing is charged):"
        yield "  models:"
        yield from (f"    {shortened_name(line_to_add(model))}" for model in unknown)
    total = forecast.total()
    if total is not None and total.high:
        yield f"cost: {dollar_words(total)} USD in all"
    for label, text in spending_facts(forecast):
        yield f"{label}: {text}"


def price_facts(forecast: Forecast) -> Iterator[Fact]:
    """Yields the known price of each model that is called."""
    for model, price in _prices(forecast).items():
        if price is None:
            continue
        words = f"{price.input:g} USD in, {price.output:g} out for a million tokens"
        others = {
            "an image": price.per_image,
            "a video": price.per_video,
            "an answer": price.per_call,
        }
        for what, amount in others.items():
            if amount:
                words += f", {amount:g} {what}"
        if price.source:
            words += f", {price.source}"
        yield "price", f"{shortened_name(model)} {words}"


def unpriced_models(forecast: Forecast) -> list[str]:
    """Returns the models that are called, but whose price is unknown."""
    return [model for model, price in _prices(forecast).items() if price is None]


def _prices(forecast: Forecast) -> dict[str, Price | None]:
    loads = forecast.by_role()
    prices = {}
    for role, endpoint in forecast.endpoints.items():
        if role in loads and loads[role].calls and not endpoint.local:
            prices[endpoint.model] = forecast.prices.of(endpoint)
    return prices


def spending_facts(forecast: Forecast) -> Iterator[Fact]:
    """Yields what the run has spent, and its budgets."""
    if forecast.spent:
        yield "spent so far", spent_words(forecast.spent)
    limits = forecast.limits
    budgets = {"USD": limits.usd, "tokens": limits.tokens, "calls": limits.calls}
    for name, limit in budgets.items():
        if limit is not None:
            yield "budget", f"the run stops at {limit:,} {name} in all"


def request_lines(request: Request) -> Iterator[str]:
    """Yields the full text of a request, with file, type and size of each medium."""
    for message in request.messages:
        yield f"[{message.role}]"
        yield from escaped(content_text(message.content)).split("\n")


def content_text(content: Interleaved, *, is_short: bool = False) -> str:
    """Returns the text of a message, with a description of each medium.

    A short description has no folders and no type.
    """
    text = ""
    for part in content.parts:
        text += part.raw
        media = part.media
        if media is not None:
            words = f"{media.label}, {media.mime}, {size(media.size)}"
            if is_short:
                words = f"{Path(media.label).name}, {size(media.size)}"
            text += f"<{part.kind}: {words}>"
    return text


def short(count: float) -> str:
    """Formats a rounded count: ``950``, ``12.3 k``, ``4.6 M``."""
    if count < 1e4:
        return f"{count:,.0f}"
    if count < 1e6:
        return f"{count / 1e3:,.1f} k"
    if count < 1e9:
        return f"{count / 1e6:,.1f} M"
    return f"{count / 1e9:,.1f} G"

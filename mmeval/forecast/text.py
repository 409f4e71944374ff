"""Text of a dry run: a table of the requests, facts, and the first request."""

from __future__ import annotations

from collections.abc import Iterator

from mmeval.findings.render import Place, terminal_lines
from mmeval.forecast.estimate import Load, TokenRange
from mmeval.forecast.records import First, Forecast, Host, dollar_words
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
"""The longest name that is shown."""


def forecast_text(forecast: Forecast) -> str:
    """The whole text: table, facts, findings, and the first request in full."""
    lines = [
        "dry run: nothing was loaded, sent or written",
        "",
        *table_lines(_HEADERS, list(_rows(forecast)), right_aligned=_RIGHT_ALIGNED),
        "",
        *_facts(forecast),
    ]
    if forecast.first is not None:
        lines += [
            "",
            *_first_request(forecast.first, forecast.places[forecast.first.role]),
        ]
    return "\n".join(lines) + "\n"


def _rows(forecast: Forecast) -> Iterator[list[str]]:
    for task in forecast.tasks:
        first = [cell(task.task.name), f"{task.samples:,} of {task.rows:,}"]
        for role, load in sorted(
            task.loads.items(), key=lambda item: item[0] != "model"
        ):
            yield [*first, cell(role), *_numbers(forecast, role, load)]
            first = ["", ""]
        if first[0]:
            yield [*first, *[""] * (len(_HEADERS) - 2)]
    if len(forecast.tasks) > 1:
        for role, load in forecast.by_role().items():
            yield ["all", "", cell(role), *_numbers(forecast, role, load)]


def _numbers(forecast: Forecast, role: str, load: Load) -> list[str]:
    about = "about " if load.estimated else ""
    cost = forecast.dollars(role, load)
    dollars = "unknown"
    if cost is not None:
        dollars = dollar_words(cost) if cost.high else "0"
    return [
        f"{about}{load.calls:,.0f}",
        f"{load.kept:,.0f}",
        size(load.media_bytes),
        _range(load.tokens_in),
        _range(load.tokens_out),
        dollars,
    ]


def _range(found: TokenRange) -> str:
    low, high = short(found.low), short(found.high)
    return high if low == high else f"{low} to {high}"


def _facts(forecast: Forecast) -> Iterator[str]:
    answered = "new"
    if forecast.answers:
        answered = f"calls answered: {forecast.answers:,}"
    if forecast.answers_beside:
        answered += f"; in its run and other shards: {forecast.answers_beside:,}"
    yield f"run folder: {forecast.folder} ({answered})"
    for role, place in forecast.places.items():
        yield f"{role}: {_shown(place.model)}, its data go to {_shown(place.host)}"
    yield from (f"node {_shown(str(node))}" for node in forecast.nodes)
    yield from _money(forecast)
    yield (
        f"disk: about {size(forecast.disk_bytes)} needed at most, "
        f"{size(forecast.free_bytes)} free"
    )
    equal = sum(load.equal for load in forecast.by_role().values())
    if equal:
        yield f"calls equal to others, which are made once: {equal:,.0f}"
    yield from terminal_lines(forecast.findings, Place(forecast.words))


def _shown(text: str) -> str:
    return printable(text, limit=MAX_CHARS)


def _money(forecast: Forecast) -> Iterator[str]:
    loads = forecast.by_role()
    named = {}
    for role, payee in forecast.payees.items():
        if role in loads and loads[role].calls and not payee.local:
            named[payee.model] = forecast.prices.of(payee)
    for model, price in named.items():
        if price is not None:
            yield f"price: {_shown(model)} {_price(price)}"
    unknown = [model for model, price in named.items() if price is None]
    if unknown:
        names = ", ".join(map(_shown, unknown))
        yield f"price: unknown for {names}; --model_cost_config FILE adds it,"
        yield "with such lines, and 0 where nothing is charged:"
        yield "  models:"
        yield from (f"    {_shown(line_to_add(model))}" for model in unknown)
    total = forecast.total()
    if total is not None and total.high:
        yield f"cost: {dollar_words(total)} USD in all"
    if forecast.spent:
        yield f"spent so far: {spent_words(forecast.spent)}"
    limits = forecast.limits
    given = {"USD": limits.usd, "tokens": limits.tokens, "calls": limits.calls}
    for name, limit in given.items():
        if limit is not None:
            yield f"budget: the run stops at {limit:,} {name} in all"


def _price(price: Price) -> str:
    """``2.5 USD in, 15 out for a million tokens, 0.04 an image``."""
    words = f"{price.input:g} USD in, {price.output:g} out for a million tokens"
    others = {
        "an image": price.per_image,
        "a video": price.per_video,
        "an answer": price.per_call,
    }
    for what, amount in others.items():
        if amount:
            words += f", {amount:g} {what}"
    return f"{words}, {price.source}" if price.source else words


def _first_request(first: First, place: Host) -> Iterator[str]:
    request = first.request
    settings = {"wants": "+".join(request.wants), **request.params.to_json()}
    yield (
        f"the first request: {first.task}, sample {_shown(first.sample)}, to "
        f"{first.role} ({_shown(place.model)})"
    )
    yield f"[{', '.join(f'{name}: {value}' for name, value in settings.items())}]"
    yield from request_lines(request)


def request_lines(request: Request) -> Iterator[str]:
    """The messages of a request in full; each medium as its file, type and size."""
    for message in request.messages:
        yield f"[{message.role}]"
        text = ""
        for part in message.content.parts:
            text += part.raw
            if (media := part.media) is not None:
                text += (
                    f"<{part.kind}: {media.label}, {media.mime}, {size(media.size)}>"
                )
        yield from escaped(text).split("\n")


def short(count: float) -> str:
    """A rough count: ``950``, ``12.3 k``, ``4.6 M``."""
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if count >= limit:
            return f"{count / (1e3 if unit == 'k' else limit):,.1f} {unit}"
    return f"{count:,.0f}"

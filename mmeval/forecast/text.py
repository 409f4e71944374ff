"""Text of a dry run: a table of the requests, facts, and the first request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mmeval.costs.bill import spent_words
from mmeval.costs.prices import Price, line_to_add
from mmeval.findings.render import Place, terminal_lines
from mmeval.forecast.estimate import NOTHING, Load, TokenRange
from mmeval.forecast.records import First, Forecast, Host, TaskForecast
from mmeval.records.request import Request
from mmeval.report.markdown import cell, table_lines
from mmeval.wording import escaped, listed, printable, size

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
"""The longest name or reason that is shown."""


def forecast_text(forecast: Forecast) -> str:
    """The whole text: table, facts, warnings, and the first request in full."""
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
    whole: dict[str, Load] = {}
    for task in forecast.tasks:
        first = [cell(task.task.name), f"{task.samples:,} of {task.rows:,}"]
        for role, load in sorted(
            task.loads.items(), key=lambda item: item[0] != "model"
        ):
            yield [*first, cell(role), *_numbers(forecast, role, load)]
            first = ["", ""]
            whole.setdefault(role, Load()).merge(load)
        if first[0]:
            yield [*first, *[""] * (len(_HEADERS) - 2)]
    if len(forecast.tasks) > 1:
        for role, load in whole.items():
            yield ["all", "", cell(role), *_numbers(forecast, role, load)]


def _numbers(forecast: Forecast, role: str, load: Load) -> list[str]:
    about = "about " if load.estimated else ""
    cost = forecast.dollars(role, load)
    return [
        f"{about}{load.calls:,.0f}",
        f"{load.kept:,.0f}",
        size(load.media_bytes),
        _range(load.tokens_in),
        _range(load.tokens_out),
        "unknown"
        if cost is None
        else f"{cost.low:,.2f} to {cost.high:,.2f}"
        if cost.high
        else "0",
    ]


def _range(found: TokenRange) -> str:
    return f"{short(found.low)} to {short(found.high)}" if found.high else "0"


def _facts(forecast: Forecast) -> Iterator[str]:
    kept = f"{forecast.answers:,} answers are kept" if forecast.answers else "new"
    beside = (
        f"; its run and other shards have {forecast.answers_beside:,}"
        if forecast.answers_beside
        else ""
    )
    yield f"run folder: {forecast.folder} ({kept}{beside})"
    for role, place in forecast.places.items():
        yield f"{role}: {_shown(place.model)}, its data go to {_shown(place.host)}"
    yield from (f"node {_shown(str(node))}" for node in forecast.nodes)
    yield from _money(forecast)
    too_full = ": TOO LITTLE" if forecast.disk_bytes > forecast.free_bytes else ""
    yield (
        f"disk: about {size(forecast.disk_bytes)} needed at most, "
        f"{size(forecast.free_bytes)} free{too_full}"
    )
    bad = [finding for task in forecast.tasks for finding in task.bad.findings()]
    found = [*forecast.lacking, *bad, *forecast.of_folder]
    yield from terminal_lines(found, Place(forecast.words))
    yield from _problems(forecast.tasks)
    for task in forecast.tasks:
        yield from _warnings(task)
    if forecast.cannot_read is not None:
        error = forecast.cannot_read
        yield f"error: the data cannot be read to their end: {_shown(str(error))}"


def _shown(text: str) -> str:
    return printable(text, limit=MAX_CHARS)


def _money(forecast: Forecast) -> Iterator[str]:
    named = {
        payee.model: forecast.prices.of(payee)
        for payee in forecast.payees.values()
        if not payee.local
    }
    for model, price in named.items():
        if price is not None:
            yield f"price: {_shown(model)} {_price(price)}"
    unknown = [model for model, price in named.items() if price is None]
    if unknown:
        yield (
            f"price: unknown for {', '.join(map(_shown, unknown))}. Write the prices "
            "into a file, 0 where nothing is charged, and add --model_cost_config FILE:"
        )
        yield "  models:"
        yield from (f"    {_shown(line_to_add(model))}" for model in unknown)
    costs = [
        forecast.dollars(role, load)
        for task in forecast.tasks
        for role, load in task.loads.items()
    ]
    total = sum((cost for cost in costs if cost is not None), NOTHING)
    if total.high and None not in costs:
        yield f"cost: {total.low:,.2f} to {total.high:,.2f} USD in all"
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


def _problems(tasks: Sequence[TaskForecast]) -> Iterator[str]:
    """Each problem once, with all tasks that have it."""
    for problem in dict.fromkeys(
        problem for task in tasks for problem, _ in task.problems.most_common()
    ):
        having = [task for task in tasks if problem in task.problems]
        names = listed([task.task.name for task in having], 5)
        count = sum(task.problems[problem] for task in having)
        trials = sum(task.trials for task in having)
        yield f"problem: {names}: {count:,} of {trials:,} trials: {_shown(problem)}"


def _warnings(task: TaskForecast) -> Iterator[str]:
    name = task.task.name
    if task.endless:
        yield (
            f"problem: {name}: {task.endless:,} programs ask more calls than were "
            "counted"
        )
    for form, count in task.reencoded.most_common():
        yield f"note: {name}: {count:,} of the media are encoded anew, {form}"
    equal = sum(load.equal for load in task.loads.values())
    if equal:
        yield f"note: {name}: {equal:,.0f} requests are equal to others, and asked once"


def _first_request(first: First, place: Host) -> Iterator[str]:
    request = first.request
    seed = {"seed": request.seed} if request.seed else {}
    settings = {"wants": "+".join(request.wants), **seed, **request.params.to_json()}
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

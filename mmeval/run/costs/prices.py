"""Prices of models, from the user's file and the package genai-prices.

The file contains ``models``, a mapping from names to prices::

    models:
      gpt-4o: {input: 2.50, output: 10.00, as_of: 2025-09-01}
      my-server/*: {input: 0, output: 0}

``input`` and ``output`` are US dollars per million tokens, ``per_image`` and
``per_video`` per generated picture and video, ``per_call`` per answer. ``batch`` is the
share of the token prices that a batch costs, and ``as_of`` is the date on which the
prices were valid. A name stands for a model and its dated versions
(``gpt-4o-2024-08-06``, ``...-20250514``, ``...-0613``, ``...-latest``), or is a pattern
with ``*``.

The package contains the prices at the time of its release. Its version is recorded. No
price is fetched over the network.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from mmeval.backend.contract import (
    BatchBackend,
    LocalWork,
    ModelBackend,
    ProgramBackend,
    SampleBackend,
)
from mmeval.errors import MissingDataError, did_you_mean
from mmeval.store.spending import CallTotals, ModelEndpoint, Spending
from mmeval.system.yaml_document import Document, KeyPath, Problem, read_document

MILLION = 1_000_000

_AMOUNTS = ("input", "output", "per_image", "per_video", "per_call")
_KEYS = (*_AMOUNTS, "batch", "as_of")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_IN_HOUSE = re.compile(r"[^.]*|[\d.]+|.*:.*")
"""Matches a host without a domain, or an IP address. Neither is a provider."""
_DATED = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{8}|\d{4}|latest)$")


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens in and out, per medium and per answer.

    Tokens of a batch cost the share ``batch`` of the price. The default is half, which
    is what providers charge. ``source`` is the package and its version, or the date
    given in the user's price file.
    """

    input: float
    output: float
    per_image: float = 0.0
    per_call: float = 0.0
    batch: float = 0.5
    source: str = ""
    per_video: float = 0.0

    def cost(self, totals: CallTotals) -> float:
        """Returns the cost in US dollars."""
        saved = 1 - self.batch
        tokens_in = totals.input_tokens - saved * totals.batched_input_tokens
        tokens_out = totals.output_tokens - saved * totals.batched_output_tokens
        tokens = self.input * tokens_in + self.output * tokens_out
        return (
            tokens / MILLION
            + self.per_image * totals.images
            + self.per_video * totals.videos
            + self.per_call * totals.answered
        )


FREE = Price(0.0, 0.0)


@dataclass(frozen=True)
class Prices:
    """The prices in the user's file. For other models, the package's prices apply."""

    models: Mapping[str, Price] = field(default_factory=dict)

    def of(self, endpoint: ModelEndpoint) -> Price | None:
        """Returns the price of an endpoint; None if unknown. Local models are free."""
        return (
            FREE if endpoint.local else self.of_model(endpoint.model, endpoint.address)
        )

    def of_model(self, name: str, address: str = "") -> Price | None:
        """Returns the price of a model at a provider's ``address``; None if unknown.

        The user's prices are tried first: for the name, the name without its date, then
        the longest matching pattern. After them, the package's prices are tried: for
        the name, then the name without its date.
        """
        undated = _DATED.sub("", name)
        user_price = self.models.get(name) or self.models.get(undated)
        if user_price is not None:
            return user_price
        patterns = [pattern for pattern in self.models if "*" in pattern]
        matching = [pattern for pattern in patterns if fnmatchcase(name, pattern)]
        if matching:
            return self.models[max(matching, key=len)]
        return _package_price(name, address) or _package_price(undated, address)


def _package_price(name: str, address: str) -> Price | None:
    """Returns the list price in the package; None if there is none.

    The package has no price for an unknown model or server, or if the provider does not
    charge by tokens. If long prompts cost more, the lowest tier is used. Usage does not
    separate tokens of media from tokens of text, so each token of an answer is billed
    at the highest price of all kinds.
    """
    host = urlsplit(address).hostname
    if host and _IN_HOUSE.fullmatch(host):
        return None
    import genai_prices  # slow to import, and only needed for models of servers

    try:
        listed = genai_prices.calc_price(
            genai_prices.Usage(), name, provider_api_url=address or None
        ).model_price
    except LookupError:
        return None
    # the prices of the table and not of a request: each is a number or has tiers
    rates: dict[str, float] = {}
    output_rates = []
    for key, listed_rate in vars(listed).items():
        if listed_rate is None:
            continue
        rates[key] = float(getattr(listed_rate, "base", listed_rate))
        if key.startswith("output_") and key.endswith("mtok"):
            output_rates.append(rates[key])
    if "input_mtok" not in rates or not output_rates:
        return None
    per_call = rates.get("requests_kcount", 0.0) / 1000
    return Price(
        rates["input_mtok"],
        max(output_rates),
        per_call=per_call,
        source=f"genai-prices {genai_prices.__version__}",
    )


def load_prices(user_file: Path | None = None) -> Prices:
    """Loads the prices.

    Prices in the user's file override prices of the package. Raises MissingDataError if
    the file is missing, and TaskFileError with the line of an error.
    """
    if user_file is None:
        return Prices()
    if not user_file.is_file():
        raise MissingDataError(f"--model_cost_config: {user_file} does not exist")
    document = read_document(user_file)
    problems = list(_faults(document))
    if problems:
        raise document.errors(problems)
    models = {}
    for name, row in (document.data.get("models") or {}).items():
        amounts = {key: float(row[key]) for key in row if key != "as_of"}
        source = f"as of {row['as_of']}" if "as_of" in row else ""
        models[name] = Price(**amounts, source=source)
    return Prices(models)


def is_billed(backend: object) -> bool:
    """Returns True if calls of the backend may cost money.

    Local models, local work, backends that answer from the sample, and agents cost
    nothing. The models that an agent calls have their own prices.
    """
    return isinstance(backend, ModelBackend) and not isinstance(
        backend, BatchBackend | LocalWork | ProgramBackend | SampleBackend
    )


class Bill(NamedTuple):
    """The usage of one endpoint and its cost.

    ``usd`` is None if the price is unknown. ``source`` is the source of the price.
    """

    endpoint: ModelEndpoint
    spent: CallTotals
    usd: float | None
    source: str = ""


def bills(spending: Spending, prices: Prices) -> list[Bill]:
    """Returns the bill of each endpoint of a run folder."""
    rows = []
    for endpoint, totals in spending:
        price = prices.of(endpoint)
        if price is None:
            rows.append(Bill(endpoint, totals, None))
        else:
            rows.append(Bill(endpoint, totals, price.cost(totals), price.source))
    return rows


def line_to_add(name: str) -> str:
    """Returns the line to add for a model. The name is quoted if YAML requires it."""
    if not re.fullmatch(r"[A-Za-z][\w./-]*", name):
        name = json.dumps(name, ensure_ascii=False)
    return f"{name}: {{input: 0, output: 0}}"


def _faults(document: Document) -> Iterator[Problem]:
    for key in document.data:
        if key != "models":
            near = did_you_mean(key, ("models",))
            yield (key,), f"unknown key{near}; prices belong below models"
    models = document.data.get("models") or {}
    if not isinstance(models, Mapping):
        yield (
            ("models",),
            "must map names of models to prices, as in gpt-4o: {input: 2.50, "
            "output: 10}",
        )
        return
    for name, row in models.items():
        path: KeyPath = ("models", name)
        if not isinstance(row, Mapping):
            yield path, "must be a price, as in {input: 2.50, output: 10}"
            continue
        for key, value in row.items():
            place = (*path, key)
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if key not in _KEYS:
                near = did_you_mean(key, _KEYS)
                yield place, f"unknown key{near}; the keys are {', '.join(_KEYS)}"
            elif key == "as_of":
                if not isinstance(value, str) or not _DAY.fullmatch(value):
                    yield place, "must be a day, as in 2025-09-01"
            elif not is_number or not 0 <= value < math.inf:
                yield place, f"{value!r} is not a price; write US dollars, 0 or more"
        for key in ("input", "output"):
            if key not in row:
                yield path, f"{key} is missing; write 0 where nothing is charged"

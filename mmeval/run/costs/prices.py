"""Prices of models, from the package genai-prices and the user's file over it.

A file holds ``models``, a mapping from names to prices::

    models:
      gpt-4o: {input: 2.50, output: 10.00, as_of: 2025-09-01}
      my-server/*: {input: 0, output: 0}

``input`` and ``output`` are US dollars for a million tokens, ``per_image`` and
``per_video`` for each picture and video that is made, ``per_call`` for each answer;
``batch`` is the share of the token prices that a batch costs; ``as_of`` is the day of
the price. A name is that of a model and its dated versions (``gpt-4o-2024-08-06``,
``...-20250514``, ``...-0613``, ``...-latest``), or a pattern with ``*``.

The package's prices are those of its release, which is recorded; nothing is looked up
on the network.
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
"""A host without a domain, or with a number alone, is not a provider."""
_DATED = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{8}|\d{4}|latest)$")


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars: for a million tokens in and out, for each medium, for each answer.
    Tokens of a batch cost the share ``batch`` of that, half of it wherever there are
    batches today. ``source`` says where the price is from: the package and its version,
    or the day in the user's file."""

    input: float
    output: float
    per_image: float = 0.0
    per_call: float = 0.0
    batch: float = 0.5
    source: str = ""
    per_video: float = 0.0

    def cost(self, spent: CallTotals) -> float:
        """US dollars."""
        saved = 1 - self.batch
        tokens_in = spent.input_tokens - saved * spent.batched_input_tokens
        tokens_out = spent.output_tokens - saved * spent.batched_output_tokens
        tokens = self.input * tokens_in + self.output * tokens_out
        return (
            tokens / MILLION
            + self.per_image * spent.images
            + self.per_video * spent.videos
            + self.per_call * spent.answered
        )


FREE = Price(0.0, 0.0)


@dataclass(frozen=True)
class Prices:
    """The prices of the user's file, and for other models those of the package."""

    models: Mapping[str, Price] = field(default_factory=dict)

    def of(self, endpoint: ModelEndpoint) -> Price | None:
        """The price of calls of a payee; None: unknown. Local models are free."""
        return (
            FREE if endpoint.local else self.of_model(endpoint.model, endpoint.address)
        )

    def of_model(self, name: str, address: str = "") -> Price | None:
        """The user's price of a name, else of the name without date, else of the
        longest pattern; else the package's of the name, or of the name without date, at
        the provider whose ``address`` it is."""
        undated = _DATED.sub("", name)
        own = self.models.get(name) or self.models.get(undated)
        if own is not None:
            return own
        patterns = [pattern for pattern in self.models if "*" in pattern]
        fitting = [pattern for pattern in patterns if fnmatchcase(name, pattern)]
        if fitting:
            return self.models[max(fitting, key=len)]
        return _listed(name, address) or _listed(undated, address)


def _listed(name: str, address: str) -> Price | None:
    """The list price of today by the package; None for a model or a server that it does
    not know, or not by tokens.

    The lowest tier counts where long prompts cost more. Usage does not tell tokens of
    pictures or sounds from those of words, so that each token of an answer counts as
    the dearest kind.
    """
    host = urlsplit(address).hostname
    if host and _IN_HOUSE.fullmatch(host):
        return None
    import genai_prices  # heavy, and needed only for a server's models

    try:
        listed = genai_prices.calc_price(
            genai_prices.Usage(), name, provider_api_url=address or None
        ).model_price
    except LookupError:
        return None
    # what is written in the table, and not by request: a price is a number, or has
    # tiers
    rates: dict[str, float] = {}
    made = []
    for key, listed_rate in vars(listed).items():
        if listed_rate is None:
            continue
        rates[key] = float(getattr(listed_rate, "base", listed_rate))
        if key.startswith("output_") and key.endswith("mtok"):
            made.append(rates[key])
    if "input_mtok" not in rates or not made:
        return None
    per_call = rates.get("requests_kcount", 0.0) / 1000
    return Price(
        rates["input_mtok"],
        max(made),
        per_call=per_call,
        source=f"genai-prices {genai_prices.__version__}",
    )


def load_prices(own: Path | None = None) -> Prices:
    """The prices, with those of the user's file over the package's.

    Raises MissingDataError for a missing file, TaskFileError with the line of a fault.
    """
    if own is None:
        return Prices()
    if not own.is_file():
        raise MissingDataError(f"--model_cost_config: {own} does not exist")
    document = read_document(own)
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
    """Whether calls of the backend may cost money.

    Those of a local model, work of this machine, answers made from the sample, and an
    agent itself cost nothing; the models that an agent asks have prices of their own.
    """
    return isinstance(backend, ModelBackend) and not isinstance(
        backend, BatchBackend | LocalWork | ProgramBackend | SampleBackend
    )


class Bill(NamedTuple):
    """The usage and cost of calls to one payee; ``usd`` is None for an unknown price.
    ``source`` is that of the price."""

    endpoint: ModelEndpoint
    spent: CallTotals
    usd: float | None
    source: str = ""


def bills(spending: Spending, prices: Prices) -> list[Bill]:
    """The bill of each payee of a run folder."""
    found = []
    for endpoint, spent in spending:
        price = prices.of(endpoint)
        if price is None:
            found.append(Bill(endpoint, spent, None))
        else:
            found.append(Bill(endpoint, spent, price.cost(spent), price.source))
    return found


def line_to_add(name: str) -> str:
    """The line to write for a model without a price, its name quoted if YAML needs
    it."""
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
            "must hold names of models with their prices, as in gpt-4o: {input: 2.50, "
            "output: 10}",
        )
        return
    for name, row in models.items():
        path: KeyPath = ("models", name)
        if not isinstance(row, Mapping):
            yield path, "must hold a price, as in {input: 2.50, output: 10}"
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

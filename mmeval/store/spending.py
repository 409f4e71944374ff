"""Spending: usage of a run folder's calls by endpoint, as the journal records it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from mmeval.records.response import Response


class ModelEndpoint(NamedTuple):
    """The target of calls: a role and its model. A local model costs nothing.

    ``model`` is the name by which calls are priced, ``address`` that of a server.
    """

    role: str
    model: str
    local: bool = False
    address: str = ""


NOT_SENT: tuple[()] = ()
"""The endpoint of a line whose answer took no call: it came from a cache, from the
sample, or from an agent, whose calls have their own lines."""


@dataclass(slots=True)
class CallTotals:
    """Sums over calls.

    ``calls`` counts every attempt, failed ones included. ``answered`` counts calls with
    an answer, accepted or not. Tokens are as servers report them; ``batched_...`` are
    those of batch requests. ``images`` and ``videos`` count generated media.
    """

    calls: int = 0
    answered: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    images: int = 0
    batched_input_tokens: int = 0
    batched_output_tokens: int = 0
    videos: int = 0

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def add(self, response: Response, tries: int = 1) -> None:
        """Count an answer or a failure, with ``tries`` attempts in all."""
        usage = response.usage
        parts = response.output.parts if response.output is not None else ()
        self.calls += tries
        self.answered += response.output is not None or usage.output_tokens > 0
        self._add_tokens(usage.input_tokens, usage.output_tokens, usage.batched)
        for part in parts:
            if part.media is not None:
                self.images += part.kind == "image"
                self.videos += part.kind == "video"

    def add_line(self, row: Mapping[str, Any]) -> None:
        """Count a line of a journal."""
        response = row.get("r") or row["failed"]
        tokens_in, tokens_out, *batched = response.get("usage", (0, 0))
        self.calls += 1 + row.get("a", 0)
        self.answered += "output" in response or tokens_out > 0
        self._add_tokens(tokens_in, tokens_out, bool(batched))
        for part in response.get("output", ()):
            if "media" in part:
                self.images += part["type"] == "image"
                self.videos += part["type"] == "video"

    def _add_tokens(
        self,
        tokens_in: int,
        tokens_out: int,
        batched: bool,
    ) -> None:
        self.input_tokens += tokens_in
        self.output_tokens += tokens_out
        if batched:
            self.batched_input_tokens += tokens_in
            self.batched_output_tokens += tokens_out

    def __add__(self, other: CallTotals) -> CallTotals:
        return CallTotals(
            *(
                getattr(self, field.name) + getattr(other, field.name)
                for field in fields(self)
            )
        )


class Spending:
    """Totals by endpoint, over all sessions of a run folder."""

    def __init__(self) -> None:
        # keys are plain tuples, which are equal to a ModelEndpoint with the same fields
        self._by_endpoint: dict[tuple[Any, ...], CallTotals] = {}

    def __iter__(self) -> Iterator[tuple[ModelEndpoint, CallTotals]]:
        for endpoint, totals in sorted(self._by_endpoint.items()):
            yield ModelEndpoint(*endpoint), totals

    @property
    def total(self) -> CallTotals:
        return sum(self._by_endpoint.values(), CallTotals())

    def add_line(self, row: Mapping[str, Any]) -> None:
        """Count a line of a journal."""
        if endpoint := row["to"]:
            self._of(tuple(endpoint)).add_line(row)

    def add(
        self,
        endpoint: ModelEndpoint,
        response: Response,
        tries: int,
    ) -> None:
        """Count a new answer or failure, with ``tries`` attempts in all."""
        self._of(endpoint).add(response, tries)

    def _of(self, endpoint: tuple[Any, ...]) -> CallTotals:
        totals = self._by_endpoint.get(endpoint)
        if totals is None:
            totals = self._by_endpoint[endpoint] = CallTotals()
        return totals

"""The spending of a run: usage of its calls by endpoint, as the journal records it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from mmeval.records.response import Response


class ModelEndpoint(NamedTuple):
    """The target of calls: a role and its model.

    A local model costs nothing. ``model`` is the name that prices are listed under,
    ``address`` the address of a server.
    """

    role: str
    model: str
    local: bool = False
    address: str = ""


NOT_SENT: tuple[()] = ()
"""The endpoint of an answer for which no call was sent.

The answer came from a cache, from the sample, or from an agent, whose calls have their
own lines.
"""


@dataclass(slots=True)
class CallTotals:
    """Totals over calls.

    ``calls`` counts every attempt, including failed attempts. ``answered`` counts calls
    with an answer, accepted or not. Tokens are counted as servers report them;
    ``batched_...`` counts the tokens of batch requests. ``images`` and ``videos`` count
    generated media.
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
        """Counts an answer or a failure that took ``tries`` attempts."""
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
        """Counts a line of a journal."""
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
        """Counts a line of a journal."""
        if endpoint := row["to"]:
            self._of(tuple(endpoint)).add_line(row)

    def add(
        self,
        endpoint: ModelEndpoint,
        response: Response,
        tries: int,
    ) -> None:
        """Counts a new answer or failure that took ``tries`` attempts."""
        self._of(endpoint).add(response, tries)

    def _of(self, endpoint: tuple[Any, ...]) -> CallTotals:
        totals = self._by_endpoint.get(endpoint)
        if totals is None:
            totals = self._by_endpoint[endpoint] = CallTotals()
        return totals

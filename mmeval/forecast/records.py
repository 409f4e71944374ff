"""The forecast: what a run would ask, send, cost and need, as records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from mmeval.costs.budget import Limits
from mmeval.costs.prices import MILLION, Bill, Prices
from mmeval.dataset.bad_sample import BadSamples
from mmeval.errors import EXIT_OK, EXIT_UNEXPECTED, MmevalError
from mmeval.forecast.estimate import NOTHING, Range, Weight
from mmeval.records.request import Request
from mmeval.store.spending import Payee
from mmeval.task.task import Task

RECORD_BYTES = 1500
"""What a trial needs on disk besides its answers: its sample, its own line, a row of scores."""

MAX_PROBLEMS = 10
OTHER_PROBLEMS = "other reasons"


@dataclass
class Load:
    """What one role of a task is asked for. ``kept`` calls are answered already, ``equal`` ones by the answer to
    another; neither is among ``calls``. ``estimated`` where not every sample was looked at, or a metric supposes what
    an answer will hold."""

    calls: float = 0
    kept: float = 0
    equal: float = 0
    tokens_in: Range = NOTHING
    tokens_out: Range = NOTHING
    media_bytes: float = 0
    disk_bytes: float = 0
    images: float = 0
    estimated: bool = False

    def add(self, weight: Weight) -> None:
        """Count the tokens and bytes of a call."""
        self.tokens_in += weight.tokens_in
        self.tokens_out += weight.tokens_out
        self.media_bytes += weight.media_bytes
        self.disk_bytes += weight.disk_bytes
        self.images += weight.images

    def merge(self, other: Load, factor: float = 1.0) -> None:
        """Count another load as well, ``factor`` times."""
        self.calls += other.calls * factor
        self.kept += other.kept * factor
        self.equal += other.equal * factor
        self.tokens_in += other.tokens_in.times(factor)
        self.tokens_out += other.tokens_out.times(factor)
        self.media_bytes += other.media_bytes * factor
        self.disk_bytes += other.disk_bytes * factor
        self.images += other.images * factor
        self.estimated |= other.estimated or factor != 1.0


@dataclass
class TaskForecast:
    """One task. ``rows`` are those of its data set, ``loads`` are by role; ``problems`` are what trials would fail of,
    each with how many it concerns; ``endless`` counts programs that were not followed to their end."""

    task: Task
    rows: int
    samples: int = 0
    trials: int = 0
    loads: dict[str, Load] = field(default_factory=dict)
    problems: Counter[str] = field(default_factory=Counter)
    endless: int = 0
    bad: BadSamples = field(default_factory=BadSamples)
    """Samples that cannot be asked, among ``samples``."""

    def note(self, problem: str) -> None:
        """Count a trial that would fail. Of problems that each have words of their own only the first are told."""
        known = problem in self.problems or len(self.problems) < MAX_PROBLEMS
        self.problems[problem if known else OTHER_PROBLEMS] += 1


class First(NamedTuple):
    """The first request that would be sent, and for which sample."""

    task: str
    sample: str
    role: str
    request: Request


class Place(NamedTuple):
    """Which model plays a role, and where what it is asked goes: a host, or this machine."""

    model: str
    host: str


@dataclass(frozen=True)
class Forecast:
    """What a run would do. ``payees`` are the roles whose calls are sent somewhere; ``cannot_read`` is the error that
    the data end with, None when they can be read to their end."""

    folder: Path
    answers: int
    """Calls that the run folder has an answer to."""
    tasks: tuple[TaskForecast, ...]
    places: Mapping[str, Place]
    payees: Mapping[str, Payee]
    prices: Prices
    limits: Limits
    spent: tuple[Bill, ...]
    free_bytes: int
    first: First | None = None
    cannot_read: BaseException | None = None

    @property
    def exit_code(self) -> int:
        """That of the error which would end the run; 0 when there is none."""
        if self.cannot_read is None:
            return EXIT_OK
        return self.cannot_read.exit_code if isinstance(self.cannot_read, MmevalError) else EXIT_UNEXPECTED

    @property
    def disk_bytes(self) -> float:
        """What the run folder would grow by."""
        records = sum(task.trials * RECORD_BYTES for task in self.tasks)
        return records + sum(load.disk_bytes for task in self.tasks for load in task.loads.values())

    def dollars(self, role: str, load: Load) -> Range | None:
        """What a load costs; None where nobody has said the price."""
        payee = self.payees.get(role)
        if payee is None:
            return NOTHING
        price = self.prices.of(payee)
        if price is None:
            return None
        tokens = load.tokens_in.times(price.input / MILLION) + load.tokens_out.times(price.output / MILLION)
        fixed = price.per_image * load.images + price.per_call * load.calls
        return tokens + Range(fixed, fixed)

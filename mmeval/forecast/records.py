"""Records of a forecast: requests, data, cost and disk space of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from mmeval.cluster.ray_cluster import NodePlaces
from mmeval.costs.budget import Limits
from mmeval.costs.prices import MILLION, Bill, Prices
from mmeval.dataset.bad_sample import BadSamples
from mmeval.errors import EXIT_OK, EXIT_UNEXPECTED, MmevalError
from mmeval.findings.finding import Finding
from mmeval.forecast.estimate import NOTHING, Load, TokenRange
from mmeval.records.request import Request
from mmeval.store.spending import Payee
from mmeval.task.task import Task

RECORD_BYTES = 1500
"""Bytes of a trial on disk besides its answers: its sample, its line, a row of
scores."""

MAX_PROBLEMS = 10
OTHER_PROBLEMS = "other reasons"


@dataclass
class TaskForecast:
    """The forecast of a task; ``rows`` are of its data set, ``loads`` by role.
    ``problems``: reasons why trials would fail, with numbers; ``endless``: programs
    stopped before their end."""

    task: Task
    rows: int
    samples: int = 0
    trials: int = 0
    loads: dict[str, Load] = field(default_factory=dict)
    problems: Counter[str] = field(default_factory=Counter)
    endless: int = 0
    reencoded: Counter[str] = field(default_factory=Counter)
    """Media that are sent in another format than theirs, by what is done."""
    bad: BadSamples = field(default_factory=BadSamples)
    """Samples that cannot be asked, among ``samples``."""

    def note(self, problem: str) -> None:
        """Count a failing trial; the first :data:`MAX_PROBLEMS` reasons keep their
        text."""
        known = problem in self.problems or len(self.problems) < MAX_PROBLEMS
        self.problems[problem if known else OTHER_PROBLEMS] += 1


class First(NamedTuple):
    """The first request that would be sent, with its sample."""

    task: str
    sample: str
    role: str
    request: Request


class Host(NamedTuple):
    """The model of a role, and the host that gets its requests, or this machine."""

    model: str
    host: str


@dataclass(frozen=True)
class Forecast:
    """The forecast of a run; ``payees`` are the roles whose calls are sent.
    ``cannot_read`` is the error at which reading the data stops, None when all can be
    read."""

    folder: Path
    answers: int
    """Calls that the run folder has an answer to."""
    answers_beside: int
    """Calls that a shard's run and its other shards have an answer to, and it has
    not."""
    tasks: tuple[TaskForecast, ...]
    places: Mapping[str, Host]
    payees: Mapping[str, Payee]
    prices: Prices
    limits: Limits
    spent: tuple[Bill, ...]
    free_bytes: int
    first: First | None = None
    nodes: tuple[NodePlaces, ...] = ()
    """Of the cluster that would answer."""
    cannot_read: BaseException | None = None
    lacking: tuple[Finding, ...] = ()
    """What cannot be computed here."""
    of_folder: tuple[Finding, ...] = ()
    """What is known of the run folder: its answers, its journal, its budget."""
    words: str = "TASK"
    """The tasks on a command line."""

    @property
    def exit_code(self) -> int:
        """The exit code of the error that would end the run; 0 without one."""
        if self.cannot_read is None:
            return EXIT_OK
        return (
            self.cannot_read.exit_code
            if isinstance(self.cannot_read, MmevalError)
            else EXIT_UNEXPECTED
        )

    @property
    def disk_bytes(self) -> float:
        """The growth of the run folder."""
        records = sum(task.trials * RECORD_BYTES for task in self.tasks)
        return records + sum(
            load.disk_bytes for task in self.tasks for load in task.loads.values()
        )

    def price_words(self) -> str:
        """``model 31,026 calls, judge 52,000 calls: 18.00 to 41.00 dollars``."""
        calls: dict[str, float] = {}
        total: TokenRange | None = NOTHING
        for task in self.tasks:
            for role, load in task.loads.items():
                calls[role] = calls.get(role, 0) + load.calls
                cost = self.dollars(role, load)
                total = None if total is None or cost is None else total + cost
        counts = [f"{role} {count:,.0f} calls" for role, count in calls.items()]
        price = "price unknown"
        if total is not None:
            price = f"{total.low:,.2f} to {total.high:,.2f} dollars"
        return f"{', '.join(counts)}: {price}"

    def dollars(self, role: str, load: Load) -> TokenRange | None:
        """The cost of a load; None where the price is unknown."""
        payee = self.payees.get(role)
        if payee is None:
            return NOTHING
        price = self.prices.of(payee)
        if price is None:
            return None
        tokens = load.tokens_in.times(price.input / MILLION) + load.tokens_out.times(
            price.output / MILLION
        )
        made = price.per_image * load.images + price.per_video * load.videos
        fixed = made + price.per_call * load.calls
        return tokens + TokenRange(fixed, fixed)

"""Records of a forecast: requests, data, cost and disk space of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.broker.cluster.ray_cluster import NodePlaces
from mmeval.dataset.bad_sample import BadSamples
from mmeval.findings.exit_code import exit_code
from mmeval.findings.finding import Finding, Subject
from mmeval.forecast.estimate import NOTHING, RoleLoad, TokenRange
from mmeval.records.request import Request
from mmeval.run.costs.budget import BudgetLimits
from mmeval.run.costs.prices import MILLION, Bill, Prices
from mmeval.store.spending import ModelEndpoint
from mmeval.task.task import Task

RECORD_BYTES = 1500
"""Bytes of a trial on disk besides its answers: its sample, its line, a row of
scores."""

MAX_REASONS = 10
"""Reasons of a task that keep their words; the others are counted."""
OTHER_REASONS = "other reasons"


@dataclass
class TaskForecast:
    """The forecast of a task; ``rows`` are of its data set, ``loads`` by role."""

    task: Task
    rows: int
    samples: int = 0
    trials: int = 0
    loads: dict[str, RoleLoad] = field(default_factory=dict)
    bad: BadSamples = field(default_factory=BadSamples)
    """Samples that cannot be asked, among ``samples``."""
    reasons: Counter[Finding] = field(default_factory=Counter)
    """Trials by what is wrong with them; a key has no count of its own."""
    reencoded: Counter[Finding] = field(default_factory=Counter)
    """Media that are sent in another format than theirs, by what is done."""

    def note(self, finding: Finding) -> None:
        """Count a trial; the first :data:`MAX_REASONS` keep their words."""
        is_known = finding in self.reasons or len(self.reasons) < MAX_REASONS
        other = replace(finding, cause=OTHER_REASONS, remedy="")
        self.reasons[finding if is_known else other] += 1

    def findings(self) -> Iterator[Finding]:
        yield from self.bad.findings()
        for finding, count in self.reasons.most_common():
            yield replace(finding, count=count, of=self.trials)
        for finding, count in self.reencoded.most_common():
            yield replace(finding, count=count)


class FirstRequest(NamedTuple):
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
    """The forecast of a run; ``endpoints`` are the roles whose calls are sent."""

    folder: Path
    answers: int
    """Calls that the run folder has a reply to, of all roles."""
    answers_beside: int
    """Calls that a shard's run and its other shards have a reply to, and it has
    not."""
    tasks: tuple[TaskForecast, ...]
    places: Mapping[str, Host]
    """The roles that are asked, and the model under test."""
    endpoints: Mapping[str, ModelEndpoint]
    prices: Prices
    limits: BudgetLimits
    spent: tuple[Bill, ...]
    free_bytes: int
    first: FirstRequest | None = None
    nodes: tuple[NodePlaces, ...] = ()
    """Of the cluster that would answer."""
    findings: tuple[Finding, ...] = ()
    """What is wrong, as the run would report it."""
    of_folder: tuple[Finding, ...] = ()
    """Those that its folder knows: of its answers, its journal, its budget."""
    words: str = "TASK"
    """The tasks on a command line."""

    @property
    def exit_code(self) -> int:
        """What the run would end with, as far as that is known before it."""
        return exit_code(self.findings)

    @property
    def disk_bytes(self) -> float:
        """The growth of the run folder."""
        total = 0.0
        for task in self.tasks:
            total += task.trials * RECORD_BYTES
            for load in task.loads.values():
                total += load.disk_bytes
        return total

    def price_words(self) -> str:
        """``model 31,026 calls, judge 52,000 calls: 18.00 to 41.00 dollars``."""
        counts = []
        for role, load in self.by_role().items():
            counts.append(f"{role} {load.calls:,.0f} calls")
        total = self.total()
        price = "price unknown" if total is None else f"{dollar_words(total)} dollars"
        return f"{', '.join(counts)}: {price}"

    def by_role(self) -> dict[str, RoleLoad]:
        """The loads of all tasks together."""
        found: dict[str, RoleLoad] = {}
        for task in self.tasks:
            for role, load in task.loads.items():
                found.setdefault(role, RoleLoad()).merge(load)
        return found

    def total(self) -> TokenRange | None:
        """The cost of all calls; None where a price is unknown."""
        total = NOTHING
        for role, load in self.by_role().items():
            cost = self.dollars(role, load)
            if cost is None:
                return None
            total += cost
        return total

    def dollars(self, role: str, load: RoleLoad) -> TokenRange | None:
        """The cost of a load; None where the price is unknown."""
        endpoint = self.endpoints.get(role)
        if endpoint is None or not load.calls:
            return NOTHING
        price = self.prices.of(endpoint)
        if price is None:
            return None
        tokens_in = load.tokens_in.times(price.input / MILLION)
        tokens_out = load.tokens_out.times(price.output / MILLION)
        made = price.per_image * load.images + price.per_video * load.videos
        fixed = made + price.per_call * load.calls
        return tokens_in + tokens_out + TokenRange(fixed, fixed)

    def to_json(self) -> dict[str, Any]:
        """The numbers of the table, and the findings."""
        tasks = []
        for task in self.tasks:
            loads = {}
            for role, load in task.loads.items():
                cost = self.dollars(role, load)
                loads[role] = {
                    "calls": load.calls,
                    "kept": load.kept,
                    "equal": load.equal,
                    "estimated": load.estimated,
                    "media_bytes": load.media_bytes,
                    "tokens_in": [load.tokens_in.low, load.tokens_in.high],
                    "tokens_out": [load.tokens_out.low, load.tokens_out.high],
                    "usd": None if cost is None else [cost.low, cost.high],
                }
            row = {
                "task": task.task.name,
                "samples": task.samples,
                "of": task.rows,
                "trials": task.trials,
                "roles": loads,
            }
            tasks.append(row)
        total = self.total()
        return {
            "folder": str(self.folder),
            "calls_answered": self.answers,
            "roles": {role: host._asdict() for role, host in self.places.items()},
            "tasks": tasks,
            "usd": None if total is None else [total.low, total.high],
            "disk_bytes": round(self.disk_bytes),
            "free_bytes": self.free_bytes,
            "findings": [finding.to_json() for finding in self.findings],
            "exit_code": self.exit_code,
        }


def dollar_words(cost: TokenRange) -> str:
    """``1.20 to 3.40``, or one amount where both are equal."""
    low, high = f"{cost.low:,.2f}", f"{cost.high:,.2f}"
    return high if low == high else f"{low} to {high}"


def reencoded_as(form: str, subject: Subject) -> Finding:
    """That media are sent in another format than theirs."""
    cause = f"encoded anew: {form}"
    return Finding("unsupported", subject, cause=cause, severity="note")

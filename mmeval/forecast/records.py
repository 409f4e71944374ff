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
from mmeval.program.calls import MODEL
from mmeval.records.request import Request
from mmeval.run.costs.prices import MILLION, Bill, Prices
from mmeval.run.costs.shared_budget import BudgetLimits
from mmeval.store.spending import ModelEndpoint
from mmeval.task.task import Group, Task

RECORD_BYTES = 1500
"""Bytes of a trial on disk without its answers: sample, trial and score row."""

MAX_REASONS = 10
"""Maximum number of different problems that are recorded per task."""
OTHER_REASONS = "other reasons"
THIS_MACHINE = "this machine"
"""The host of a model that sends its data nowhere."""


@dataclass
class TaskForecast:
    """The forecast of a task.

    ``rows`` is the number of rows in its data set. ``loads`` maps each role to its
    load.
    """

    task: Task
    rows: int
    samples: int = 0
    trials: int = 0
    loads: dict[str, RoleLoad] = field(default_factory=dict)
    bad: BadSamples = field(default_factory=BadSamples)
    """Samples from which no request can be made. ``samples`` includes them."""
    reasons: Counter[Finding] = field(default_factory=Counter)
    """Number of trials with each problem. The findings have no ``count`` yet."""
    reencoded: Counter[Finding] = field(default_factory=Counter)
    """Number of media that are sent in another format, per format and role."""

    @property
    def is_unaskable(self) -> bool:
        """True if the task has samples, but no call can be made for any of them."""
        load = self.loads.get(MODEL, RoleLoad())
        return self.trials > 0 and load.calls + load.kept + load.equal == 0

    def note(self, finding: Finding) -> None:
        """Counts a trial with a problem; only :data:`MAX_REASONS` reasons are kept."""
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
    """The first request that the run would send, with its sample."""

    task: str
    sample: str
    role: str
    request: Request


class Host(NamedTuple):
    """The model of a role, and the host that receives its requests."""

    model: str
    host: str


@dataclass(frozen=True)
class Forecast:
    """The forecast of a run. ``endpoints`` are the roles that requests are sent to."""

    folder: Path
    answers: int
    """Number of calls to all roles whose answers are already in the run folder."""
    other_answers: int
    """Number of calls whose answers are only in a shard's run or in other shards."""
    tasks: tuple[TaskForecast, ...]
    groups: tuple[Group, ...]
    """The groups of the tasks, outer groups first."""
    hosts: Mapping[str, Host]
    """Hosts of the model under test and of all called roles."""
    endpoints: Mapping[str, ModelEndpoint]
    prices: Prices
    limits: BudgetLimits
    spent: tuple[Bill, ...]
    free_bytes: int
    first: FirstRequest | None = None
    nodes: tuple[NodePlaces, ...] = ()
    """The nodes of the cluster, if one is used."""
    findings: tuple[Finding, ...] = ()
    """The findings that the run would report."""
    of_folder: tuple[Finding, ...] = ()
    """Findings about the run folder: its answers, journal and budget."""
    words: str = "TASK"
    """The names of the tasks, as arguments of a command."""

    @property
    def exit_code(self) -> int:
        """The exit code that the run would have, as far as the forecast can tell."""
        return exit_code(self.findings)

    @property
    def disk_bytes(self) -> float:
        """The number of bytes by which the run folder would grow."""
        total = 0.0
        for task in self.tasks:
            total += task.trials * RECORD_BYTES
            for load in task.loads.values():
                total += load.disk_bytes
        return total

    def price_words(self) -> str:
        """Describes the cost, as in ``model 31,026 calls: 18.00 to 41.00 dollars``."""
        counts = []
        for role, load in self.by_role().items():
            counts.append(f"{role} {load.calls:,.0f} calls")
        total = self.total()
        price = "price unknown" if total is None else f"{dollar_words(total)} dollars"
        return f"{', '.join(counts)}: {price}"

    def by_role(self) -> dict[str, RoleLoad]:
        """Returns the loads by role, summed over tasks."""
        loads: dict[str, RoleLoad] = {}
        for task in self.tasks:
            for role, load in task.loads.items():
                loads.setdefault(role, RoleLoad()).merge(load)
        return loads

    def total(self) -> TokenRange | None:
        """Returns the cost of all calls in US dollars; None if a price is unknown."""
        total = NOTHING
        for role, load in self.by_role().items():
            cost = self.dollars(role, load)
            if cost is None:
                return None
            total += cost
        return total

    def dollars(self, role: str, load: RoleLoad) -> TokenRange | None:
        """Returns the cost of a load in US dollars; None if the price is unknown."""
        endpoint = self.endpoints.get(role)
        if endpoint is None or not load.calls:
            return NOTHING
        price = self.prices.of(endpoint)
        if price is None:
            return None
        tokens_in = load.tokens_in.times(price.input / MILLION)
        tokens_out = load.tokens_out.times(price.output / MILLION)
        media_cost = price.per_image * load.images + price.per_video * load.videos
        fixed = media_cost + price.per_call * load.calls
        most_fixed = fixed + price.per_call * load.redraws
        return tokens_in + tokens_out + TokenRange(fixed, most_fixed)

    def to_json(self) -> dict[str, Any]:
        """Returns the numbers of the table and the findings as JSON."""
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
            "roles": {role: host._asdict() for role, host in self.hosts.items()},
            "tasks": tasks,
            "usd": None if total is None else [total.low, total.high],
            "disk_bytes": round(self.disk_bytes),
            "free_bytes": self.free_bytes,
            "findings": [finding.to_json() for finding in self.findings],
            "exit_code": self.exit_code,
        }


def dollar_words(cost: TokenRange) -> str:
    """Formats a cost as ``1.20 to 3.40``, or as one amount if both are equal."""
    low, high = f"{cost.low:,.2f}", f"{cost.high:,.2f}"
    return high if low == high else f"{low} to {high}"


def reencoded_as(form: str, subject: Subject) -> Finding:
    """Returns the finding that media are sent in another format."""
    cause = f"encoded anew: {form}"
    return Finding("unsupported", subject, cause=cause, severity="note")

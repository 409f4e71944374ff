"""Sums a forecast over benchmarks: the groups that were asked for, and other tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mmeval.forecast.estimate import RoleLoad, TokenRange
from mmeval.forecast.records import Forecast, TaskForecast
from mmeval.results.groups import tasks_inside


@dataclass
class BenchmarkForecast:
    """The forecast of an outermost group, or of a task outside of all groups.

    ``rows`` is the number of rows in the data sets of its tasks. Tasks may share one.
    """

    name: str
    is_group: bool = False
    tasks: int = 0
    unaskable: int = 0
    """Number of tasks that the model cannot be asked."""
    samples: int = 0
    rows: int = 0
    loads: dict[str, RoleLoad] = field(default_factory=dict)

    def merge(self, other: BenchmarkForecast) -> None:
        self.tasks += other.tasks
        self.unaskable += other.unaskable
        self.samples += other.samples
        self.rows += other.rows
        for role, load in other.loads.items():
            self.loads.setdefault(role, RoleLoad()).merge(load)

    @property
    def load(self) -> RoleLoad:
        """The calls to the model and to all other roles."""
        total = RoleLoad()
        for load in self.loads.values():
            total.merge(load)
        return total

    def dollars(self, forecast: Forecast) -> TokenRange | None:
        """Returns the cost in US dollars; None if a price is unknown."""
        total = TokenRange()
        for role, load in self.loads.items():
            cost = forecast.dollars(role, load)
            if cost is None:
                return None
            total += cost
        return total


def by_benchmark(forecast: Forecast) -> list[BenchmarkForecast]:
    """Returns the outermost groups and the tasks outside of groups, in their order."""
    group_of = dict(_outermost_groups(forecast))
    benchmarks: dict[str, BenchmarkForecast] = {}
    for task in forecast.tasks:
        task_name = task.task.name
        name = group_of.get(task_name, task_name)
        row = BenchmarkForecast(name, is_group=task_name in group_of)
        benchmarks.setdefault(name, row).merge(_of_task(task))
    return list(benchmarks.values())


def _of_task(task: TaskForecast) -> BenchmarkForecast:
    return BenchmarkForecast(
        task.task.name,
        tasks=1,
        unaskable=int(task.is_unaskable),
        samples=task.samples,
        rows=task.rows,
        loads=task.loads,
    )


def summed(benchmarks: Sequence[BenchmarkForecast], name: str) -> BenchmarkForecast:
    """Returns the sum of benchmarks under a name."""
    total = BenchmarkForecast(name)
    for benchmark in benchmarks:
        total.merge(benchmark)
    return total


def _outermost_groups(forecast: Forecast) -> Iterator[tuple[str, str]]:
    """Yields each task of a group, with the outermost group that contains it."""
    members: Mapping[str, Sequence[str]] = {
        group.name: group.members for group in forecast.groups
    }
    inner: set[str] = set()
    for names in members.values():
        inner.update(names)
    for group in reversed(list(members)):
        if group not in inner:
            for task in tasks_inside(group, members):
                yield task, group

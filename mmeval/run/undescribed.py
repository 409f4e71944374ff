"""Undescribed kinds: media that a task may bring and that nobody in the run can put into words."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from mmeval.backend.contract import AnyBackend
from mmeval.backend.routes import TO_DESCRIBE
from mmeval.backend.sendable import can_take
from mmeval.content.media import MEDIA_KINDS
from mmeval.content.parts import PartKind
from mmeval.program.role_variants import variant
from mmeval.task.task import FixedKinds, Task


class Undescribed(NamedTuple):
    """Kinds of media that the one who plays a role by kind does not take, for some metrics of some tasks."""

    role: str
    kinds: tuple[PartKind, ...]
    metrics: tuple[str, ...]
    tasks: tuple[str, ...]

    @property
    def gap(self) -> str:
        """What is not taken, and what that costs."""
        kinds, metrics = ", ".join(self.kinds), ", ".join(self.metrics)
        return f"the {self.role} takes no {kinds}, in no form: what holds one is not scored by {metrics}"

    @property
    def way_out(self) -> str:
        return f"add {' '.join(f'--role {variant(self.role, kind)}=BACKEND' for kind in self.kinds)}"

    def __str__(self) -> str:
        more = f" and {len(self.tasks) - 1} more" if len(self.tasks) > 1 else ""
        return f"{self.tasks[0]}{more}: {self.gap}; {self.way_out}"


def undescribed(tasks: Iterable[Task], backends: Mapping[str, AnyBackend]) -> Iterator[Undescribed]:
    """What the tasks may ask for and nobody takes, told once for all tasks that lack the same. Where the data say for
    each sample what it asks for, that may be media of any kind."""
    found: dict[tuple[str, tuple[PartKind, ...]], tuple[list[str], list[str]]] = {}
    for task in tasks:
        wanted: Collection[str] = task.wanted.kinds if isinstance(task.wanted, FixedKinds) else MEDIA_KINDS
        for metric in task.metrics:
            for role in () if metric.unavailable else metric.bound.by_kind:
                lacking = (kind for kind in MEDIA_KINDS if kind in wanted and not _is_taken(role, kind, backends))
                kinds: tuple[PartKind, ...] = tuple(lacking)
                metrics, names = found.setdefault((role, kinds), ([], []))
                metrics.append(metric.bound.name)
                names.append(task.name)
    for (role, kinds), (metrics, names) in found.items():
        if kinds:
            yield Undescribed(role, kinds, tuple(dict.fromkeys(metrics)), tuple(dict.fromkeys(names)))


def _is_taken(role: str, kind: PartKind, backends: Mapping[str, AnyBackend]) -> bool:
    player = backends.get(variant(role, kind)) or backends.get(role)
    return player is not None and can_take(kind, TO_DESCRIBE, player.capabilities)

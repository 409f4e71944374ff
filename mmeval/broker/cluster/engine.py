"""The engine ``ray``. Its actors on a cluster answer batches and compute scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal

from mmeval.errors import UnknownNameError, UsageError
from mmeval.system.arguments import Condition, Hint, ZeroOrMore, fault_of

LOCAL, RAY = "local", "ray"
_Amount = Annotated[
    float, Condition(lambda value: "" if value >= 0 else "a number of 0 or more")
]
_ARGUMENTS: Mapping[str, Hint] = {
    "address": Annotated[
        str,
        Condition(
            lambda value: (
                "HOST:PORT of the head, for a run on a machine of the cluster"
                if value.startswith("ray://")
                else ""
            )
        ),
    ],
    "workers": Annotated[
        int | Literal["auto"],
        Condition(
            lambda value: (
                ""
                if value == "auto" or value >= 1
                else "auto or a whole number of 1 or more"
            )
        ),
    ],
    "cpus": _Amount,
    "gpus": _Amount,
    "score_workers": ZeroOrMore,
}
"""The type of each argument."""


@dataclass(frozen=True)
class RayEngine:
    """The settings of a run's actors on a Ray cluster.

    ``address`` is the address of the cluster. If it is empty, Ray searches for a
    cluster or starts one here. ``workers`` is the number of copies of each local model,
    each with ``cpus`` CPUs and ``gpus`` GPUs. With None, all copies that fit are
    started, even on nodes that join later. ``score_workers`` is the number of scoring
    processes, with one CPU each. If it is 0, scores are computed on this machine.
    """

    address: str = ""
    workers: int | None = None
    cpus: float = 1.0
    gpus: float = 1.0
    score_workers: int = 0

    @classmethod
    def of(cls, args: Mapping[str, Any]) -> RayEngine:
        """Creates the engine with these arguments.

        Raises UnknownNameError for an unknown argument, and UsageError for a value out
        of range.
        """
        for name, value in args.items():
            if name not in _ARGUMENTS:
                raise UnknownNameError(
                    "argument of ray",
                    name,
                    _ARGUMENTS,
                    f"Its arguments are: {', '.join(_ARGUMENTS)}.",
                )
            if fault := fault_of(value, _ARGUMENTS[name]):
                raise UsageError(f"{name} {fault}", name=name)
        values = dict(args)
        if values.get("workers") == "auto":
            values["workers"] = None
        return cls(**values)

    def __str__(self) -> str:
        """Returns the engine as a value of ``--engine``."""
        words = [RAY]
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, float):
                words.append(f"{field.name}={value:g}")
            elif value not in ("", None):
                words.append(f"{field.name}={value}")
        return ",".join(words)

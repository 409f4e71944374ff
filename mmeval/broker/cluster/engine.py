"""The engine of a run: who answers batches and scores, besides this machine's own
processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal

from mmeval.errors import UnknownNameError, UsageError
from mmeval.system.arguments import Checked, Hint, ZeroOrMore, fault_of

LOCAL, RAY = "local", "ray"
_Amount = Annotated[
    float, Checked(lambda value: "" if value >= 0 else "a number of 0 or more")
]
_ARGUMENTS: Mapping[str, Hint] = {
    "address": Annotated[
        str,
        Checked(
            lambda value: (
                "HOST:PORT of the head, for a run on a machine of the cluster"
                if value.startswith("ray://")
                else ""
            )
        ),
    ],
    "workers": Annotated[
        int | Literal["auto"],
        Checked(
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
"""What may be written for each field."""


@dataclass(frozen=True)
class RayEngine:
    """Actors of a Ray cluster. ``address`` is the cluster's; without one Ray looks for
    it, or starts one here.

    ``workers`` copies of each local model answer (None: as many as find room, also on
    nodes that join later), each with so many ``cpus`` and ``gpus``. ``score_workers``
    processes score, with a CPU each; 0: scoring stays here.
    """

    address: str = ""
    workers: int | None = None
    cpus: float = 1.0
    gpus: float = 1.0
    score_workers: int = 0

    @classmethod
    def of(cls, args: Mapping[str, Any]) -> RayEngine:
        """Raises UnknownNameError for an argument that it does not have, UsageError for
        one that is out of range."""
        for name, value in args.items():
            if name not in _ARGUMENTS:
                raise UnknownNameError(
                    "argument of ray",
                    name,
                    _ARGUMENTS,
                    f"It takes: {', '.join(_ARGUMENTS)}.",
                )
            if fault := fault_of(value, _ARGUMENTS[name]):
                raise UsageError(f"{name} {fault}", name=name)
        given = dict(args)
        if given.get("workers") == "auto":
            given["workers"] = None
        return cls(**given)

    def __str__(self) -> str:
        """As the flag has it."""
        words = [RAY]
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, float):
                words.append(f"{field.name}={value:g}")
            elif value not in ("", None):
                words.append(f"{field.name}={value}")
        return ",".join(words)

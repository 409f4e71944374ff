"""The engine of a run: who answers batches and scores, besides this machine's own processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from mmeval.errors import UsageError, did_you_mean

LOCAL, RAY = "local", "ray"


@dataclass(frozen=True)
class RayEngine:
    """Actors of a Ray cluster. ``address`` is the cluster's; without one Ray looks for it, or starts one here.

    ``workers`` copies of each local model answer (None: as many as find room, also on nodes that join later), each with
    so many ``cpus`` and ``gpus``. ``score_workers`` processes score, with a CPU each; 0: scoring stays here.
    """

    address: str = ""
    workers: int | None = None
    cpus: float = 1.0
    gpus: float = 1.0
    score_workers: int = 0

    @classmethod
    def of(cls, args: Mapping[str, Any]) -> RayEngine:
        """Raises UsageError for an argument that it does not have, and for one that is out of range."""
        known = [field.name for field in fields(cls)]
        for name in args:
            if name not in known:
                raise UsageError(
                    f"the engine ray has no argument {name!r}{did_you_mean(name, known)}; it has {', '.join(known)}",
                    name=name,
                    known=known,
                )
        if str(args.get("address", "")).startswith("ray://"):
            raise UsageError(
                "address: one of ray:// is for clients outside of the cluster; run on one of its machines, and give "
                "HOST:PORT of its head",
                name="address",
            )
        workers = args.get("workers", "auto")
        return cls(
            str(args.get("address", "")),
            None if workers == "auto" else int(_number("workers", workers, 1, whole=True)),
            _number("cpus", args.get("cpus", 1), 0),
            _number("gpus", args.get("gpus", 1), 0),
            int(_number("score_workers", args.get("score_workers", 0), 0, whole=True)),
        )

    def __str__(self) -> str:
        """As the flag has it."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        return ",".join(
            (
                RAY,
                *(
                    f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
                    for name, value in given.items()
                    if value not in ("", None)
                ),
            )
        )


def _number(name: str, value: object, least: int, *, whole: bool = False) -> float:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or value < least or (whole and value != int(value)):  # type: ignore[operator, call-overload]
        wanted = f"{'auto or ' if name == 'workers' else ''}{'a whole number' if whole else 'a number'}"
        raise UsageError(f"{name}={value!r}: {wanted} of {least} or more is expected", name=name)
    return float(value)  # type: ignore[arg-type]

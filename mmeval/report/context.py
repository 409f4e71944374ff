"""What a report says besides the numbers: who was asked, and with which settings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mmeval.batchsize import AUTO, BatchSize
from mmeval.statistics import BOOTSTRAP_ITERS

_SECRET = re.compile(r"(^|_)(keys?|token|secret|password|passwd|credentials?|authorization)$", re.IGNORECASE)
_WRITTEN_SECRET = re.compile(
    r"""((?:^|[^A-Za-z0-9])(?:keys?|token|secret|password|passwd|credentials?|authorization)"?\s*[=:]\s*"?)[^\s,;"'}]+""",
    re.IGNORECASE,
)
HIDDEN = "***"


@dataclass(frozen=True)
class ReportContext:
    """The settings that stand above the table and in the ``config`` of a results file.

    ``metadata`` is the user's own and is added to that ``config``. ``stem`` is the beginning of the results file's
    name; ``folder`` is where it lies (None: the run folder). ``settings`` are all flags as a configuration file has
    them, without secrets.
    """

    model: str
    model_args: Mapping[str, Any] = field(default_factory=dict)
    gen_kwargs: Mapping[str, Any] = field(default_factory=dict)
    limit: float | None = None
    batch_size: BatchSize = AUTO
    seed: int = 0
    bootstrap_iters: int = BOOTSTRAP_ITERS
    use_cache: str = ""
    system_instruction: str = ""
    profile: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    stem: str = "results"
    folder: Path | None = None

    @property
    def shown_batch_size(self) -> str:
        return str(self.batch_size)


def without_secrets(values: Mapping[str, Any]) -> dict[str, Any]:
    """The mapping with the values of keys, tokens and passwords hidden, at any depth."""
    return {name: HIDDEN if _secret(name, value) else _inner(value) for name, value in values.items()}


def hidden_names(values: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """What :func:`without_secrets` has hidden, at any depth: ``a.b`` for a value in a mapping."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from hidden_names(value, f"{path}{name}.")
        elif value == HIDDEN:
            yield f"{path}{name}"


def text_without_secrets(text: str) -> str:
    """A command line with the values of keys, tokens and passwords hidden."""
    return _WRITTEN_SECRET.sub(rf"\1{HIDDEN}", text)


def _secret(name: str, value: Any) -> bool:
    return bool(_SECRET.search(name)) and isinstance(value, str) and bool(value)


def _inner(value: Any) -> Any:
    if isinstance(value, Mapping):
        return without_secrets(value)
    return [_inner(item) for item in value] if isinstance(value, (list, tuple)) else value


def as_arguments(values: Mapping[str, Any]) -> str:
    """``k=v,k2=v2``, secrets hidden; ``None`` for nothing, as users of lm-evaluation-harness know it."""
    return ",".join(f"{name}={value}" for name, value in without_secrets(values).items()) or "None"

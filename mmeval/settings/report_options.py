"""The settings of a run that its printed table and its results file contain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mmeval.aggregate.statistics import BOOTSTRAP_ITERS
from mmeval.backend.batch_size import AUTO, BatchSize
from mmeval.errors import UsageError
from mmeval.system.secrets import without_secrets

_OTHER_SEEDS = 1234
"""The default seed of lm-evaluation-harness, which its results files contain."""


@dataclass(frozen=True)
class ReportContext:
    """The settings that are printed above the table and written to a results file.

    The file contains them as its ``config``.

    - ``metadata``: the user's values, which are added to that ``config``.
    - ``stem``: the start of the results file's name.
    - ``folder``: the folder of the results file; None for the run folder.
    - ``settings``: all flags as in a configuration file, without secrets.
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


def as_arguments(values: Mapping[str, Any]) -> str:
    """Returns ``k=v,k2=v2`` without secrets, or ``"None"`` for no values.

    lm-evaluation-harness writes arguments in this form.
    """
    visible = without_secrets(values)
    return ",".join(f"{name}={value}" for name, value in visible.items()) or "None"


def run_config(context: ReportContext) -> dict[str, Any]:
    """Returns the ``config`` of a results file, without the user's metadata."""
    return {
        "model": context.model,
        "model_args": as_arguments(context.model_args) if context.model_args else "",
        "batch_size": str(context.batch_size),
        "batch_sizes": [],
        "device": context.model_args.get("device"),
        "use_cache": context.use_cache or None,
        "limit": context.limit,
        "bootstrap_iters": context.bootstrap_iters,
        "gen_kwargs": without_secrets(context.gen_kwargs) or None,
        "random_seed": context.seed,
        "numpy_seed": _OTHER_SEEDS,
        "torch_seed": _OTHER_SEEDS,
        "fewshot_seed": _OTHER_SEEDS,
        "profile": context.profile or None,
    }


def refuse_taken(metadata: Mapping[str, Any], origin: str) -> None:
    """Raises UsageError if metadata would replace a setting in the results file."""
    conflicts = sorted(metadata.keys() & run_config(ReportContext("")).keys())
    if conflicts:
        raise UsageError(
            f"{origin}: the config of the results already has {', '.join(conflicts)}; "
            "choose another name"
        )

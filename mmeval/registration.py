"""Registers plugins from a script or a notebook, for its process.

    @mmeval.register_metric("shouting", range=(0, 1))
    def shouting(trial, *, limit=0.5): ...

A package registers plugins by entry points (see ``mmeval.plugins``) for all processes.
No plugin is overridden: a name that an installed package also has is an error when it
is used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from mmeval import plugins
from mmeval.errors import UsageError
from mmeval.metric.contract import (
    Metric,
    NeedsOf,
    Range,
    RangeOf,
    SampleCheck,
    Supposed,
    metric,
)
from mmeval.records.digests import code_digest

T = TypeVar("T", bound=Callable[..., Any])


def register_metric(
    name: str,
    *,
    range: Range | RangeOf = (-math.inf, math.inf),
    higher_is_better: bool = True,
    version: str = "",
    source: str = "",
    needs: Sequence[str] | NeedsOf = (),
    outputs: Sequence[str] = (),
    profiles: Mapping[str, Mapping[str, Any]] | None = None,
    check: SampleCheck | None = None,
    batch: int | None = None,
    supposed: Supposed | None = None,
) -> Callable[[Callable[..., Any] | Metric], Metric]:
    """Register a function as a metric. The keywords are those of
    ``mmeval.metric.metric``.

    Without a ``range``, a value with missing scores has no bounds. Without a
    ``version``, the function's source text is the version, so answers are scored again
    after the metric is edited. If the function is already a ``Metric``, its description
    is kept and the keywords are ignored.
    """
    _check_name(name, "register_metric")

    def register(function: Callable[..., Any] | Metric) -> Metric:
        if isinstance(function, Metric):
            described = replace(function, name=name)
        else:
            describe = metric(
                range=range,
                version=version or code_digest(function)[:12],
                source=source,
                higher_is_better=higher_is_better,
                name=name,
                needs=needs,
                outputs=outputs,
                profiles=profiles,
                check=check,
                batch=batch,
                supposed=supposed,
            )
            described = describe(function)
        plugins.register("mmeval.metrics", name, described)
        return described

    return register


def register_backend(*names: str) -> Callable[[T], T]:
    """Register a class as a backend, to be called with the backend's arguments."""
    return _registrar("mmeval.model_backends", names, "register_backend")


register_model = register_backend
"""The function ``register_backend`` under its name in lm-evaluation-harness."""


def register_loader(name: str) -> Callable[[T], T]:
    """Register ``load(source: DataSource) -> Dataset`` as a loader."""
    return _registrar("mmeval.loaders", (name,), "register_loader")


def register_aggregation(name: str) -> Callable[[T], T]:
    """Register ``aggregate(scores: Scores, **options) -> Estimate`` as an
    aggregation."""
    return _registrar("mmeval.aggregators", (name,), "register_aggregation")


def register_protocol(name: str) -> Callable[[T], T]:
    """Register a protocol: ``protocol(ask: Ask, **options) ->
    Program[Interleaved]``."""
    return _registrar("mmeval.protocols", (name,), "register_protocol")


def register_prompt(name: str) -> Callable[[T], T]:
    """Register ``prompt(sample: Sample, **options) -> Sequence[Message]`` as a
    prompt."""
    return _registrar("mmeval.prompts", (name,), "register_prompt")


def _registrar(
    group: plugins.PluginGroup, names: Sequence[str], function_name: str
) -> Callable[[T], T]:
    for name in names:
        _check_name(name, function_name)

    def register(plugin: T) -> T:
        for name in names:
            plugins.register(group, name, plugin)
        return plugin

    return register


def _check_name(name: object, function_name: str) -> None:
    """Raises UsageError for a decorator without parentheses, which would register
    nothing."""
    if not isinstance(name, str):
        example = getattr(name, "__name__", "a_name")
        if isinstance(name, Metric):
            example = name.name
        raise UsageError(
            f'{function_name} needs a name: write @mmeval.{function_name}("{example}")'
        )

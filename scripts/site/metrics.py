"""The pages of metrics: a table and a section for each metric of a family, made from
docstrings and declarations.

Each family is a page of ``docs/metrics``. Its metrics are added below its text.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mmeval import plugins
from mmeval.metric.contract import Metric, load_metric
from mmeval.metric.facts import IN_A_TASK, facts_of, range_text
from mmeval.system.wording import shortened

PICTURES = Path(__file__).resolve().parents[2] / "docs" / "pictures"
FAMILIES = {
    "metrics.structure": "structure",
    "metrics.text": "text",
    "metrics.image": "pictures",
    "metrics.audio": "sounds",
    "metrics.video": "videos",
    "metrics.three_d": "3d",
    "metrics.quality": "quality",
    "metrics.judged": "judged",
    "metrics.judged.pictures": "judged_pictures",
    "metrics.judged.isg": "isg",
    "metrics.judged.ueval": "ueval",
    "tasks.mme_unify": "mme_unify",
}
"""The page of a metric, by the package in which the metric is defined."""
AGGREGATORS = "aggregators"
"""The page of the aggregators."""
_MAX_DEFAULT = 70


def family_reference(page: str) -> str:
    """Returns the sections of a page's metrics or aggregators, as Markdown.

    Text in docstrings is reStructuredText, so it is handed over as such.
    """
    if page == AGGREGATORS:
        return "\n".join(_aggregator_sections())
    metrics = metrics_of(page)
    aliases = _aliases()
    lines = [_row(["metric", "range", "↑/↓", "calls", "what"]), _row(["---"] * 5)]
    for metric in metrics:
        lines.append(_overview(metric))
    lines.append("")
    for metric in metrics:
        lines += _metric_section(metric, aliases[metric.name])
    return "\n".join(lines)


def metrics_of(page: str) -> list[Metric]:
    """Returns the metrics of a page, by name."""
    metrics = {}
    for entry in plugins.entries("mmeval.metrics"):
        metric = load_metric(entry.name)
        if page_of(metric) == page:
            metrics[metric.name] = metric
    return [metrics[name] for name in sorted(metrics)]


def page_of(metric: Metric) -> str:
    """Returns the page of the longest package that holds the metric's module."""
    module = metric.function.__module__.removeprefix("mmeval.")
    packages = [name for name in FAMILIES if f"{module}.".startswith(f"{name}.")]
    return FAMILIES[max(packages, key=len)]


def _aliases() -> dict[str, list[str]]:
    """Returns the other registered names of each metric."""
    aliases: dict[str, list[str]] = {}
    for entry in plugins.entries("mmeval.metrics"):
        name = load_metric(entry.name).name
        names = aliases.setdefault(name, [])
        if entry.name != name:
            names.append(entry.name)
    return aliases


def _aggregator_sections() -> Iterator[str]:
    for entry in plugins.entries("mmeval.aggregators"):
        aggregator = plugins.load("mmeval.aggregators", entry.name)
        yield from (f"## `{entry.name}`", "", *_docstring(aggregator))
        yield from (f"In a task: `aggregation: {entry.name}`", "")


def _overview(metric: Metric) -> str:
    docstring = inspect.getdoc(metric.function) or ""
    sentence = " ".join(docstring.partition("\n\n")[0].split())
    return _row(
        [
            f"[`{metric.name}`](#{metric.name})",
            range_text(metric),
            "↑" if metric.higher_is_better else "↓",
            ", ".join(metric.roles),
            sentence.replace("``", "`").replace("|", "\\|"),
        ]
    )


def _metric_section(metric: Metric, aliases: list[str]) -> Iterator[str]:
    yield from (f"## `{metric.name}`", "", *_docstring(metric.function))

    yield f"- Version: {metric.version}"
    if aliases:
        yield f"- Aliases: {', '.join(sorted(aliases))}"
    for title, fact in facts_of(metric).items():
        written = f"`{fact}`" if title == IN_A_TASK else fact
        yield f"- {title}: {written}"
    yield ""

    if metric.switches:
        yield from _switches(metric)
    for picture in sorted(PICTURES.glob(f"{metric.name}[._]*")):
        yield from (f"![{_alternative_text(picture)}](../pictures/{picture.name})", "")


def _switches(metric: Metric) -> Iterator[str]:
    """Yields a table of the defaults, and of the values that the profiles set."""
    profiles = [f"profile `{name}`" for name in metric.profiles]
    columns = ["switch", "default", *profiles]
    yield _row(columns)
    yield _row(["---"] * len(columns))
    for switch, default in metric.switches.items():
        cells = [f"`{switch}`", _value(default)]
        for switches in metric.profiles.values():
            cells.append(_value(switches[switch]) if switch in switches else "")
        yield _row(cells)
    yield ""


def _docstring(function: object) -> Iterator[str]:
    yield from ("```{eval-rst}", inspect.getdoc(function) or "", "```", "")


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _value(value: Any) -> str:
    written = json.dumps(value, ensure_ascii=False, default=_listed)
    return "`" + shortened(written, _MAX_DEFAULT).replace("|", "\\|") + "`"


def _listed(value: Any) -> Any:
    """Returns a value of a kind that JSON does not have as one that it has."""
    return dict(value) if hasattr(value, "keys") else list(value)


def _alternative_text(picture: Path) -> str:
    subject = picture.stem.replace("_", " ")
    if picture.suffix == ".svg":
        return f"{subject}: the score of damaged media over the strength of the damage"
    return f"{subject}: damaged media, with the strength growing from left to right"

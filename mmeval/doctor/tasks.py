"""Check the asked tasks: their data, metrics, roles and kinds of answer."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence

from mmeval.backend.contract import AnyBackend
from mmeval.dataset.bad_sample import in_words, rows_of
from mmeval.dataset.hub_cache import cached_snapshot
from mmeval.doctor.finding import Finding
from mmeval.errors import MissingDataError, MmevalError
from mmeval.prepare.ready import by_hand
from mmeval.prepare.sources import WantedTask, data_source
from mmeval.run.availability import undescribed
from mmeval.task.data import bundled_folder
from mmeval.task.file import word_for
from mmeval.task.task import FixedKinds, TaskMetric
from mmeval.wording import of_several

MODEL = "model"


def extras(item: WantedTask) -> Iterator[str]:
    """The extras that the metrics of a task need."""
    for metric in item.task.metrics:
        for missing in metric.bound.missing():
            yield missing.extra


def data(item: WantedTask) -> Iterator[Finding]:
    """Check that data open with a readable first row; ``mmeval prepare`` checks all."""
    name = word_for(item.file)
    asked = name + (
        f" --data_dir {shlex.quote(str(item.data.data_dir))}"
        if item.data.data_dir
        else ""
    )
    fetched = f"mmeval prepare {asked}"
    few = (
        ""
        if bundled_folder(item.file) is None
        else "; --data bundled takes the few samples that ship with the task"
    )
    try:
        source = data_source(item.data)
        on_hub = source is not None and source.into is None
        if source is not None and (
            not on_hub
            or cached_snapshot(source.repo, source.revision, "dataset") is None
        ):
            yield Finding(
                "missing",
                f"data: {source} is not here",
                f"{fetched}{few}",
                required=True,
            )
            return
        first = next(rows_of(item.task.dataset()), None)
    except MmevalError as error:
        lacking = "; ".join(by_hand(item))
        way = (
            fetched
            if isinstance(error, MissingDataError)
            else f"mmeval validate {asked}"
        )
        way = f"do that, then {fetched}" if lacking else way
        yield Finding(
            "missing", f"data: {lacking or error}", f"{way}{few}", required=True
        )
        return
    if first is not None and first.fault:
        yield Finding(
            "note",
            f"data: {item.data.folder}: {in_words(first)}",
            f"mmeval validate {asked}",
        )
        return
    checked = "" if item.data.bundled is not None else f"; {fetched} checks all of it"
    yield Finding("ok", f"data: {item.data.folder}, the first row was read{checked}")


def metrics(item: WantedTask, *, strict: bool) -> Iterator[Finding]:
    """Check which metrics can be computed.
    One that cannot is required with ``strict``, or if none can."""
    listed = item.task.metrics
    lacking = [metric for metric in listed if metric.unavailable]
    able = [metric.bound.name for metric in listed if not metric.unavailable]
    if able:
        yield Finding("ok", f"metrics that can be computed: {', '.join(able)}")
    for metric in listed:
        for model in metric.bound.models.values():
            if model["fingerprint"] and not metric.unavailable:
                revision = f" at {model['revision'][:12]}" if model["revision"] else ""
                yield Finding(
                    "ok",
                    f"model of {metric.bound.name}: {model['name']}{revision}, in "
                    f"{model['folder']}",
                )
    if not listed:
        yield Finding(
            "note", "the task lists no metric: answers are kept and not scored"
        )
    for metric in lacking:
        reason, ways = _lack(_roots(metric, listed))
        name = metric.bound.name
        yield Finding(
            "missing",
            f"metric {name}: {reason}",
            ways,
            required=strict or not able,
            metric=name,
        )
    made = [(metric.bound.name, metric.without) for metric in listed]
    made += [(number.name, number.without) for number in item.task.numbers]
    yield from (
        finding for name, without in made for finding in _partial(name, without)
    )


def _partial(name: str, without: Mapping[str, str]) -> Iterator[Finding]:
    """The pieces that a number is computed without, by reason."""
    alike: dict[str, list[str]] = {}
    for piece, reason in without.items():
        alike.setdefault(reason, []).append(piece)
    for reason, pieces in alike.items():
        why, _, way = (of_several(reason) if len(pieces) > 1 else reason).partition(
            "; "
        )
        what = f"metric {name}: partial, without {', '.join(pieces)} ({why})"
        yield Finding("note", what, _ways(way), metric=name)


def _lack(roots: Sequence[TaskMetric]) -> tuple[str, str]:
    """Why a metric cannot be computed and how to fix it; reasons name their metrics."""
    reasons = [root.unavailable.partition("; ") for root in roots]
    ways = _ways("; ".join(way for _, _, way in reasons if way))
    if len(roots) == 1:
        return reasons[0][0], ways
    parts = (
        f"{root.bound.name} ({why})"
        for root, (why, _, _) in zip(roots, reasons, strict=True)
    )
    return f"it is made of {' and '.join(parts)}", ways


def _ways(written: str) -> str:
    """Each way of a reason once, without the words before a command."""
    return "; ".join(
        dict.fromkeys(way.removeprefix("run: ") for way in written.split("; "))
    )


def _roots(metric: TaskMetric, listed: Sequence[TaskMetric]) -> list[TaskMetric]:
    """The metrics that make one unavailable: itself, or pieces, which share the fix."""
    names = set(metric.bound.pieces)
    pieces = [
        other
        for other in listed
        if other.unavailable and not names.isdisjoint(other.bound.metric.outputs)
    ]
    found = [root for piece in pieces for root in _roots(piece, listed)]
    return list({id(root): root for root in found}.values()) or [metric]


def roles(item: WantedTask, backends: Mapping[str, AnyBackend]) -> Iterator[Finding]:
    """Check the roles that the task asks besides the model."""
    asked = {
        role
        for metric in item.task.metrics
        for role in metric.bound.asked_roles(backends)
    } - {MODEL}
    for role in sorted(asked & backends.keys()):
        yield Finding("ok", f"asks the {role}")
    for lacking in undescribed([item.task], backends):
        yield Finding("note", lacking.gap, lacking.how_to_fix)


def kinds(item: WantedTask, backends: Mapping[str, AnyBackend]) -> Iterator[Finding]:
    """Check that the model gives the wanted kinds, where all samples want the same."""
    wanted = item.task.wanted
    if MODEL not in backends or not isinstance(wanted, FixedKinds):
        return
    known = backends[MODEL].capabilities
    lacking = sorted(set(wanted.kinds) - set(known.outputs))
    if not lacking:
        yield Finding(
            "ok", f"the model gives what is wanted: {', '.join(wanted.kinds)}"
        )
    elif item.task.partial_output and len(lacking) < len(wanted.kinds):
        yield Finding(
            "note",
            f"the model gives no {', '.join(lacking)}; it is asked for the rest, and "
            "scored",
        )
    else:
        message = (
            f"the model gives no {', '.join(lacking)}, which every sample wants: all "
            "would be unsupported"
        )
        roles = {known.by_role[kind] for kind in lacking if kind in known.by_role}
        flags = " ".join(f"--role {role}=BACKEND" for role in sorted(roles))
        how = (
            f"add {flags}"
            if flags
            else "choose a model that gives it, or leave the task out"
        )
        yield Finding("missing", message, how, required=True)

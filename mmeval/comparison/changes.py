"""Lists the settings and data that two runs share, and those in which they differ."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mmeval.comparison.run_pair import ComparedRun, RunPair
from mmeval.results.compare import (
    JUDGE_PARAMETERS,
    changed_names,
    differences,
    judges_of,
    metrics_of,
)
from mmeval.results.groups import tasks_inside
from mmeval.results.numbers import NumberRow
from mmeval.system.wording import printable

SHOWN = 60
"""The maximum number of characters of a value that are shown."""
DAMAGE = "damaged records"
"""This aspect is listed only if there are damaged records."""
_MOST_NAMED = 3
_DIGEST, _DIGEST_SHOWN = re.compile("[0-9a-f]{32,}"), 12
"""The first characters of a digest are enough to show that something differs."""


@dataclass(frozen=True)
class Change:
    """One aspect in which ``run`` differs from the reference, with both values
    shortened."""

    what: str
    run: str
    before: str
    now: str


@dataclass(frozen=True)
class Changes:
    """The aspects that are the same, and those that changed. ``counted`` states what is
    counted differently than usual, in all runs alike."""

    same: tuple[str, ...]
    changed: tuple[Change, ...]
    counted: tuple[str, ...] = ()


def changes_between(
    pairs: Sequence[RunPair],
    rows: Sequence[NumberRow],
    *,
    failed_is_worst: bool = False,
) -> Changes:
    """Returns the changes from the first run to each other run.

    Only the tasks of the compared numbers are considered. ``pairs`` contains the first
    run paired with each other run.
    """
    first = pairs[0].a
    inside = {task for row in rows for task in tasks_inside(row.task, first.members)}
    changed: list[Change] = []
    shown: tuple[str, ...] = _OF_MODELS
    for pair in pairs:
        other = pair.b
        tasks = sorted(inside & first.asked_tasks & other.asked_tasks)
        is_apart = first.asked_tasks.isdisjoint(other.asked_tasks)
        if is_apart:
            changed.append(Change("no task in common", other.name, "", ""))
        of_first, of_other = _aspects(first, tasks), _aspects(other, tasks)
        for what in of_first:
            if is_apart and what not in _OF_MODELS:
                continue
            before, now = _without_empty(of_first[what]), _without_empty(of_other[what])
            if before != now:
                changed.append(Change(what, other.name, *_shortly(what, before, now)))
        if not is_apart:
            shown = _ALL
            changed += _of_prompts(pair, tasks)
            changed += _of_data(pair, tasks)
            changed += _of_numbers(pair, tasks, rows)

    not_the_same = {change.what for change in changed}
    # aspects that no run has are not listed
    has_subset = has_judges = False
    for run in (first, *(pair.b for pair in pairs)):
        has_subset = has_subset or any(_asked_samples(run, task) for task in run.tasks)
        has_judges = has_judges or bool(run.run.ours.get("judges"))
    if not has_subset:
        not_the_same.add("subset")
    if not has_judges:
        not_the_same.add(JUDGE_PARAMETERS)
    counted: tuple[str, ...] = ()
    if failed_is_worst:
        counted = ("failed answers of every run count as the worst possible score",)
    same = tuple(what for what in shown if what not in not_the_same)
    return Changes(same, tuple(changed), counted)


def _of_numbers(
    pair: RunPair, tasks: Sequence[str], rows: Sequence[NumberRow]
) -> list[Change]:
    """Returns the changes in the definitions of numbers and in their judges."""
    a, b = pair.a.run.results, pair.b.run.results
    before: dict[str, dict[str, Any]] = {}
    now: dict[str, dict[str, Any]] = {}
    for row in rows:
        inside = tasks_inside(row.task, pair.a.members)
        for task in tasks:
            if task not in inside:
                continue
            for difference in differences(a, b, task, row.metric, pair.plans):
                aspect = difference.aspect
                before.setdefault(aspect, {}).update(difference.before)
                now.setdefault(aspect, {}).update(difference.now)
    changes = []
    for what in ("judge", JUDGE_PARAMETERS, "definition"):
        if what not in before:
            continue
        sides = (before[what], now[what])
        if what == "judge" and not any(sides):  # the judge has another name
            sides = (_judge(pair.a, tasks), _judge(pair.b, tasks))
        changes.append(Change(what, pair.b.name, *_shortly(what, *sides)))
    return changes


def _of_data(pair: RunPair, tasks: Sequence[str]) -> list[Change]:
    """Returns the changes in the samples: in their content, in the selection of
    samples, and in the damaged records."""
    content: list[tuple[str, str]] = []
    subsets: list[tuple[str, str]] = []
    damaged_before: Counter[str] = Counter()
    damaged_now: Counter[str] = Counter()
    for task in tasks:
        is_asked_alike = _asked_samples(pair.a, task) == _asked_samples(pair.b, task)
        if not is_asked_alike:
            before, now = _subset(pair.a, task), _subset(pair.b, task)
            if before == now:
                now += ", other samples"
            subsets.append((before, now))
        a, b = pair.a.scores(task), pair.b.scores(task)
        if a is None or b is None:
            continue
        damaged_before += a.damaged
        damaged_now += b.damaged
        is_whole = is_asked_alike and not (+a.damaged or +b.damaged)
        source_before, source_now = _source(pair.a, task), _source(pair.b, task)
        if source_before != source_now:
            content.append(_shortly("data", source_before, source_now))
        else:
            samples = _other_samples(a.by_sample, b.by_sample, is_whole=is_whole)
            if samples is not None:
                content.append(samples)
    changes = []
    for what, texts in (("data", content), ("subset", subsets)):
        if texts:
            more = len(set(texts)) - 1
            before, now = texts[0]
            if more:
                now += f" and {more} more"
            changes.append(Change(what, pair.b.name, before, now))
    if damaged_before or damaged_now:
        before, now = _damage(damaged_before), _damage(damaged_now)
        changes.append(Change(DAMAGE, pair.b.name, before, now))
    return changes


def _damage(damaged: Mapping[str, int]) -> str:
    counts = [f"{count:,} of {what}" for what, count in damaged.items()]
    return ", ".join(counts) or "none"


def _other_samples(
    a: Mapping[str, str], b: Mapping[str, str], *, is_whole: bool
) -> tuple[str, str] | None:
    """Describes how the recorded samples of a task differ. Missing samples are reported
    only if both runs selected the same samples and no record is damaged."""
    in_both = a.keys() & b.keys()
    other = 0
    for name in in_both:
        if a[name] and b[name] and a[name] != b[name]:
            other += 1
    if other:
        return f"samples: {len(in_both):,}", f"{other:,} with different content"
    if not is_whole or a.keys() == b.keys():
        return None
    before, now = f"samples: {len(a):,}", f"samples: {len(b):,}"
    if before == now:
        now += f", {len(b.keys() - a.keys()):,} of them different"
    return before, now


def _asked_samples(run: ComparedRun, task: str) -> Any:
    """Returns which samples of a task a run has sent to its model, or None for all."""
    unfinished = run.run.ours.get("unfinished", {}).get(task)
    row = run.run.ours.get("asked", {}).get(task, {})
    spans = row.get("samples")
    return spans if unfinished is None else [spans, unfinished]


def _subset(run: ComparedRun, task: str) -> str:
    """Describes which samples of a task were sent to the model."""
    unfinished = run.run.ours.get("unfinished", {}).get(task)
    if unfinished:
        words = f"trials so far: {unfinished.get('made'):,}"
        planned = unfinished.get("of")
        return f"{words} of {planned:,}" if planned else words
    chosen = run.run.ours.get("subset", {}).get(task)
    if chosen:
        how = ", ".join(map(str, chosen.get("how", ())))
        words = f"samples: {chosen.get('chosen')} of {chosen.get('of')}"
        return f"{words} ({how})" if how else words
    spans = _asked_samples(run, task)
    if spans is None:
        return "all samples"
    count = sum(last - first + 1 for first, last in spans)
    return f"samples: {count:,}"


def _source(run: ComparedRun, task: str) -> Mapping[str, Any]:
    """Returns the settings that define where the samples of a task come from."""
    config = run.tasks[task].config
    return {name: config[name] for name in _OF_THE_SOURCE if config.get(name)}


def _without_empty(value: Any) -> Any:
    """Removes the empty entries from a value."""
    if not isinstance(value, Mapping):
        return value
    items = {name: _without_empty(item) for name, item in value.items()}
    return {name: item for name, item in items.items() if item not in _NOTHING}


def _aspects(run: ComparedRun, tasks: Sequence[str]) -> dict[str, Any]:
    """Returns the aspects of a run, without the prompts, data and numbers of its
    tasks."""
    ours = run.run.ours
    identity = run.run.record.get("identity", {})
    model: Mapping[str, Any] = identity.get("model", {})
    weights = {name: model[name] for name in _OF_THE_WEIGHTS if model.get(name)}
    # seed and repeats, parameters, and the model's own settings
    generation = {name: identity.get(name) for name in ("seed", "reasoning_tags")}
    for name, value in model.items():
        if name not in (*_OF_THE_WEIGHTS, "model", "base_url", "backend"):
            generation[name] = value
    parameters: dict[str, Any] = {}
    repeats: dict[str, Any] = {}
    protocols: dict[str, Any] = {}
    versions: dict[str, Any] = {}
    for task in tasks:
        parameters[task] = run.tasks[task].config.get("generation_kwargs")
        row = ours.get("asked", {}).get(task, {})
        repeats[task] = row.get("repeats")
        protocols[task] = ours.get("protocols", {}).get(task)
        versions[task] = run.run.results.get("versions", {}).get(task)
    generation["parameters"] = _shared_value(parameters)
    generation["repeats"] = _shared_value(repeats)
    return {
        "model": run.run.model,
        "weights": weights,
        "generation": generation,
        "protocol": _shared_value(protocols),
        "version": _shared_value(versions),
    }


def _of_prompts(pair: RunPair, tasks: Sequence[str]) -> list[Change]:
    """Returns a change for the first prompt that differs. A prompt is the system
    instruction, the template of a task, or a prompt in the words of another."""
    of_a, of_b = _prompts(pair.a, tasks), _prompts(pair.b, tasks)
    words_a, words_b = _whose_words(pair.a), _whose_words(pair.b)
    for name in sorted(words_a.keys() & words_b.keys()):
        of_a[name], of_b[name] = words_a[name], words_b[name]
    names: dict[tuple[str, str], str] = {}
    for name in {**of_a, **of_b}:
        before, now = _word(of_a.get(name)), _word(of_b.get(name))
        if before != now:
            names.setdefault((before, now), name)
    if not names:
        return []
    words, name = next(iter(names.items()))
    before, now = _apart(*words)
    if not name.endswith("user"):
        before, now = f"{name} {before}", f"{name} {now}"
    if len(names) > 1:
        now += f" and {len(names) - 1} more"
    return [Change("prompts", pair.b.name, before, now)]


def _whose_words(run: ComparedRun) -> dict[str, str]:
    """Returns whose words each prompt of a run is in, by name."""
    rows = run.run.ours.get("prompts", {})
    return {name: f"in {row['words']} words" for name, row in rows.items()}


def _prompts(run: ComparedRun, tasks: Sequence[str]) -> dict[str, Any]:
    """Returns the system instruction and the templates of the tasks, by name."""
    results = run.run.results
    prompts: dict[str, Any] = {
        "system instruction": results.get("system_instruction")
        or results.get("system_instruction_sha")
    }
    for task in tasks:
        for name, text in run.template(task).items():
            prompts[f"{task} {name}"] = text
    return prompts


def _judge(run: ComparedRun, tasks: Sequence[str]) -> Any:
    by_task = {}
    for task in tasks:
        served = set()
        for number in metrics_of(run.run.ours, task):
            judges = judges_of(run.run.ours, task, run.metric(task, number))
            for role, name in judges or ():
                served.add(name if role == "judge" else f"{role} {name}")
        names = ", ".join(sorted(served))
        if names:
            by_task[task] = names
    return _shared_value(by_task)


_OF_MODELS = ("model", "weights")
"""The aspects that are compared even if runs have no task in common."""
_ALL = (
    *("model", "weights", "generation", "prompts", "protocol", "version"),
    *("data", "subset", "judge", JUDGE_PARAMETERS, "definition"),
)
_OF_THE_WEIGHTS = ("weights", "revision", "adapter_source")
_OF_THE_SOURCE = (
    "dataset_path",
    "dataset_name",
    "revision",
    "data",
    "dataset_kwargs",
    "filter",
)
_NOTHING: tuple[Any, ...] = (None, "", {}, [])


def _shared_value(by_task: Mapping[str, Any]) -> Any:
    """Returns the value that all tasks share, or else the value of each task."""
    values = list(by_task.values())
    if values and all(value == values[0] for value in values):
        return values[0]
    return by_task


def _shortly(
    what: str,
    before: Any,
    now: Any,
) -> tuple[str, str]:
    """Shortens both values. If both are mappings, only the fields that differ are
    included. If a field has the same name as the aspect, the name is not repeated."""
    if not (isinstance(before, Mapping) and isinstance(now, Mapping)):
        return _apart(_word(before), _word(now))
    names = changed_names(before, now)
    words_before: list[str] = []
    words_now: list[str] = []
    for name in names[:_MOST_NAMED]:
        lead = "" if name == what else f"{name} "
        short_before, short_now = _shortly(name, before.get(name), now.get(name))
        words_before.append(f"{lead}{short_before}")
        words_now.append(f"{lead}{short_now}")
    more = len(names) - _MOST_NAMED
    ending = f" and {more} more" if more > 0 else ""
    text_before = ", ".join(words_before) + ending
    text_now = ", ".join(words_now) + ending
    return _cut(text_before), _cut(text_now)


def _apart(before: str, now: str) -> tuple[str, str]:
    """Shortens two texts. Long texts are cut so that they start at the first word that
    differs."""
    if max(len(before), len(now)) <= SHOWN:
        return _cut(before), _cut(now)
    shorter = min(len(before), len(now))
    same = 0
    while same < shorter and before[same] == now[same]:
        same += 1
    start = before.rfind(" ", 0, same) + 1 if same else 0
    if same - start > SHOWN // 2:  # the word that differs is longer than the shown part
        start = same
    lead = "…" if start else ""
    return _cut(lead + before[start:]), _cut(lead + now[start:])


def _cut(text: str) -> str:
    return printable(text, limit=SHOWN)


def _word(value: Any) -> str:
    if value in _NOTHING:
        return "none"
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    words = " ".join(value.split())
    return words[:_DIGEST_SHOWN] if _DIGEST.fullmatch(words) else words

"""What changed between runs besides their numbers: what is the same, and what is not,
as was and is."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mmeval.comparison.run_pair import ComparedRun, RunPair
from mmeval.results.compare import JUDGE_PARAMETERS, differences, judges_of, metric_of
from mmeval.results.groups import tasks_inside
from mmeval.results.numbers import NumberRow
from mmeval.system.wording import printable

SHOWN = 60
"""Characters of a value that are shown."""
DAMAGE = "damaged records"
"""An aspect that is named only where there is something to say of it."""
_MOST_NAMED = 3
_DIGEST, _DIGEST_SHOWN = re.compile("[0-9a-f]{32,}"), 12
"""A digest tells that something differs, and its first characters do."""


@dataclass(frozen=True)
class Change:
    """One thing that is not the same in ``run`` as in the reference; both values in
    short words."""

    what: str
    run: str
    before: str
    now: str


@dataclass(frozen=True)
class Changes:
    """``counted`` is what was counted otherwise than usual, in all runs alike."""

    same: tuple[str, ...]
    changed: tuple[Change, ...]
    counted: tuple[str, ...] = ()


def changes_between(
    pairs: Sequence[RunPair],
    rows: Sequence[NumberRow],
    *,
    failed_is_worst: bool = False,
) -> Changes:
    """What differs from the first run, over the tasks behind the compared numbers.
    ``pairs`` are those of the first run with each other one."""
    first = pairs[0].a
    inside = {task for row in rows for task in tasks_inside(row.task, first.members)}
    changed: list[Change] = []
    for pair in pairs:
        other = pair.b
        tasks = sorted(inside & first.asked & other.asked)
        is_apart = first.asked.isdisjoint(other.asked)
        if is_apart:
            changed.append(Change("no task in common", other.name, "", ""))
        for what, told in (_OF_MODELS if is_apart else _ASPECTS).items():
            before, now = _known(told(first, tasks)), _known(told(other, tasks))
            if before != now:
                changed.append(Change(what, other.name, *_shortly(what, before, now)))
        if not is_apart:
            changed += _of_prompts(pair, tasks)
            changed += _of_data(pair, tasks)
            changed += _of_numbers(pair, tasks, rows)
    names = {change.what for change in changed}
    seen = (
        tuple(_OF_MODELS)
        if all(first.asked.isdisjoint(pair.b.asked) for pair in pairs)
        else _ALL
    )
    failed = (
        "failed answers of every run count as the worst score there is"
        if failed_is_worst
        else ""
    )
    # what no run has is not named
    absent = set()
    runs = [first, *(pair.b for pair in pairs)]
    if not any(_asked(run, task) for run in runs for task in run.tasks):
        absent.add("subset")
    if not any(run.run.ours.get("judges") for run in runs):
        absent.add(JUDGE_PARAMETERS)
    return Changes(
        tuple(what for what in seen if what not in names | absent),
        tuple(changed),
        (failed,) if failed else (),
    )


def _of_numbers(
    pair: RunPair, tasks: Sequence[str], rows: Sequence[NumberRow]
) -> list[Change]:
    """How the definition of the numbers and their judges differ."""
    before: dict[str, dict[str, Any]] = {}
    now: dict[str, dict[str, Any]] = {}
    for row in rows:
        inside = tasks_inside(row.task, pair.a.members)
        for task in tasks:
            if task not in inside:
                continue
            for one in differences(
                pair.a.run.results, pair.b.run.results, task, row.metric, pair.plans
            ):
                before.setdefault(one.aspect, {}).update(one.before)
                now.setdefault(one.aspect, {}).update(one.now)
    found = []
    for what in ("judge", JUDGE_PARAMETERS, "definition"):
        if what not in before:
            continue
        sides = (before[what], now[what])
        if what == "judge" and not any(sides):  # it has another name
            sides = (_judge(pair.a, tasks), _judge(pair.b, tasks))
        found.append(Change(what, pair.b.name, *_shortly(what, *sides)))
    return found


def _of_data(pair: RunPair, tasks: Sequence[str]) -> list[Change]:
    """How the samples differ: what is in them, which were asked, and which records are
    damaged."""
    content: list[tuple[str, str]] = []
    subsets: list[tuple[str, str]] = []
    damage: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    for task in tasks:
        a, b = pair.a.scores(task), pair.b.scores(task)
        asked = [_asked(run, task) for run in (pair.a, pair.b)]
        words = [_subset(run, task) for run in (pair.a, pair.b)]
        if asked[0] != asked[1]:
            if words[0] == words[1]:
                words[1] = f"{words[1]}, other ones"
            subsets.append((words[0], words[1]))
        if a is None or b is None:
            continue
        for counts, side in zip(damage, (a, b), strict=True):
            counts.update(+side.damaged)
        is_whole = asked[0] == asked[1] and not (+a.damaged or +b.damaged)
        sources = [_source(run, task) for run in (pair.a, pair.b)]
        if sources[0] != sources[1]:
            content.append(_shortly("data", *sources))
        elif told := _other_samples(a.by_sample, b.by_sample, is_whole=is_whole):
            content.append(told)
    found = []
    for what, texts in (("data", content), ("subset", subsets)):
        if texts:
            more = len(set(texts)) - 1
            before, now = texts[0]
            now += f" and {more} more" if more else ""
            found.append(Change(what, pair.b.name, before, now))
    if damage[0] or damage[1]:
        before, now = (
            ", ".join(f"{count:,} of {what}" for what, count in one.items()) or "none"
            for one in damage
        )
        found.append(Change(DAMAGE, pair.b.name, before, now))
    return found


def _other_samples(
    a: Mapping[str, str], b: Mapping[str, str], *, is_whole: bool
) -> tuple[str, str] | None:
    """How the recorded samples of a task differ, in words. What one run lacks counts
    where both were to ask the same, and no record is damaged."""
    in_both = a.keys() & b.keys()
    other = sum(1 for name in in_both if a[name] and b[name] and a[name] != b[name])
    if other:
        return (
            f"samples: {len(in_both):,}",
            f"{other:,} with other content",
        )
    if is_whole and a.keys() != b.keys():
        words = [f"samples: {len(one):,}" for one in (a, b)]
        if words[0] == words[1]:
            words[1] = f"{words[1]}, {len(b.keys() - a.keys()):,} of them others"
        return (words[0], words[1])
    return None


def _asked(run: ComparedRun, task: str) -> Any:
    """Which samples of a task a run has asked; None: all there are."""
    unfinished = run.run.ours.get("unfinished", {}).get(task)
    spans = run.run.ours.get("asked", {}).get(task, {}).get("samples")
    return spans if unfinished is None else [spans, unfinished]


def _subset(run: ComparedRun, task: str) -> str:
    """Which samples of a task were asked, in words."""
    unfinished = run.run.ours.get("unfinished", {}).get(task)
    if unfinished:
        of = unfinished.get("of")
        made = f"{unfinished.get('made'):,}"
        return f"trials so far: {made} of {of:,}" if of else f"trials so far: {made}"
    chosen = run.run.ours.get("subset", {}).get(task)
    if chosen:
        how = ", ".join(map(str, chosen.get("how", ())))
        words = f"samples: {chosen.get('chosen')} of {chosen.get('of')}"
        return f"{words} ({how})" if how else words
    spans = _asked(run, task)
    if spans is None:
        return "all samples"
    count = sum(last - first + 1 for first, last in spans)
    return f"samples: {count:,}"


def _source(run: ComparedRun, task: str) -> Mapping[str, Any]:
    """Where the samples of a task come from."""
    config = run.tasks[task].config
    return {name: config[name] for name in _OF_THE_SOURCE if config.get(name)}


def _known(value: Any) -> Any:
    """A value without what says nothing, so that an empty entry is like none."""
    if not isinstance(value, Mapping):
        return value
    found = {name: _known(item) for name, item in value.items()}
    return {name: item for name, item in found.items() if item not in _NOTHING}


def _model(run: ComparedRun, _tasks: Sequence[str]) -> str:
    return run.run.model


def _weights(run: ComparedRun, _tasks: Sequence[str]) -> Any:
    identity = _identity(run)
    return {
        name: identity[name]
        for name in ("weights", "revision", "adapter_source")
        if identity.get(name)
    }


def _identity(run: ComparedRun) -> Mapping[str, Any]:
    found: Mapping[str, Any] = run.run.record.get("identity", {}).get("model", {})
    return found


def _generation(run: ComparedRun, tasks: Sequence[str]) -> Any:
    """Parameters, seed and repeats, and the model's own settings."""
    own = ("model", "weights", "revision", "adapter_source", "base_url", "backend")
    by_task = {task: run.tasks[task].config.get("generation_kwargs") for task in tasks}
    repeats = {
        task: run.run.ours.get("asked", {}).get(task, {}).get("repeats")
        for task in tasks
    }
    settings = {
        name: value for name, value in _identity(run).items() if name not in own
    }
    identity = run.run.record.get("identity", {})
    return {
        **{name: identity.get(name) for name in ("seed", "reasoning_tags")},
        **settings,
        "parameters": _one(by_task),
        "repeats": _one(repeats),
    }


def _of_prompts(pair: RunPair, tasks: Sequence[str]) -> list[Change]:
    """The first words that are asked differently: of a system instruction, or of the
    template of a task."""
    sides = [_prompts(run, tasks) for run in (pair.a, pair.b)]
    texts: dict[tuple[str, str], str] = {}
    for name in {**sides[0], **sides[1]}:
        before, now = (_word(side.get(name)) for side in sides)
        if before != now:
            texts.setdefault((before, now), name)
    if not texts:
        return []
    (words, name), *others = texts.items()
    before, now = _apart(*words)
    ending = f" and {len(others)} more" if others else ""
    is_user = name.endswith("user")
    lead = "" if is_user else f"{name} "
    return [Change("prompts", pair.b.name, f"{lead}{before}", f"{lead}{now}{ending}")]


def _prompts(run: ComparedRun, tasks: Sequence[str]) -> dict[str, Any]:
    """The system instruction and the templates of the tasks, by name."""
    results = run.run.results
    found: dict[str, Any] = {
        "system instruction": results.get("system_instruction")
        or results.get("system_instruction_sha")
    }
    for task in tasks:
        for name, text in run.template(task).items():
            found[f"{task} {name}"] = text
    return found


def _protocol(run: ComparedRun, tasks: Sequence[str]) -> Any:
    return _one({task: run.run.ours.get("protocols", {}).get(task) for task in tasks})


def _version(run: ComparedRun, tasks: Sequence[str]) -> Any:
    return _one({task: run.run.results.get("versions", {}).get(task) for task in tasks})


def _judge(run: ComparedRun, tasks: Sequence[str]) -> Any:
    found = {}
    for task in tasks:
        judged = [
            judges_of(run.run.ours, task, metric_of(run.run.ours, task, name))
            for name in run.run.ours.get("metrics", {}).get(task, {})
        ]
        served = sorted(
            {
                name if role == "judge" else f"{role} {name}"
                for one in filter(None, judged)
                for role, name in one
            }
        )
        found[task] = ", ".join(served)
    return _one({task: name for task, name in found.items() if name})


_OF_MODELS: Mapping[str, Callable[[ComparedRun, Sequence[str]], Any]] = {
    "model": _model,
    "weights": _weights,
}
"""What runs without a task in common can be compared by."""
_ASPECTS: Mapping[str, Callable[[ComparedRun, Sequence[str]], Any]] = {
    **_OF_MODELS,
    "generation": _generation,
    "protocol": _protocol,
    "version": _version,
}
_ALL = (
    *("model", "weights", "generation", "prompts", "protocol", "version"),
    *("data", "subset", "judge", JUDGE_PARAMETERS, "definition"),
)
_OF_THE_SOURCE = (
    "dataset_path",
    "dataset_name",
    "revision",
    "data",
    "dataset_kwargs",
    "filter",
)
_NOTHING: tuple[Any, ...] = (None, "", {}, [])


def _one(by_task: Mapping[str, Any]) -> Any:
    """The value that all tasks share, else each of them."""
    values = list(by_task.values())
    return (
        values[0]
        if values and all(value == values[0] for value in values)
        else dict(by_task)
    )


def _shortly(what: str, before: Any, now: Any) -> tuple[str, str]:
    """Both values in short; of two mappings what differs. A field that is called like
    the aspect is not named again."""
    if not (isinstance(before, Mapping) and isinstance(now, Mapping)):
        return _apart(_word(before), _word(now))
    names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    texts: tuple[list[str], list[str]] = ([], [])
    for name in names[:_MOST_NAMED]:
        pair = _shortly(name, before.get(name), now.get(name))
        for words, text in zip(texts, pair, strict=True):
            words.append(text if name == what else f"{name} {text}")
    more = len(names) - _MOST_NAMED
    ending = f" and {more} more" if more > 0 else ""
    return _cut(", ".join(texts[0]) + ending), _cut(", ".join(texts[1]) + ending)


def _apart(before: str, now: str) -> tuple[str, str]:
    """Two texts from the word on in which they differ, where they are long."""
    if max(len(before), len(now)) <= SHOWN:
        return _cut(before), _cut(now)
    same = 0
    while same < min(len(before), len(now)) and before[same] == now[same]:
        same += 1
    start = before.rfind(" ", 0, same) + 1 if same else 0
    if same - start > SHOWN // 2:  # a word that is longer than what is shown
        start = same
    lead = "…" if start else ""
    return _cut(lead + before[start:]), _cut(lead + now[start:])


def _cut(text: str) -> str:
    return printable(text, limit=SHOWN)


def _word(value: Any) -> str:
    if value in _NOTHING:
        return "none"
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    words = " ".join(value.split())
    return words[:_DIGEST_SHOWN] if _DIGEST.fullmatch(words) else words

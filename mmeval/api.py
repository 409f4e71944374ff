"""Python: runs tasks from a script or notebook, with the flags as keywords.

Nothing is printed: results are returned, the log goes to Python's ``logging`` (the
logger ``mmeval``). An error is raised where it would end a command, and its
``exit_code`` is that command's.
"""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from mmeval.backend.contract import AnyBackend
from mmeval.errors import UsageError, did_you_mean
from mmeval.findings.finding import Finding
from mmeval.records.score import Result
from mmeval.report.progress_bar import LoggedProgress
from mmeval.report.prompts import write_prompts
from mmeval.report.publish import Publication
from mmeval.run import interrupt
from mmeval.run.runner import run
from mmeval.settings.flags import FLAGS, REFUSED
from mmeval.settings.plan import Invocation, make_plan
from mmeval.settings.resolve import Setting, config_file, resolve
from mmeval.task.selection import INLINE, select

T = TypeVar("T")
_log = logging.getLogger(__name__)

TaskName = str | Path | Mapping[str, Any]
"""A task as ``--tasks`` names it, a path, or the content of a task file as a
mapping."""

SHOWN_NUMBERS = 3

COMMAND_LINE_ONLY = {
    "dry_run": "it prints; use the command line",
    "shard": "a shard makes no results; use the command line",
    "show_config": "it prints; found.document['mmeval']['settings'] has the settings "
    "of a run",
    "verbosity": "set the level of logging.getLogger('mmeval')",
}
"""Flags that steer what a command prints."""


_CACHE = (
    "prompts are made while requests are in flight, nothing needs a cache; use_cache "
    "keeps answers"
)
_OF_THE_HARNESS = {
    "cache_requests": _CACHE,
    "rewrite_requests_cache": _CACHE,
    "delete_requests_cache": _CACHE,
    "evaluation_tracker": "give output_path, or a logger",
    "task_manager": "give include_path",
    "seed": "write random_seed",
}
"""Arguments of the harness's function, besides its flags, that have no effect here."""


@dataclass(frozen=True, repr=False)
class Evaluation:
    """What came of a run. ``print`` shows its table.

    ``results`` are all numbers: tasks, their slices, groups. ``exit_code`` is what the
    command would end with (0, or 3 when something is missing, or that of data that
    cannot be read to their end, which ``findings`` explain). ``document`` is the
    content of the results file, ``table`` what the command prints, ``samples`` the
    samples files by task.
    """

    results: tuple[Result, ...]
    exit_code: int
    folder: Path
    findings: tuple[Finding, ...]
    document: Mapping[str, Any]
    table: str
    samples: Mapping[str, Path]

    def __repr__(self) -> str:
        shown: list[str] = []
        for result in self.results[:SHOWN_NUMBERS]:
            if not result.slice:
                shown.append(f"{result.task} {result.metric}={result.value}")
        numbers = ", ".join(shown)
        return (
            f"<Evaluation in {self.folder}: exit code {self.exit_code}, "
            f"{len(self.results)} numbers, first {numbers}>"
        )

    def __str__(self) -> str:
        return self.table


def evaluate(
    *,
    model: str | AnyBackend = "",
    tasks: TaskName | Sequence[TaskName] = (),
    **flags: Any,
) -> Evaluation:
    """Put tasks to a model, score, and write the run folder, as ``mmeval`` does.

        evaluate(model="openai", model_args={"model": "m"}, tasks=["my_task"], limit=20, output_path="runs")

    ``model`` is the name of a backend, or one that was made already; such a one is
    closed at the end, so its ``close`` must leave it usable if it is given again.
    ``tasks`` are names, paths, or mappings with the content of a task file. ``flags``
    are all flags of ``run`` by their names, their values as Python has them or as they
    are written; a value of None is the default. Variables ``MMEVAL_<FLAG>`` are not
    read.

    The same call again continues the run that is in the folder. May be called where an
    event loop is running, which waits meanwhile. Raises UsageError for what cannot be
    used as asked, MissingError for what has to be supplied, Interrupted after Ctrl-C.
    """  # noqa: E501
    return _beside_loops(lambda: _evaluate(model, tasks, flags))


def simple_evaluate(
    model: str | AnyBackend = "",
    model_args: str | Mapping[str, Any] | None = None,
    tasks: TaskName | Sequence[TaskName] = (),
    *,
    log_samples: bool = True,
    random_seed: int = 0,
    numpy_random_seed: int = 1234,
    torch_random_seed: int = 1234,
    fewshot_random_seed: int = 1234,
    output_path: str | Path | None = None,
    **flags: Any,
) -> dict[str, Any]:
    """The results of tasks as a dictionary in lm-evaluation-harness's layout. Takes the
    arguments of its function of this name (``limit``, ``batch_size``, ``gen_kwargs``,
    ``predict_only``, ``system_instruction``, ...) and all other flags. What has no
    effect here is refused by name.

    The dictionary is the content of the results file, and with ``log_samples`` it has
    the lines of the samples files under ``samples``, by task. Every call evaluates
    anew: without an ``output_path`` the answers lie in a temporary folder, which is
    removed in the end, and kept when the run fails. With one, the run stays there and
    is continued, as by :func:`evaluate`. Raises what :func:`evaluate` raises.
    """
    for name in _OF_THE_HARNESS.keys() & flags.keys():
        if flags[name] not in (None, False):
            raise UsageError(
                f"{name} has no effect here: {_OF_THE_HARNESS[name]}", name=name
            )
    given: dict[str, Any] = {"model": model, "tasks": tasks}
    for name, value in flags.items():
        if name not in _OF_THE_HARNESS:
            given[name] = value
    given["model_args"] = model_args
    given["log_samples"] = log_samples
    given["seed"] = [
        random_seed,
        numpy_random_seed,
        torch_random_seed,
        fewshot_random_seed,
    ]
    if output_path is not None:
        return _as_dictionary(evaluate(output_path=output_path, **given))
    given["report"] = False  # it would be removed at once
    with _temporary_folder() as folder:
        return _as_dictionary(evaluate(output_path=folder, **given))


@contextmanager
def _temporary_folder() -> Iterator[Path]:
    """A folder that is removed afterwards, but kept with its files if the block fails.
    They may have cost money."""
    folder = Path(tempfile.mkdtemp(prefix="mmeval-"))
    failed = True
    try:
        yield folder
        failed = False
    finally:
        if failed and any(folder.iterdir()):
            _log.warning(
                "what was answered is kept in %s; output_path=%r continues from there",
                folder,
                str(folder),
            )
        else:
            shutil.rmtree(folder)


def _as_dictionary(found: Evaluation) -> dict[str, Any]:
    document = dict(found.document)
    samples: dict[str, list[Any]] = {}
    for task, file in found.samples.items():
        lines = file.read_bytes().splitlines()
        samples[task] = [json.loads(line) for line in lines]
    if samples:
        document["samples"] = samples
    return document


def _beside_loops(work: Callable[[], T]) -> T:
    """Do work that has an event loop, in another thread where one is running already.
    Ctrl-C reaches the work in either case."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    with ThreadPoolExecutor(1, "mmeval") as thread:
        identity = thread.submit(threading.get_ident).result()
        done = thread.submit(work)
        while True:
            try:
                # in parts: a signal right before a wait is seen after it
                while not done.done():
                    wait([done], timeout=1.0)
                return done.result()
            except KeyboardInterrupt:
                interrupt.interrupt_thread(identity)


def _evaluate(
    model: str | AnyBackend,
    tasks: TaskName | Sequence[TaskName],
    flags: Mapping[str, Any],
) -> Evaluation:
    given = [tasks] if isinstance(tasks, str | Path | Mapping) else list(tasks)
    named: list[str | Mapping[str, Any]] = []
    shown: list[str] = []
    for task in given:
        if isinstance(task, Mapping):
            named.append(task)
            shown.append(str(task.get("task") or task.get("group") or INLINE))
        else:
            named.append(str(task))
            shown.append(str(task))
    plan = _plan(model, shown, flags)
    publication = Publication.prepared(
        plan.loggers,
        plan.baseline,
        log_samples=plan.log_samples,
        page=plan.page,
        table=plan.table,
    )
    selection = select(
        named or plan.tasks,
        include_path=plan.include_path,
        overrides=plan.overrides,
        roles=frozenset(plan.options.roles),
    )
    if plan.write_out:
        write_prompts(selection, sys.stderr)
    outcome = run(selection, plan.options, progress=LoggedProgress())
    published = publication.finish(outcome, plan.report)
    return Evaluation(
        results=(*outcome.results, *outcome.group_results),
        exit_code=outcome.exit_code,
        folder=outcome.folder,
        findings=outcome.findings,
        document=published.document,
        table=published.table,
        samples=published.samples,
    )


def _plan(
    model: str | AnyBackend, tasks: Sequence[str], flags: Mapping[str, Any]
) -> Invocation:
    given = {"tasks": tasks or None, **flags}
    if isinstance(model, str):
        return make_plan(_settings({**given, "model": model or None}))
    for flag in ("model_args", "device"):
        if flags.get(flag):
            message = (
                f"{flag} has no effect here: the model is made already; give its "
                "arguments where it is made"
            )
            raise UsageError(message, name=flag)
    for part in ("capabilities", "identity", "provenance", "close"):
        if not hasattr(model, part):
            raise UsageError(
                f"model is a {type(model).__name__}, which is neither the name of a "
                "backend nor one: a backend has capabilities, identity, provenance "
                "and close (see docs/writing-a-backend.md)",
                name="model",
            )
    # What folders and tables call a backend that has no plugin name.
    identity = model.identity
    name = identity.get("model") or identity.get("backend") or type(model).__name__
    plan = make_plan(_settings({**given, "model": str(name)}))
    spec = replace(plan.options.model, instance=model)
    return replace(plan, options=replace(plan.options, model=spec))


def _settings(given: Mapping[str, Any]) -> dict[str, Setting]:
    """The flags, typed. Raises UsageError for unknown ones and those without effect."""
    known = [flag.name for flag in FLAGS if flag.name not in COMMAND_LINE_ONLY]
    plain: dict[str, Any] = {}
    for name, value in given.items():
        if name in COMMAND_LINE_ONLY:
            if value is not None:
                raise UsageError(
                    f"{name} has no effect here: {COMMAND_LINE_ONLY[name]}", name=name
                )
        elif name not in known and name not in REFUSED:
            raise UsageError(
                f"there is no argument {name!r}{did_you_mean(name, known)}",
                name=name,
                known=known,
            )
        if value is not None:
            plain[name] = str(value) if isinstance(value, Path) else value
    return resolve(FLAGS, plain, {}, config_file(plain, {}), spelt="{}")

"""The Python API, which runs tasks from a script or notebook, with flags as keywords.

Nothing is printed. Results are returned, and the log goes to Python's ``logging`` (the
logger ``mmeval``). An error that would end a command is raised; its ``exit_code`` is
the exit code of the command.
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
from mmeval.settings.plan import RunPlan, make_plan
from mmeval.settings.resolve import Setting, config_file, resolve
from mmeval.task.selection import INLINE, select

T = TypeVar("T")
_log = logging.getLogger(__name__)

TaskName = str | Path | Mapping[str, Any]
"""A task name that ``--tasks`` accepts, a path, or the content of a task file as a
mapping."""

SHOWN_NUMBERS = 3

COMMAND_LINE_ONLY = {
    "dry_run": "it only prints; use the command line",
    "jobs": "it is for several models; use the command line",
    "only": "it is for several models; use the command line",
    "shard": "a shard has no results; use the command line",
    "show_config": "it only prints; evaluation.document['mmeval']['settings'] has the "
    "settings of a run",
    "verbosity": "set the level of logging.getLogger('mmeval')",
}
"""Flags that only change what a command prints."""


_CACHE = (
    "prompts are built while requests are in flight and are not cached; use_cache "
    "stores answers"
)
_OF_THE_HARNESS = {
    "cache_requests": _CACHE,
    "rewrite_requests_cache": _CACHE,
    "delete_requests_cache": _CACHE,
    "evaluation_tracker": "give output_path, or a logger",
    "task_manager": "give include_path",
    "seed": "use random_seed",
}
"""Arguments of the harness's function, in addition to its flags, that have no effect
here."""


@dataclass(frozen=True, repr=False)
class Evaluation:
    """The result of a run. ``print`` shows its table.

    ``results`` contains all numbers: those of tasks, of their slices, and of groups.
    ``exit_code`` is the exit code of the command: 0, 3 if something is missing, or the
    code for data that cannot be read completely; ``findings`` explain it. ``document``
    is the content of the results file, ``table`` the printed table, and ``samples`` the
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
    """Run a model on tasks, score its answers, and write the run folder, as ``mmeval`` does.

        evaluate(model="openai", model_args={"model": "m"}, tasks=["my_task"], limit=20, output_path="runs")

    ``model`` is the name of a backend, or a backend object. An object is closed at the
    end. If the same object is passed again, it must work after its ``close``. ``tasks``
    are names, paths, or mappings with the content of a task file. ``flags`` accepts
    every flag of ``run`` by name, as a Python value or a string; None means the
    default. Variables ``MMEVAL_<FLAG>`` are not read.

    Repeating the same call continues the run in the folder. The function may be called
    while an event loop is running; the loop is blocked meanwhile. Raises UsageError for
    invalid arguments, MissingError for anything that must be supplied first, and
    Interrupted after Ctrl-C.
    """  # noqa: E501
    return _outside_loops(lambda: _evaluate(model, tasks, flags))


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
    """Returns the results of tasks as a dictionary in lm-evaluation-harness's layout.

    The function accepts the arguments of the harness's function (``limit``,
    ``batch_size``, ``gen_kwargs``, ``predict_only``, ``system_instruction``, ...) and
    all other flags. An argument without effect is an error. The dictionary is the
    content of the results file. With ``log_samples`` it also contains the lines of the
    samples files under ``samples``, by task.

    Without ``output_path`` each call evaluates again. Answers are stored in a temporary
    folder, which is removed at the end, but kept if the run fails. With ``output_path``
    the run is continued, as by :func:`evaluate`. Raises the errors of :func:`evaluate`.
    """
    for name in _OF_THE_HARNESS.keys() & flags.keys():
        if flags[name] not in (None, False):
            raise UsageError(
                f"{name} has no effect here: {_OF_THE_HARNESS[name]}", name=name
            )
    arguments: dict[str, Any] = {"model": model, "tasks": tasks}
    for name, value in flags.items():
        if name not in _OF_THE_HARNESS:
            arguments[name] = value
    arguments["model_args"] = model_args
    arguments["log_samples"] = log_samples
    arguments["seed"] = [
        random_seed,
        numpy_random_seed,
        torch_random_seed,
        fewshot_random_seed,
    ]
    if output_path is not None:
        return _as_dictionary(evaluate(output_path=output_path, **arguments))
    arguments["report"] = False  # it would be removed immediately
    with _temporary_folder() as folder:
        return _as_dictionary(evaluate(output_path=folder, **arguments))


@contextmanager
def _temporary_folder() -> Iterator[Path]:
    """Yields a folder that is removed afterwards. It is kept with its files if the
    block fails, as answers may have cost money."""
    folder = Path(tempfile.mkdtemp(prefix="mmeval-"))
    failed = True
    try:
        yield folder
        failed = False
    finally:
        if failed and any(folder.iterdir()):
            _log.warning(
                "the answers are kept in %s; output_path=%r continues from there",
                folder,
                str(folder),
            )
        else:
            shutil.rmtree(folder)


def _as_dictionary(evaluation: Evaluation) -> dict[str, Any]:
    document = dict(evaluation.document)
    samples: dict[str, list[Any]] = {}
    for task, file in evaluation.samples.items():
        lines = file.read_bytes().splitlines()
        samples[task] = [json.loads(line) for line in lines]
    if samples:
        document["samples"] = samples
    return document


def _outside_loops(work: Callable[[], T]) -> T:
    """Run work that starts an event loop, in another thread if a loop is running.

    Ctrl-C interrupts the work in either case."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    with ThreadPoolExecutor(1, "mmeval") as thread:
        identity = thread.submit(threading.get_ident).result()
        future = thread.submit(work)
        while True:
            try:
                # short waits: a signal right before a wait is handled after it
                while not future.done():
                    wait([future], timeout=1.0)
                return future.result()
            except KeyboardInterrupt:
                interrupt.interrupt_thread(identity)


def _evaluate(
    model: str | AnyBackend,
    tasks: TaskName | Sequence[TaskName],
    flags: Mapping[str, Any],
) -> Evaluation:
    task_list = [tasks] if isinstance(tasks, str | Path | Mapping) else list(tasks)
    selected: list[str | Mapping[str, Any]] = []
    names: list[str] = []
    for task in task_list:
        if isinstance(task, Mapping):
            selected.append(task)
            names.append(str(task.get("task") or task.get("group") or INLINE))
        else:
            selected.append(str(task))
            names.append(str(task))
    plan = _plan(model, names, flags)
    publication = Publication.prepared(
        plan.loggers,
        plan.baseline,
        log_samples=plan.log_samples,
        page=plan.page,
        table=plan.table,
    )
    selection = select(
        selected or plan.tasks,
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
) -> RunPlan:
    values = {"tasks": tasks or None, **flags}
    if isinstance(model, str):
        return make_plan(_settings({**values, "model": model or None}))
    for flag in ("model_args", "device"):
        if flags.get(flag):
            message = (
                f"{flag} has no effect here, as the model is an object; pass arguments "
                "where it is created"
            )
            raise UsageError(message, name=flag)
    for part in ("capabilities", "identity", "provenance", "close"):
        if not hasattr(model, part):
            raise UsageError(
                "model must be a backend or its name, not a "
                f"{type(model).__name__}; a backend has capabilities, identity, "
                "provenance and close (see docs/writing-a-backend.md)",
                name="model",
            )
    # the name in folders and tables of a backend without a plugin name
    identity = model.identity
    name = identity.get("model") or identity.get("backend") or type(model).__name__
    plan = make_plan(_settings({**values, "model": str(name)}))
    spec = replace(plan.options.model, instance=model)
    return replace(plan, options=replace(plan.options, model=spec))


def _settings(flags: Mapping[str, Any]) -> dict[str, Setting]:
    """Returns the resolved flags. Raises UsageError for unknown flags and for flags
    without effect."""
    known = [flag.name for flag in FLAGS if flag.name not in COMMAND_LINE_ONLY]
    plain: dict[str, Any] = {}
    for name, value in flags.items():
        if name in COMMAND_LINE_ONLY:
            if value is not None:
                raise UsageError(
                    f"{name} has no effect here: {COMMAND_LINE_ONLY[name]}", name=name
                )
        elif name not in known and name not in REFUSED:
            raise UsageError(
                f"unknown argument {name!r}{did_you_mean(name, known)}",
                name=name,
                known=known,
            )
        if value is not None:
            plain[name] = str(value) if isinstance(value, Path) else value
    return resolve(FLAGS, plain, {}, config_file(plain, {}), spelt="{}")

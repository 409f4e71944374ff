"""Contract of formats, which read and write answers in files of some layout.

A format is an :class:`AnswerFormat` in the entry points ``mmeval.formats``. Its reader
serves ``--model replay``, its writer ``mmeval export``. Both work with trials: the n-th
answer to a sample of a task.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from mmeval import plugins
from mmeval.errors import UnknownNameError, UsageError
from mmeval.records.response import Response
from mmeval.records.sample import Sample
from mmeval.records.score import Score
from mmeval.records.trial import Trial
from mmeval.system.arguments import fault_of, hint_of

MANIFEST = "mmeval.json"
"""The file of every exported folder that describes its run."""


class AnswerPlace(NamedTuple):
    """The place of an answer: its file or task, and its number there, counted from
    0."""

    group: str
    number: int


class StoredAnswer(NamedTuple):
    """A recorded answer. ``response`` has an error where the model failed."""

    place: AnswerPlace
    response: Response


class MissingAnswer(NamedTuple):
    """The reason why there is no answer; ``place`` is where an unreadable one
    stands."""

    reason: str
    place: AnswerPlace | None = None


class AnswerSource(Protocol):
    """Opened files of answers. Files outside of the named folder are never read, but
    for media where ``media_root`` says that they are."""

    @property
    def model(self) -> str:
        """The model that gave the answers, as the files name it; else empty."""

    @property
    def digest(self) -> str:
        """A digest of everything that an answer depends on, with the bytes of its
        media."""

    @property
    def counts(self) -> Mapping[str, int]:
        """The number of answers by the group of their places."""

    @property
    def remarks(self) -> Sequence[str]:
        """Remarks about the files themselves."""

    def answer(
        self,
        task: str,
        sample: Sample,
        repeat: int,
    ) -> StoredAnswer | MissingAnswer:
        """The answer of a trial. Raises UsageError for a damaged one. A medium that is
        missing, or leads out of the folder, is not an error."""

    def close(self) -> None: ...


class ScoredTrial(NamedTuple):
    """A trial with its scores by number; without any where it has not been scored."""

    trial: Trial
    scores: Mapping[str, Score]


@dataclass(frozen=True)
class AnsweredTask:
    """One task of a run: its trials in the data set's order, read anew at each call.
    ``scored`` also reads the scores behind the run's newest results, for a layout that
    has a place for these."""

    name: str
    trials: Callable[[], Iterator[Trial]]
    scored: Callable[[], Iterator[ScoredTrial]]


@dataclass(frozen=True)
class AnsweredRun:
    """The input of a writer: the model, and the tasks with their trials."""

    model: str
    tasks: tuple[AnsweredTask, ...]


@dataclass(frozen=True)
class ExportSummary:
    """The result of a writer; ``gaps`` are what the files lack, each as one line.
    ``notes``: what the layout has no place for, and how it was kept; ``manifest`` is
    for the reader, in MANIFEST."""

    answers: int
    media: int
    gaps: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    manifest: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class AnswerFormat:
    """A layout of answers. ``about`` is one sentence.

    ``read(path, **options)`` opens answers; its keyword arguments may be given in
    ``--model_args``. ``write(run, folder)`` fills a folder, which is new and empty; it
    raises UsageError for a run that the layout cannot hold. Either side may be missing;
    ``unwritten`` is what to do instead of writing.
    """

    about: str
    read: Callable[..., AnswerSource] | None = None
    write: Callable[[AnsweredRun, Path], ExportSummary] | None = None
    unwritten: str = ""

    @property
    def options(self) -> tuple[str, ...]:
        """The names of the reader's arguments besides the path."""
        if self.read is None:
            return ()
        return tuple(inspect.signature(self.read).parameters)[1:]


def load_format(name: str) -> AnswerFormat:
    """Load a format by name. Raises UnknownNameError (with near names), PluginError."""
    return plugins.load_as(
        "mmeval.formats",
        name,
        AnswerFormat,
        "make it a mmeval.interchange.AnswerFormat",
    )


def open_answers(
    name: str,
    path: Path,
    options: Mapping[str, Any],
) -> AnswerSource:
    """Open the answers below a path in a format. Raises UsageError,
    MissingDataError."""
    form = load_format(name)
    if form.read is None:
        raise UsageError(
            f"the format {name!r} is written only; mmeval ls formats lists those that "
            "are read",
            name=name,
        )
    for option, value in options.items():
        if option not in form.options:
            what = f"argument of the format {name!r}"
            takes = "It takes none."
            if form.options:
                takes = f"It takes: {', '.join(form.options)}."
            raise UnknownNameError(what, option, form.options, takes)
        fault = fault_of(value, hint_of(form.read, option))
        if fault:
            raise UsageError(f"the format {name!r}: {option} {fault}", name=option)
    return form.read(path, **options)

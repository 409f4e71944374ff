"""The contract of formats: plugins that read and write files of answers.

A format is an :class:`AnswerFormat` in the entry points ``mmeval.formats``. ``--model
replay`` uses its reader, ``mmeval export`` its writer. Both work with trials. A trial
is the n-th answer to a sample of a task.
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
"""The file of an exported folder that describes its run."""


class AnswerPlace(NamedTuple):
    """The position of an answer: its file or task, and its index there, from 0."""

    group: str
    number: int


class StoredAnswer(NamedTuple):
    """A recorded answer. ``response`` has an error if the model failed."""

    place: AnswerPlace
    response: Response


class MissingAnswer(NamedTuple):
    """The reason why an answer is missing. If the answer exists but cannot be read,
    ``place`` is its position."""

    reason: str
    place: AnswerPlace | None = None


class AnswerSource(Protocol):
    """The answers in a file or folder that is open.

    Files outside the given folder are never read, except media in folders that
    ``media_root`` names.
    """

    @property
    def model(self) -> str:
        """The name of the model, as recorded in the files, or an empty string."""

    @property
    def digest(self) -> str:
        """A digest of all data that the answers depend on, including media."""

    @property
    def counts(self) -> Mapping[str, int]:
        """The number of answers in each file, or for each task."""

    @property
    def remarks(self) -> Sequence[str]:
        """Remarks about the files."""

    def answer(
        self,
        task: str,
        sample: Sample,
        repeat: int,
    ) -> StoredAnswer | MissingAnswer:
        """Returns the answer of a trial. Raises UsageError if it is damaged.

        A medium that is missing or outside the folder is not an error.
        """

    def close(self) -> None: ...


class ScoredTrial(NamedTuple):
    """A trial with its scores by name. The mapping is empty for an unscored trial."""

    trial: Trial
    scores: Mapping[str, Score]


@dataclass(frozen=True)
class AnsweredTask:
    """One task of a run, with functions that read its trials in data set order.

    Each call reads the trials again. ``scored`` also reads the scores of the newest
    results, for layouts that include scores.
    """

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
    """The result of a writer.

    Each line of ``gaps`` names one thing that is missing from the files. Each of
    ``notes`` names content that does not fit the layout, and states how this content
    was kept. ``manifest`` is written into MANIFEST for the reader.
    """

    answers: int
    media: int
    gaps: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    manifest: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class AnswerFormat:
    """A layout of answers. ``about`` describes it in one sentence.

    ``read(path, **options)`` opens answers; ``--model_args`` provides its keyword
    arguments. ``write(run, folder)`` fills a new empty folder, and raises UsageError if
    the run does not fit the layout. Either function may be missing. Without ``write``,
    the text ``unwritten`` says what the user can do instead.
    """

    about: str
    read: Callable[..., AnswerSource] | None = None
    write: Callable[[AnsweredRun, Path], ExportSummary] | None = None
    unwritten: str = ""

    @property
    def options(self) -> tuple[str, ...]:
        """The names of the reader's keyword arguments."""
        if self.read is None:
            return ()
        return tuple(inspect.signature(self.read).parameters)[1:]


def load_format(name: str) -> AnswerFormat:
    """Loads a format by name. Raises UnknownNameError or PluginError."""
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
    """Opens answers at a path. Raises UsageError or MissingDataError."""
    form = load_format(name)
    if form.read is None:
        raise UsageError(
            f"the format {name!r} cannot be read, only written; mmeval ls formats "
            "lists the formats that can be read",
            name=name,
        )
    for option, value in options.items():
        if option not in form.options:
            what = f"argument of the format {name!r}"
            takes = "It has no arguments."
            if form.options:
                takes = f"Its arguments: {', '.join(form.options)}."
            raise UnknownNameError(what, option, form.options, takes)
        fault = fault_of(value, hint_of(form.read, option))
        if fault:
            raise UsageError(f"the format {name!r}: {option} {fault}", name=option)
    return form.read(path, **options)

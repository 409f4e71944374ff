"""Interchange: answers in files of some layout, read and written by formats that packages register.

A format is an :class:`AnswerFormat` in the entry points ``mmeval.formats``. Its reader serves ``--model replay``, its
writer ``mmeval export``. Both sides speak of trials: a sample of a task, put to the model for the n-th time.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from mmeval import plugins
from mmeval.errors import PluginError, UnknownNameError, UsageError
from mmeval.records.response import Response
from mmeval.records.sample import Sample
from mmeval.records.trial import Trial
from mmeval.system.arguments import fault_of, hint_of

MANIFEST = "mmeval.json"
"""A file of every exported folder: what it was made of."""


class Place(NamedTuple):
    """Where an answer lies: the file or task that holds it, and which of its answers it is, counted from 0."""

    group: str
    number: int


class StoredAnswer(NamedTuple):
    """An answer as it was given. ``response`` holds an error where the model had failed."""

    place: Place
    response: Response


class Absent(NamedTuple):
    """There is no answer, for a reason in words for people. ``place`` is where one lies that cannot be read."""

    reason: str
    place: Place | None = None


class Answers(Protocol):
    """Answers in files, opened. Nothing is read out of the folder that was named."""

    @property
    def model(self) -> str:
        """Who gave them, as the files say; empty where they do not."""

    @property
    def digest(self) -> str:
        """Covers everything that an answer depends on, the bytes of its media included."""

    @property
    def counts(self) -> Mapping[str, int]:
        """How many answers there are, by the group of their places."""

    @property
    def remarks(self) -> Sequence[str]:
        """What there is to say of the files themselves."""

    def answer(self, task: str, sample: Sample, repeat: int) -> StoredAnswer | Absent:
        """The answer of one trial. Raises UsageError for one that must not be taken, such as a file outside."""

    def close(self) -> None: ...


@dataclass(frozen=True)
class AnsweredTask:
    """One task of a run: its trials in the order of the data set, read anew at each call."""

    name: str
    trials: Callable[[], Iterator[Trial]]


@dataclass(frozen=True)
class AnsweredRun:
    """What a writer is given: who answered, and the tasks."""

    model: str
    tasks: tuple[AnsweredTask, ...]


@dataclass(frozen=True)
class Exported:
    """What a writer has done. ``gaps`` say what the files now lack, each as one line; ``notes`` what the layout has no
    place for and how it was kept. ``manifest`` is what the reader has to know besides: it is added to MANIFEST."""

    answers: int
    media: int
    gaps: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    manifest: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class AnswerFormat:
    """A layout of answers. ``about`` is one sentence.

    ``read(path, **options)`` opens answers; its keyword arguments are what ``--model_args`` may say besides the path.
    ``write(run, folder)`` fills a folder, which is new and empty; it raises UsageError for a run that has no place in
    the layout. Either side may be missing; ``unwritten`` says what to do instead of writing.
    """

    about: str
    read: Callable[..., Answers] | None = None
    write: Callable[[AnsweredRun, Path], Exported] | None = None
    unwritten: str = ""

    @property
    def options(self) -> tuple[str, ...]:
        """The names of what a reader may be told besides the path."""
        return () if self.read is None else tuple(inspect.signature(self.read).parameters)[1:]


def load_format(name: str) -> AnswerFormat:
    """A format by its plugin name. Raises UnknownNameError with near names, PluginError for what is no format."""
    found = plugins.load("mmeval.formats", name)
    if not isinstance(found, AnswerFormat):
        kind = type(found).__name__
        raise PluginError(
            f"the plugin {name!r} (mmeval.formats) is {kind}, not a mmeval.interchange.contract.AnswerFormat"
        )
    return found


def open_answers(name: str, path: Path, options: Mapping[str, Any]) -> Answers:
    """The answers below a path, in a format. Raises UsageError or MissingDataError for what cannot be read so."""
    form = load_format(name)
    if form.read is None:
        raise UsageError(f"the format {name!r} is written only; mmeval ls formats says what is read")
    for option, value in options.items():
        if option not in form.options:
            takes = f"It takes: {', '.join(form.options)}." if form.options else "It takes none."
            raise UnknownNameError(f"argument of the format {name!r}", option, form.options, takes)
        if fault := fault_of(value, hint_of(form.read, option)):
            raise UsageError(f"the format {name!r}: {option} {fault}")
    return form.read(path, **options)

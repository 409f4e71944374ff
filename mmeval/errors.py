"""The exceptions that mmeval raises, and the exit code of each.

MmevalError                   1   something unexpected; the message still has an
                                  instruction
├── UsageError                2   a flag, a task file or a run folder that cannot be
│                                 used as asked
│   ├── TaskFileError             a YAML file, with file and line
│   ├── SampleError               a sample that no prompt can be made of
│   ├── UnknownNameError          a task, metric, backend ... that is not registered;
│   │                             offers near names
│   ├── AmbiguousNameError        a name that two installed plugins claim
│   ├── IdentityChangedError      the run folder was made by another model or with other
│   │                             settings
│   ├── ReplayMismatchError       a journalled step was asked with another request
│   ├── PromptError               in mmeval.program.prompt: a prompt that cannot be made
│   │                             of a sample
│   ├── KeyFaultsError            in mmeval.task.key_faults: keys of task files that are
│   │                             not honoured
│   └── RunLockedError            another process is writing in this run folder
├── MissingError              4   a key, an extra, data, that has to be supplied first
│   ├── MissingExtraError         a package of an optional extra
│   └── MissingDataError          a file, a data set
│       ├── NotFetchedError       a data set of the hub that is not on this machine
│       ├── WeightsError          in mmeval.metric.model_files_error: a model that
│       │                         cannot be used
│       └── OutOfReachError       in mmeval.dataset.hub: the hub could not be asked
├── WorkerStartError          1   in mmeval.broker.worker_service: a worker that does
│                                 not start
├── PluginError               1   an installed plugin that cannot be imported or breaks
│                                 its contract
├── ContentError              1   a medium that cannot be read, or is larger than its
│                                 limit
│   ├── CorruptMediaError
│   ├── MediaLimitError
│   └── UnsupportedMediaError     a format, codec, depth or password that mmeval does
│                                 not read; the fault is not the model's
├── StorageError              1   the run folder cannot be written: disk full, read-only
├── Interrupted             130   the user stopped the run; everything that was answered
│                                 is kept
├── CallFailed                1   in mmeval.program.calls: a call that a program cannot
│                                 do without has failed
├── RoleLostError                 a role answers no call of this run any more
│   ├── KeyRefusedError       4   the server does not accept the key
│   ├── StartFailedError          the model could not be loaded; the exit code is that
│   │                             of the reason
│   └── BackendDownError      3   the backend stopped answering altogether
├── BudgetSpentError          3   in mmeval.run.costs.budget: a budget is spent;
│                                 everything that was answered is kept
└── StoppedError              1   the run is ending, so this call was not made
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from mmeval.installation import install_command

EXIT_OK = 0
EXIT_UNEXPECTED = 1
EXIT_USAGE = 2
EXIT_INCOMPLETE = 3
EXIT_MISSING = 4
EXIT_WORSE = 5
EXIT_INTERRUPTED = 130


class MmevalError(Exception):
    """The root; its text is for the user: what happened, where, what to do next.

    Its fields are for programs, empty where they say nothing: the ``name`` at fault (a
    flag, key, switch, task or package; several with commas), the ``known`` names that
    would be right, the ``file`` and the ``line`` in it (from 1), and ``how_to_fix``,
    which the text holds too.
    """

    exit_code = EXIT_UNEXPECTED

    def __init__(
        self,
        message: str = "",
        *,
        name: str = "",
        known: Iterable[str] = (),
        file: Path | str | None = None,
        line: int = 0,
        how_to_fix: str = "",
    ) -> None:
        super().__init__(f"{sentence(message)} {how_to_fix}" if how_to_fix else message)
        self.name = name
        self.known = tuple(known)
        self.how_to_fix = how_to_fix
        self.file = None if file is None else Path(file)
        self.line = line


class UsageError(MmevalError):
    exit_code = EXIT_USAGE


class TaskFileError(UsageError):
    """A task file that cannot be read; ``line`` is 0 if none is to blame."""

    file: Path

    def __init__(
        self, message: str, *, file: Path | str, line: int = 0, name: str = ""
    ) -> None:
        super().__init__(
            f"{file}:{line}: {message}" if line else f"{file}: {message}",
            name=name,
            file=file,
            line=line,
        )
        self.message = message

    def __reduce__(self) -> tuple[object, ...]:
        made = partial(TaskFileError, file=self.file, line=self.line, name=self.name)
        return made, (self.message,)


class SampleError(UsageError):
    """A sample that no prompt can be made of; the others are asked."""


class UnknownNameError(UsageError):
    """``name`` is not registered; the message offers the names that look like it."""

    def __init__(
        self, what: str, name: str, known: Iterable[str], hint: str = ""
    ) -> None:
        known = tuple(known)
        super().__init__(
            f"unknown {what} {name!r}{did_you_mean(name, known)}",
            name=name,
            known=known,
            how_to_fix=hint,
        )
        self.what = what

    def __reduce__(self) -> tuple[object, ...]:
        return partial(UnknownNameError, known=self.known, hint=self.how_to_fix), (
            self.what,
            self.name,
        )


class AmbiguousNameError(UsageError):
    pass


class IdentityChangedError(UsageError):
    pass


class ReplayMismatchError(UsageError):
    pass


class RunLockedError(UsageError):
    pass


class MissingError(MmevalError):
    """Something has to be supplied; the text ends with the ``command`` that does.

    ``cause`` is what a finding has of the message, by default all of it.
    """

    exit_code = EXIT_MISSING

    def __init__(
        self, message: str = "", *, cause: str = "", command: str = "", **more: Any
    ) -> None:
        super().__init__(f"{message}; run: {command}" if command else message, **more)
        self.cause = cause or message
        self.command = command


class MissingExtraError(MissingError):
    """A package is not installed; the message is the command that installs it."""

    def __init__(self, package: str, extra: str = "") -> None:
        self.package, self.extra = package, extra
        command = install_command(extra) if extra else f'pip install "{package}"'
        super().__init__(f"{package} is not installed", command=command, name=package)

    def __reduce__(self) -> tuple[object, ...]:
        return MissingExtraError, (self.package, self.extra)


class MissingDataError(MissingError):
    pass


class NotFetchedError(MissingDataError):
    """A data set of the hub, its ``name``, is not on this machine. Its ``cause`` does
    not state why: it is the same for commands that ask the hub and that do not."""


class PluginError(MmevalError):
    pass


class ContentError(MmevalError):
    pass


class CorruptMediaError(ContentError):
    pass


class MediaLimitError(ContentError):
    pass


class UnsupportedMediaError(ContentError):
    """A sound medium that mmeval does not read: no score, and never 0."""


class StorageError(MmevalError):
    pass


class Interrupted(MmevalError):
    exit_code = EXIT_INTERRUPTED


class RoleLostError(MmevalError):
    """A role answers no more calls: ``reason`` is why, ``how_to_fix`` what to do
    first."""

    def __init__(self, reason: str, how_to_fix: str) -> None:
        super().__init__(
            f"{sentence(reason)} What was answered is kept: {how_to_fix}, then run "
            "the same command"
        )
        self.reason, self.how_to_fix = reason, how_to_fix


class BackendDownError(RoleLostError):
    """A role stopped answering; the run stops instead of failing sample after
    sample."""

    exit_code = EXIT_INCOMPLETE


class KeyRefusedError(RoleLostError, MissingError):
    """The server does not accept the key: no call of this run can succeed."""

    exit_code = EXIT_MISSING


class StartFailedError(RoleLostError):
    """A backend could not be started, so no call was made. ``message`` is why, and what
    to do; ``exit_code`` is that of the error that it met."""

    def __init__(
        self,
        backend: str,
        message: str,
        exit_code: int,
    ) -> None:
        super().__init__(f"{backend} cannot be started: {message}", "mend that")
        self.message, self.exit_code = message, exit_code

    def __str__(self) -> str:
        return self.message


class StoppedError(MmevalError):
    """The user stopped the run before this call; its trial is not answered or
    failed."""


def sentence(text: object) -> str:
    """A message with a full stop, unless it ends in a mark of its own."""
    message = str(text)
    return message if message.endswith((".", "?", "!")) else f"{message}."


def message_of(error: BaseException) -> str:
    """The message of an error, with its class before it unless it is one of ours."""
    if isinstance(error, MmevalError):
        return str(error)
    return f"{type(error).__name__}: {error}"


def written_instead(name: str, written: Iterable[str]) -> str:
    """``; it has "rubrik": did you mean "rubric"?`` for a near name, or empty."""
    near = difflib.get_close_matches(name, list(written), n=1, cutoff=0.6)
    return f'; it has "{near[0]}": did you mean "{name}"?' if near else ""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """``; did you mean "x"?`` for the names nearest to a mistyped one, or empty."""
    bare = {_bare(item): item for item in known}
    near = difflib.get_close_matches(_bare(name), list(bare), n=3, cutoff=0.6)
    if not near:
        return ""
    shown = " or ".join(f'"{bare[item]}"' for item in near)
    return f"; did you mean {shown}?"


def _bare(name: str) -> str:
    """A name without what would make all flags, or all variables, look alike."""
    return name.removeprefix("--").removeprefix("MMEVAL_")


def is_out_of_memory(error: BaseException) -> bool:
    """Whether memory of machine or device ran out, by the words of Python and torch."""
    message = str(error).lower()
    # the last is of cuBLAS and cuDNN
    known = ("out of memory", "allocate memory", "status_alloc_failed")
    return isinstance(error, MemoryError) or any(words in message for words in known)


def raised_at(error: BaseException, *callers: str) -> str:
    """`` (adapter.py:31)``: where a plugin's own code raised an error.

    Empty where the error comes from one of ``callers``, the files that call the plugin,
    or has no traceback any more.
    """
    import traceback  # it takes longer to import than the help takes to print

    file = ""
    line = 0
    for frame, number in traceback.walk_tb(error.__traceback__):
        name = frame.f_code.co_filename
        if not name.startswith("<frozen "):  # of an import
            file = name
            line = number
    return "" if not file or file in callers else f" ({Path(file).name}:{line})"

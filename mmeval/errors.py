"""The exceptions that mmeval raises, and the exit code of each.

MmevalError                   1   any other error; its message says what to do
├── UsageError                2   a flag, task file or run folder cannot be used
│   ├── TaskFileError             a YAML file is wrong; states file and line
│   ├── SampleError               no prompt can be built from a sample
│   ├── UnknownNameError          a task, metric, backend ... is not registered; offers
│   │                             similar names
│   ├── AmbiguousNameError        two installed plugins register the same name
│   ├── IdentityChangedError      the run folder belongs to another model or other
│   │                             settings
│   ├── ReplayMismatchError       a step of the journal has a different request
│   ├── PromptError               in mmeval.program.prompt: a template fails on a sample
│   ├── KeyFaultsError            in mmeval.task.key_faults: keys of a task file have
│   │                             no effect
│   └── RunLockedError            another process writes in this run folder
├── MissingError              4   a key, an extra or data must be supplied first
│   ├── MissingExtraError         a package of an optional extra is not installed
│   └── MissingDataError          a file or data set is missing
│       ├── NotFetchedError       a data set of the hub is not on this machine
│       ├── WeightsError          in mmeval.metric.model_files_error: a model cannot be
│       │                         used
│       └── OutOfReachError       in mmeval.dataset.hub: the hub cannot be reached
├── WorkerStartError          1   in mmeval.broker.worker_desk: a worker does not start
├── PluginError               1   an installed plugin cannot be imported or breaks its
│                                 contract
├── ContentError              1   a medium cannot be read
│   ├── CorruptMediaError         it is damaged
│   ├── MediaLimitError           it is larger than a limit
│   └── UnsupportedMediaError     mmeval does not read its format, codec, depth or
│                                 encryption; the model is not at fault
├── StorageError              1   the run folder cannot be written: disk full, read-only
├── Interrupted             130   the user stopped the run; all answers are kept
├── CallFailed                1   in mmeval.program.calls: a required call failed
├── RoleLostError                 a role has stopped answering calls in this run
│   ├── KeyRefusedError       4   the server does not accept the key
│   ├── StartFailedError          the model cannot be loaded; keeps the exit code of the
│   │                             cause
│   ├── UnreadableJudgeError  3   too many verdicts of a metric cannot be read
│   └── BackendDownError      3   the backend stopped answering
├── BudgetSpentError          3   in mmeval.run.costs.budget: a budget is spent; all
│                                 answers are kept
└── StoppedError              1   the run is ending; the call was not made
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from mmeval.installation import install_command

EXIT_OK = 0
"""Everything was done."""
EXIT_UNEXPECTED = 1
"""An error without an exit code of its own."""
EXIT_USAGE = 2
"""A flag, a task file or a run folder cannot be used."""
EXIT_INCOMPLETE = 3
"""The results are incomplete."""
EXIT_MISSING = 4
"""Something must be supplied first."""
EXIT_WORSE = 5
"""A run is worse than allowed."""
EXIT_INTERRUPTED = 130
"""The user stopped the run."""


class MmevalError(Exception):
    """The base class of all errors.

    The text of an error says what happened, where, and what to do next.

    The fields are for programs; a field is empty if it does not apply:

    - ``name``: the name at fault (a flag, key, switch, task or package; several with
      commas).
    - ``known``: the valid names.
    - ``file``, ``line``: the position of the fault; lines are numbered from 1.
    - ``how_to_fix``: what to do next; it is part of the text.
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
    """A flag, a task file or a run folder that cannot be used."""

    exit_code = EXIT_USAGE


class TaskFileError(UsageError):
    """A task file that cannot be read. ``line`` is 0 if the fault is not in a line."""

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
        build = partial(TaskFileError, file=self.file, line=self.line, name=self.name)
        return build, (self.message,)


class SampleError(UsageError):
    """No prompt can be built from a sample. The run continues with the other
    samples."""


class UnknownNameError(UsageError):
    """``name`` is not registered; the message offers similar names."""

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
    """Two installed plugins register the same name."""


class IdentityChangedError(UsageError):
    """The run folder belongs to another model or to other settings."""


class ReplayMismatchError(UsageError):
    """A step of the journal has a different request."""


class RunLockedError(UsageError):
    """Another process writes in this run folder."""


class MissingError(MmevalError):
    """The user must supply something first. The text ends with the ``command`` to run.

    ``cause`` is the text of the finding. The default is the whole message.
    """

    exit_code = EXIT_MISSING

    def __init__(
        self, message: str = "", *, cause: str = "", command: str = "", **more: Any
    ) -> None:
        super().__init__(f"{message}; run: {command}" if command else message, **more)
        self.cause = cause or message
        self.command = command


class MissingExtraError(MissingError):
    """A package is not installed; the message contains the command to install it."""

    def __init__(self, package: str, extra: str = "") -> None:
        self.package, self.extra = package, extra
        command = install_command(extra) if extra else f'pip install "{package}"'
        super().__init__(f"{package} is not installed", command=command, name=package)

    def __reduce__(self) -> tuple[object, ...]:
        return MissingExtraError, (self.package, self.extra)


class MissingDataError(MissingError):
    """A file or data set is missing."""


class NotFetchedError(MissingDataError):
    """A data set of the hub, ``name``, is not on this machine.

    ``cause`` does not state the reason, so its text does not depend on whether a
    command may use the network.
    """


class PluginError(MmevalError):
    """A plugin cannot be imported, or breaks its contract."""


class ContentError(MmevalError):
    """A medium cannot be read."""


class CorruptMediaError(ContentError):
    """A damaged medium."""


class MediaLimitError(ContentError):
    """A medium that is larger than a limit."""


class UnsupportedMediaError(ContentError):
    """A valid medium that mmeval cannot read. Its trial is unscored, never 0."""


class StorageError(MmevalError):
    """The run folder cannot be written."""


class Interrupted(MmevalError):
    """The user stopped the run. All answers are kept."""

    exit_code = EXIT_INTERRUPTED


class RoleLostError(MmevalError):
    """A role has stopped answering calls, for the given ``reason``. ``how_to_fix`` says
    what to do."""

    def __init__(self, reason: str, how_to_fix: str) -> None:
        super().__init__(
            f"{sentence(reason)} Answers are kept: {how_to_fix}, then run the "
            "same command"
        )
        self.reason, self.how_to_fix = reason, how_to_fix


class BackendDownError(RoleLostError):
    """A role stopped answering. The run stops, so that no more samples fail."""

    exit_code = EXIT_INCOMPLETE


class KeyRefusedError(RoleLostError, MissingError):
    """The server does not accept the key, so no call of this run can succeed."""

    exit_code = EXIT_MISSING


class UnreadableJudgeError(RoleLostError):
    """Too many verdicts of a metric cannot be read.

    Only this metric is stopped; other metrics and the model continue.
    """

    exit_code = EXIT_INCOMPLETE

    def __init__(self, reason: str) -> None:
        super().__init__(reason, "name another judge")


class StartFailedError(RoleLostError):
    """A backend cannot be started, and no call was made.

    ``message`` says why and what to do. ``exit_code`` is the exit code of the cause.
    """

    def __init__(
        self,
        backend: str,
        message: str,
        exit_code: int,
    ) -> None:
        super().__init__(f"{backend} cannot be started: {message}", "fix that")
        self.message, self.exit_code = message, exit_code

    def __str__(self) -> str:
        return self.message


class StoppedError(MmevalError):
    """The run was stopped before this call. Its trial has no answer and no failure."""


def sentence(text: object) -> str:
    """Returns the message with a full stop, unless it ends with a punctuation mark."""
    message = str(text)
    return message if message.endswith((".", "?", "!")) else f"{message}."


def message_of(error: BaseException) -> str:
    """Returns the message of an error, preceded by its class unless it is an
    MmevalError."""
    if isinstance(error, MmevalError):
        return str(error)
    return f"{type(error).__name__}: {error}"


def written_instead(name: str, written: Iterable[str]) -> str:
    """Returns a hint such as ``; it has "rubrik": did you mean "rubric"?``, or an empty
    string."""
    near = _similar(name, list(written), most=1)
    return f'; it has "{near[0]}": did you mean "{name}"?' if near else ""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Returns a hint such as ``; did you mean "x"?`` with similar names, or an empty
    string."""
    by_short_name = {_short_name(item): item for item in known}
    near = _similar(_short_name(name), list(by_short_name), most=3)
    if not near:
        return ""
    quoted = " or ".join(f'"{by_short_name[item]}"' for item in near)
    return f"; did you mean {quoted}?"


def _similar(name: str, known: list[str], *, most: int) -> list[str]:
    import difflib  # a slow import that --help does not need

    return difflib.get_close_matches(name, known, n=most, cutoff=0.6)


def _short_name(name: str) -> str:
    """Returns the name without the prefix that all flags, or all variables, share."""
    return name.removeprefix("--").removeprefix("MMEVAL_")


def is_out_of_memory(error: BaseException) -> bool:
    """Returns True if host or device memory ran out, judging by the messages of Python
    and torch."""
    message = str(error).lower()
    # the last phrase is from cuBLAS and cuDNN
    phrases = ("out of memory", "allocate memory", "status_alloc_failed")
    return isinstance(error, MemoryError) or any(
        phrase in message for phrase in phrases
    )


def raised_at(error: BaseException, *callers: str) -> str:
    """Returns where a plugin's code raised an error: `` (adapter.py:31)``.

    The result is empty if the error has no traceback, or comes from one of ``callers``,
    the files that call the plugin.
    """
    import traceback  # a slow import that --help does not need

    file = ""
    line = 0
    for frame, number in traceback.walk_tb(error.__traceback__):
        name = frame.f_code.co_filename
        if not name.startswith("<frozen "):  # frames of the import system
            file = name
            line = number
    return "" if not file or file in callers else f" ({Path(file).name}:{line})"

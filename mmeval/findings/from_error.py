"""Converts an exception into a finding."""

from __future__ import annotations

from dataclasses import replace

from mmeval.errors import (
    ContentError,
    KeyRefusedError,
    MissingDataError,
    MissingError,
    MissingExtraError,
    NotFetchedError,
    PluginError,
    SampleError,
    StorageError,
    TaskFileError,
    UsageError,
    message_of,
)
from mmeval.findings.finding import ANYTHING, Finding, Kind, Severity, Subject

PREPARE_DATA = "mmeval prepare {TASK}"
_KINDS: tuple[tuple[type[Exception], Kind], ...] = (
    (KeyRefusedError, "missing_key"),
    (MissingExtraError, "missing_extra"),
    (MissingDataError, "missing_data"),
    (MissingError, "missing_key"),
    (SampleError, "bad_sample"),
    (TaskFileError, "task_file"),
    (UsageError, "setting"),
    (ContentError, "bad_sample"),
    (StorageError, "machine"),
    (PluginError, "plugin"),
)
"""The kind of each error class.

The first matching class is used. Any other exception is a fault of a plugin.
"""


def finding_of(
    error: BaseException, subject: Subject = ANYTHING, severity: Severity = "error"
) -> Finding:
    """Converts an exception into a finding.

    The error's file and line, or its data set, are added to the subject. A wrong
    setting in a file becomes a finding of the kind ``task_file``.
    """
    kind: Kind = "plugin"
    for cls, class_kind in _KINDS:
        if isinstance(error, cls):
            kind = class_kind
            break
    if kind == "setting" and subject.file:
        kind = "task_file"
    cause, remedy = message_of(error), ""
    if isinstance(error, MissingError):
        cause, remedy = error.cause, error.command
        if error.file is not None:
            subject = replace(subject, file=str(error.file), line=error.line)
    if isinstance(error, MissingExtraError):
        cause = missing_package(error.package, error.extra)
    elif isinstance(error, NotFetchedError):
        subject = replace(subject, name=error.name)
        remedy = PREPARE_DATA
    elif isinstance(error, TaskFileError):
        cause = error.message
        subject = replace(subject, file=str(error.file), line=error.line)
    return Finding(kind, subject, cause=cause, remedy=remedy, severity=severity)


def missing_package(package: str, extra: str) -> str:
    """Returns the cause of a finding, which states what is not installed.

    The cause is the same for all packages of an extra, so that they are grouped.
    """
    requirement = f"the extra {extra}" if extra else package
    return f"{requirement} is not installed"

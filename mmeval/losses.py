"""Losses: a role that answers no call of a run any more, and calls that are not made because the run is ending."""

from __future__ import annotations

from mmeval.errors import EXIT_INCOMPLETE, EXIT_MISSING, MissingError, MmevalError, sentence


class RoleLostError(MmevalError):
    """A role answers no call of this run any more: ``reason`` says why, ``way_out`` what to do first."""

    def __init__(self, reason: str, way_out: str) -> None:
        self.reason, self.way_out = reason, way_out
        super().__init__(f"{sentence(reason)} What was answered is kept: {way_out}, then run the same command")


class BackendDownError(RoleLostError):
    """A role stopped answering altogether; the run stops instead of failing sample after sample."""

    exit_code = EXIT_INCOMPLETE


class KeyRefusedError(RoleLostError, MissingError):
    """The server does not accept the key: no call of this run can succeed."""

    exit_code = EXIT_MISSING


class StartFailedError(RoleLostError):
    """A backend could not be started, so nobody was asked. ``message`` says why and what to do; ``exit_code`` is that
    of the error which it met."""

    def __init__(self, whom: str, message: str, exit_code: int) -> None:
        super().__init__(f"{whom} cannot be started: {message}", "mend that")
        self.message, self.exit_code = message, exit_code

    def __str__(self) -> str:
        return self.message


class StoppedError(MmevalError):
    """The user stopped the run before this call was made; its trial is neither answered nor failed."""

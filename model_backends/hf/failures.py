"""Failures of single rows: typed errors that do not affect other rows."""

from __future__ import annotations

from mmeval.errors import MmevalError
from mmeval.records import ErrorKind, Response
from mmeval.system.wording import shortened


class RowError(MmevalError):
    """The error of one row, which becomes the row's response. Other rows continue."""

    def __init__(self, kind: ErrorKind, text: str) -> None:
        self.kind, self.text = kind, text
        super().__init__(f"{kind}: {text}")

    def __reduce__(self) -> tuple[object, ...]:
        return RowError, (self.kind, self.text)

    @property
    def response(self) -> Response:
        return Response.failed(self.kind, self.text)


def in_a_line(error: BaseException, max_chars: int = 300) -> str:
    """Returns an error on one line: its type and the beginning of its message."""
    shown = shortened(" ".join(str(error).split()), max_chars)
    return f"{type(error).__name__}: {shown}" if shown else type(error).__name__

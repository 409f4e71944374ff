"""Failures of one row: typed errors that do not affect other rows."""

from __future__ import annotations

from mmeval.errors import MmevalError
from mmeval.records import ErrorKind, Response
from mmeval.system.wording import shortened


class RowError(MmevalError):
    """Why one row cannot be asked or read: its response, while other rows go on."""

    def __init__(self, kind: ErrorKind, text: str) -> None:
        self.kind, self.text = kind, text
        super().__init__(f"{kind}: {text}")

    def __reduce__(self) -> tuple[object, ...]:
        return RowError, (self.kind, self.text)

    @property
    def response(self) -> Response:
        return Response.failed(self.kind, self.text)


def in_a_line(error: BaseException, most: int = 300) -> str:
    """The error of a library as one line: its type and its first words."""
    shown = shortened(" ".join(str(error).split()), most)
    return f"{type(error).__name__}: {shown}" if shown else type(error).__name__

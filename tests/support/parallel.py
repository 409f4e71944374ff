"""A local model that is loaded and may be copied: it notes what its copies do, and dies when a question tells it to."""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, cast

from mmeval.backend.capabilities import Capabilities
from mmeval.errors import MissingDataError, UsageError
from mmeval.records.request import Request
from mmeval.records.response import Response, Usage
from mmeval.store.segment import Segment
from tests.support.dying import after, die
from tests.support.toy import asked_text, picture, reply

_NO_NUMBERS = Usage(input_tokens=cast("int", {1, 2}))


class OnlyThere(str):
    """The number of a process, which no other one can make."""

    __slots__ = ()

    def __new__(cls, pid: int) -> OnlyThere:
        assert int(pid) == os.getpid()
        return super().__new__(cls, pid)


class Note(NamedTuple):
    """What a copy did: ``start``, ``begin`` a batch, or ``answer`` a question; in which process."""

    what: str
    copy: int
    pid: int
    text: str


class ToyParallel:
    """Answers ``question 7`` with ``answer 7`` and, where one is wanted, a picture.

    ``copies`` are processes of their own (0: it answers where it is). ``folder`` takes notes (see :func:`notes`).
    ``delay`` is how long a row takes, in seconds. ``broken`` is what the start meets: ``missing``, ``usage``,
    ``crash``, ``hang`` or ``death``; with ``later`` only a second start does. A question with ``deadly`` in it kills
    the process, and one with ``once`` does so the first time; the answer to one with ``odd`` is nothing that can be
    written, that to one with ``garbled`` nothing that another process can read. ``point`` names a step of keeping an
    answer (a method of ``Segment``) after which the process is killed when it has got there ``count`` times, in one
    process of all.
    """

    capabilities = Capabilities.of(("text",), ("text", "image"))
    provenance: Mapping[str, Any] = {}

    def __init__(
        self,
        *,
        folder: str,
        copies: int = 0,
        copy: int = 0,
        model: str = "toy-parallel",
        delay: float = 0.0,
        max_batch_size: int = 4,
        broken: str = "",
        later: bool = False,
        point: str = "",
        count: int = 1,
        drift: bool = False,
    ) -> None:
        self.identity = {"backend": "toy_parallel", "model": model, **({"copy": copy} if drift else {})}
        self.max_batch_size = max_batch_size
        self._folder, self._copies, self._copy, self._delay = Path(folder), copies, copy, delay
        self._broken, self._later, self._point, self._count = broken, later, point, count

    @property
    def workers(self) -> Sequence[Mapping[str, Any]]:
        return [] if self._copy else [{"copy": copy} for copy in range(1, self._copies + 1)]

    def start(self) -> None:
        self._note("start", os.environ.get("OMP_NUM_THREADS", ""))
        if self._broken and not (self._later and self._is_first("started")):
            _break(self._broken)
        logging.getLogger("mmeval.toy").warning("this model is a toy")
        print("a model may print what it likes")
        if self._point and self._is_first("point"):
            after(Segment, self._point, self._count, die)

    def generate_batch(self, requests: Sequence[Request]) -> Iterator[tuple[int, Response]]:
        self._note("begin", str(len(requests)))
        for position, request in enumerate(requests):
            text = asked_text(request)
            threading.Event().wait(self._delay)  # a model at work
            if "deadly" in text or ("once" in text and self._is_first(text)):
                die()
            self._note("answer", text)
            made = [picture(int(text.split()[-1]))] if "image" in request.wants else []
            answer = reply(text.replace("question", "answer"), *made)
            if "odd" in text:
                answer = replace(answer, usage=_NO_NUMBERS)
            yield position, replace(answer, served=OnlyThere(os.getpid())) if "garbled" in text else answer

    async def close(self) -> None:
        self._note("close", "")

    def _note(self, what: str, text: str) -> None:
        with (self._folder / "notes").open("a") as file:
            file.write(f"{what}|{self._copy}|{os.getpid()}|{text}\n")

    def _is_first(self, name: str) -> bool:
        """Whether this is the first time in any process."""
        try:
            (self._folder / f"{name} was here").touch(exist_ok=False)
        except FileExistsError:
            return False
        return True


def _break(how: str) -> None:
    if how == "missing":
        raise MissingDataError("the weights are not here; fetch them")
    if how == "usage":
        raise UsageError("there is one device, and two are asked for; ask for one")
    if how == "crash":
        raise RuntimeError("no such luck")
    if how == "hang":
        signal.pause()
    die()


def notes(folder: Path, what: str = "") -> list[Note]:
    """What the copies did, in order; of one sort where one is named."""
    file = folder / "notes"
    lines = file.read_text().splitlines() if file.exists() else []
    rows = (line.split("|", 3) for line in lines)
    found = [Note(row[0], int(row[1]), int(row[2]), row[3]) for row in rows]
    return [note for note in found if what in ("", note.what)]


def answered(folder: Path) -> list[str]:
    """The questions that were answered, as often as they were."""
    return sorted(note.text for note in notes(folder, "answer"))

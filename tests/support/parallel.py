"""A local model that is loaded and may be copied: it notes what its copies do, and dies
where a question asks it."""

import contextlib
import logging
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Self, cast

from mmeval.backend.capabilities import Capabilities
from mmeval.errors import MissingDataError
from mmeval.records.request import Request
from mmeval.records.response import Response
from mmeval.store.segment import Segment
from tests.support.cli import wait_for
from tests.support.toy import asked_text, picture, reply


class OnlyThere(str):
    """The number of a process, which no other one can make."""

    def __new__(cls, pid: int) -> Self:
        assert int(pid) == os.getpid()
        return super().__new__(cls, pid)


class Note(NamedTuple):
    """What a copy did: ``start``, ``begin`` a batch, or ``answer`` a question; in which
    process."""

    what: str
    copy: int
    pid: int
    text: str


class ToyParallel:
    """Answers ``question 7`` with ``answer 7`` and, where one is wanted, a picture.

    ``copies`` are processes of their own (0: it answers where it is). ``folder`` takes
    notes (see :func:`notes`). ``delay`` is how long a row takes, in seconds; once
    ``most`` are answered the copies wait until the file ``go`` is in the folder.
    ``broken``, or the variable TOY_BROKEN of a node, is what the start meets
    (``missing``, ``crash``, ``hang``). The answer to ``odd`` cannot be written, that to
    ``garbled`` cannot be read elsewhere. ``point`` is a method of ``Segment``: one
    process is killed after it, at the ``count``-th time.
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
        most: int = 0,
        max_batch_size: int = 4,
        broken: str = "",
        point: str = "",
        count: int = 1,
        drift: bool = False,
    ) -> None:
        self.identity = {
            "backend": "toy_parallel",
            "model": model,
            **({"copy": copy} if drift else {}),
        }
        self.max_batch_size = max_batch_size
        self._folder = Path(folder)
        self._copies = copies
        self._copy = copy
        self._delay = delay
        self._most, self._broken, self._point, self._count = most, broken, point, count

    @property
    def workers(self) -> Sequence[Mapping[str, Any]]:
        return (
            []
            if self._copy
            else [{"copy": copy} for copy in range(1, self._copies + 1)]
        )

    def start(self) -> None:
        self._note("start", os.environ.get("OMP_NUM_THREADS", ""))
        broken = self._broken or os.environ.get("TOY_BROKEN", "")
        if broken == "hang":
            signal.pause()
        if broken == "missing":
            raise MissingDataError("the weights are not here; fetch them")
        if broken:
            raise RuntimeError("no such luck")
        logging.getLogger("mmeval.toy").warning("this model is a toy")
        print("a model may print what it likes")
        if self._most:  # it waits for a test, which has as much time as it needs
            signal.signal(signal.SIGALRM, signal.SIG_IGN)
        if self._point:
            with contextlib.suppress(FileExistsError):
                (self._folder / "point was here").touch(exist_ok=False)
                after(Segment, self._point, self._count, die)

    def generate_batch(
        self, requests: Sequence[Request]
    ) -> Iterator[tuple[int, Response]]:
        self._note("begin", str(len(requests)))
        for position, request in enumerate(requests):
            text = asked_text(request)
            threading.Event().wait(self._delay)  # a model at work
            if self._most:
                wait_for(self._may_go_on, "the test")
            self._note("answer", text)
            made = [picture(int(text.split()[-1]))] if "image" in request.wants else []
            answer = reply(text.replace("question", "answer"), *made)
            if "odd" in text:
                answer = replace(answer, fingerprint=cast("str", {1, 2}))
            yield (
                position,
                replace(answer, served=OnlyThere(os.getpid()))
                if "garbled" in text
                else answer,
            )

    def _may_go_on(self) -> bool:
        return (
            len(answered(self._folder)) < self._most or (self._folder / "go").exists()
        )

    async def close(self) -> None:
        self._note("close", "")

    def _note(self, what: str, text: str) -> None:
        with (self._folder / "notes").open("a") as file:
            file.write(f"{what}|{self._copy}|{os.getpid()}|{text}\n")


def notes(folder: Path, what: str = "") -> list[Note]:
    """What the copies did, in order; of one sort where one is named."""
    file = folder / "notes"
    rows = (
        line.split("|", 3)
        for line in (file.read_text().splitlines() if file.exists() else [])
    )
    return [
        Note(row[0], int(row[1]), int(row[2]), row[3])
        for row in rows
        if what in ("", row[0])
    ]


def answered(folder: Path) -> list[str]:
    """The questions that were answered, as often as they were."""
    return sorted(note.text for note in notes(folder, "answer"))


def die() -> None:
    """As the kernel kills."""
    os.kill(os.getpid(), signal.SIGKILL)


def after(owner: Any, name: str, count: int, then: Callable[[], None]) -> None:
    """Let a function return ``count`` times, and do something whenever it does from
    then on."""
    original: Callable[..., Any] = getattr(owner, name)
    calls = 0

    def dying(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        result = original(*args, **kwargs)
        calls += 1
        if calls >= count:
            then()
        return result

    setattr(owner, name, dying)

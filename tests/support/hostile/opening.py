"""Opens hostile files in this process, one after the other, and measures what each one costs.

A process that is meant to be started for it: ``python -m tests.support.hostile.opening NAME...`` (all where none is
named) prints a row of JSON for every file and opener.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from mmeval.content.media import Media
from mmeval.decode import document_text
from mmeval.decode.archives.unpack import extract
from mmeval.errors import ContentError
from tests.support import tiny_media as tiny
from tests.support.decoders import DECODERS
from tests.support.hostile.corpus import corpus

_PROC = Path("/proc")
_APART = ("image", "pages", "document_text", "mesh")
_SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'


class Opened(NamedTuple):
    """``outcome`` is ``decoded`` or the error's type; ``seconds`` are of the clock; ``busy`` are of a processor, which
    other work on the machine does not lengthen; ``grown`` counts bytes above the memory held before, at the worst
    moment. The processes that this one has started count as well."""

    name: str
    opener: str
    outcome: str
    said: str
    seconds: float
    busy: float
    grown: int


def _archive(media: Media) -> None:
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder, "a")
        archive.write_bytes(media.read())
        extract(archive, Path(folder, "in", "out"))


OPENERS: Mapping[str, Callable[[Media], object]] = {**DECODERS, "document_text": document_text, "archive": _archive}


def main(names: list[str]) -> None:
    _warm_up()
    for case in corpus():
        if names and case.name not in names:
            continue
        data = case.make()
        for opener in case.openers:
            print(json.dumps([case.name, opener]), flush=True)
            print(json.dumps(opened(case.name, opener, data)), flush=True)


def opened(name: str, opener: str, data: bytes) -> Opened:
    if opener in _APART:
        _warm_up_apart()
    watch = _Memory()
    start, busy = time.monotonic(), _busy()
    outcome, said = "decoded", ""
    with watch.watching():
        try:
            OPENERS[opener](Media.from_bytes(data, name))
        except ContentError as error:
            outcome, said = type(error).__name__, str(error)
        except Exception as error:
            outcome, said = f"untyped {type(error).__name__}", str(error)
        seconds, busy = time.monotonic() - start, _busy() - busy
    return Opened(name, opener, outcome, said, seconds, busy, watch.grown)


def _busy() -> float:
    """Seconds of a processor: this process's, those of its children that have ended, and of those that live."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = time.process_time() + ended.ru_utime + ended.ru_stime
    for pid in _children():
        with contextlib.suppress(OSError):
            fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
            found += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return found


def _warm_up() -> None:
    """What the libraries themselves weigh is no file's doing."""
    for opener, data in (
        *(("image", tiny.picture(form)) for form in ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "AVIF")),
        *(("audio", tiny.sound(form)) for form in ("WAV", "FLAC", "MP3")),
        *((opener, tiny.clip(with_sound=True)) for opener in ("video", "video_info", "audio")),
        ("document_text", tiny.pdf()),
    ):
        OPENERS[opener](Media.from_bytes(data))


def _warm_up_apart() -> None:
    """A process apart that knows its libraries, where the last file has cost one."""
    for opener, data in (("image", _SVG), ("pages", tiny.pdf()), ("mesh", tiny.glb())):
        OPENERS[opener](Media.from_bytes(data))


class _Memory:
    """The peak of memory, reset at the beginning; that of processes beside this one is looked at while they live."""

    def __init__(self) -> None:
        self.grown = 0
        self._before: dict[int, int] = {}
        self._peaks: dict[int, int] = {}

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        for pid in (os.getpid(), *_children()):
            with contextlib.suppress(OSError):
                (_PROC / str(pid) / "clear_refs").write_text("5")
                self._before[pid] = _status(pid, "VmRSS")
        over = threading.Event()
        looking = threading.Thread(target=self._look, args=(over,))
        looking.start()
        try:
            yield
        finally:
            over.set()
            looking.join()
        usual = max((size for pid, size in self._before.items() if pid != os.getpid()), default=0)
        self.grown = sum(max(0, peak - self._before.get(pid, usual)) for pid, peak in self._peaks.items())

    def _look(self, over: threading.Event) -> None:
        while True:
            last = over.wait(0.002)
            for pid in (os.getpid(), *_children()):
                with contextlib.suppress(OSError):
                    self._peaks[pid] = max(self._peaks.get(pid, 0), _status(pid, "VmHWM"))
            if last:
                return


def _children() -> list[int]:
    found = []
    for task in (_PROC / "self" / "task").iterdir():
        with contextlib.suppress(OSError):
            found += [int(pid) for pid in (task / "children").read_text().split()]
    return found


def _status(pid: int, key: str) -> int:
    for line in (_PROC / str(pid) / "status").read_text().splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"{pid} is no process any more")


if __name__ == "__main__":
    main(sys.argv[1:])

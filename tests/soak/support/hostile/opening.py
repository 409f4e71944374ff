"""Opens hostile files in this process, one after the other, and measures what each one
costs.

A process that is meant to be started for it: ``python -m tests.soak.support.hostile.opening
KIND...`` (all where none is named) prints a row of JSON for every file and opener."""

import contextlib
import json
import os
import resource
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from mmeval.errors import ContentError
from mmeval.media.decode import document_text
from mmeval.media.media import Media
from tests.soak.support.hostile.corpus import corpus
from tests.support import tiny_media as tiny
from tests.support.decoders import DECODERS

_PROC = Path("/proc")
_SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'
_APART = {
    "image": _SVG,
    "pages": tiny.pdf(),
    "document_text": tiny.pdf(),
    "mesh": tiny.glb(),
}


class Opened(NamedTuple):
    """``outcome`` is ``decoded`` or the error's type; ``busy`` are seconds of a
    processor, which other work on the machine does not lengthen; ``grown`` counts bytes
    above the memory held before, at the worst moment, of this process and of those that
    it has started."""

    name: str
    opener: str
    outcome: str
    message: str
    busy: float
    grown: int


OPENERS: Mapping[str, Callable[[Media], object]] = {
    **DECODERS,
    "document_text": document_text,
}


def main(kinds: list[str]) -> None:
    sound_media = [
        *(
            ("image", tiny.picture(form))
            for form in ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "AVIF")
        ),
        *(("audio", tiny.sound(form)) for form in ("WAV", "FLAC", "MP3")),
        *(
            (opener, tiny.clip(with_sound=True))
            for opener in ("video", "video_info", "audio")
        ),
    ]
    # what the libraries themselves weigh is not part of any file's cost
    for opener, data in sound_media:
        OPENERS[opener](Media.from_bytes(data))
    for case in corpus():
        if not kinds or case.name.partition(":")[0] in kinds:
            data = case.make()
            for opener in case.openers:
                print(json.dumps([case.name, opener]), flush=True)
                print(json.dumps(opened(case.name, opener, data)), flush=True)


def opened(name: str, opener: str, data: bytes) -> Opened:
    # the last file may have cost a process apart that knows its libraries
    if opener in _APART:
        for other, small in _APART.items():
            OPENERS[other](Media.from_bytes(small))
    busy, outcome, message = _busy(), "decoded", ""
    with _grown() as peaks:
        try:
            OPENERS[opener](Media.from_bytes(data, name))
        except ContentError as error:
            outcome, message = type(error).__name__, str(error)
        except Exception as error:
            outcome, message = f"untyped {type(error).__name__}", str(error)
        busy = _busy() - busy
    return Opened(name, opener, outcome, message, busy, sum(peaks.values()))


def _busy() -> float:
    """Seconds of a processor: this process's, those of its children that have ended,
    and of those that live."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = time.process_time() + ended.ru_utime + ended.ru_stime
    for pid in _children():
        with contextlib.suppress(OSError):
            fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
            found += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return found


@contextlib.contextmanager
def _grown() -> Iterator[dict[int, int]]:
    """By process, how much its memory grows in the block at most; that of children is
    read while they live."""
    before: dict[int, int] = {}
    grown: dict[int, int] = {}
    for pid in (os.getpid(), *_children()):
        with contextlib.suppress(OSError):
            (_PROC / str(pid) / "clear_refs").write_text("5")
            before[pid] = _status(pid, "VmRSS")
    usual = max((size for pid, size in before.items() if pid != os.getpid()), default=0)
    over = threading.Event()

    def watch() -> None:
        while True:
            last = over.wait(0.002)
            for pid in (os.getpid(), *_children()):
                with contextlib.suppress(OSError):
                    grown[pid] = max(
                        grown.get(pid, 0),
                        _status(pid, "VmHWM") - before.get(pid, usual),
                    )
            if last:
                return

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        yield grown
    finally:
        over.set()
        watching.join()


def _children() -> list[int]:
    found = []
    for task in (_PROC / "self" / "task").iterdir():
        with contextlib.suppress(OSError):
            found += [int(pid) for pid in (task / "children").read_text().split()]
    return found


def _status(pid: int, key: str) -> int:
    text = (_PROC / str(pid) / "status").read_text()
    return (
        int(text.partition(f"\n{key}:")[2].split()[0]) * 1024
        if f"\n{key}:" in text
        else 0
    )


if __name__ == "__main__":
    main(sys.argv[1:])

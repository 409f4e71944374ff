"""What a command writes, in words that are the same at every time and place, for the
snapshots of tests/stories/words.

A case is a command in an empty folder with some files. What differs from one run to the
next (places, times, versions, ports, digests, free space) is replaced by a word in
capitals.
"""

import re
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from mmeval import __version__
from tests.support.cli import ROOT, environment, mmeval, share_scans
from tests.support.mock_openai_server import MockServer

DATA = "".join(
    f'{{"id": "{i}", "input": "question {i}", "reference": "answer {i}"}}\n'
    for i in range(3)
)
TASK = (
    "task: t\ndataset_path: rows\nmetric_list: [{metric: exact_match}]\nmetadata: "
    "{version: 1}\n"
)
"""Four lines, so that what a case adds begins in line 5."""
TINY: Mapping[str, str | bytes] = {"t.yaml": TASK, "rows/test.jsonl": DATA}
RUN = "run --tasks t.yaml --model reference --output_path runs --score_workers 0"


def listed(text: str) -> tuple[str, ...]:
    """The words between bars and ends of lines."""
    return tuple(
        part.strip() for line in text.strip().splitlines() for part in line.split(" | ")
    )


class Case(NamedTuple):
    """A command in a folder of ``files``. Those in ``before`` come first and are not
    shown; ``meanwhile`` changes the folder after them. With a ``server``, URL in the
    words is the address of a mock server with these settings."""

    command: str
    files: Mapping[str, str | bytes] = TINY
    before: tuple[str, ...] = ()
    meanwhile: Callable[[Path], object] = lambda folder: None
    env: Mapping[str, str] = {}
    server: Mapping[str, Any] | None = None


def shown(case: Case, folder: Path) -> str:
    """What a case writes, results before the log, and its exit code."""
    for name, content in case.files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    if case.server is None:
        return _shown(case, folder, "URL")
    with MockServer(**case.server) as server:
        return _shown(case, folder, server.url)


def _shown(case: Case, folder: Path, url: str) -> str:
    home = {
        "HOME": "/nowhere",
        "HF_HOME": "/nowhere/hub",
        "MMEVAL_CACHE_DIR": str(folder / "cache"),
    }
    env = {
        name: value
        for name, value in environment(**{**home, **case.env}).items()
        if value
    }
    share_scans(folder / "cache")
    # the library reads it once, when it is imported
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(
            "huggingface_hub.constants.HF_HUB_OFFLINE", "HF_HUB_OFFLINE" in env
        )
        for words in case.before:
            mmeval(*shlex.split(words.replace("URL", url)), env=env, cwd=folder)
        case.meanwhile(folder)
        done = mmeval(
            *shlex.split(case.command.replace("URL", url)), env=env, cwd=folder
        )
    written = _plain(done.out + done.err, folder, url)
    return (
        f"{_joined(written) if '--help' in case.command else written}[exit {done.code}]"
    )


def _plain(written: str, folder: Path, url: str) -> str:
    for found, word in (
        (url, "URL"),
        (str(folder), "FOLDER"),
        (str(ROOT), "REPO"),
        (__version__, "VERSION"),
    ):
        written = written.replace(found, word)
    for pattern, word in _CHANGING:
        written = pattern.sub(word, written)
    return written


_CHANGING = tuple(
    (re.compile(pattern, re.MULTILINE), word)
    for pattern, word in (
        # the head of a line of the log
        (r"^\d{4}-\d\d-\d\d:\d\d:\d\d:\d\d (\w+) +", r"\1 "),
        (r"\d{4}-\d\d-\d\d[T ]\d\d[:-]\d\d[:-]\d\d(\.\d+)?", "TIME"),
        (r"127\.0\.0\.1:\d+", "HOST"),
        (r"(?<![.\w])(?=[0-9a-f]*\d)(?=[0-9]*[a-f])[0-9a-f]{12,64}\b", "DIGEST"),
        (r"\(pid \d+\)", "(pid PID)"),
        (r"\d[\d.,]* [KMGT]i?B (free|of memory)", r"SPACE \1"),
        (r"(?<= )\d+\.\d+ s(econds)?\b", "SECONDS"),
    )
)


def _joined(text: str) -> str:
    """A help, whatever the width of the terminal and the version of Python: one line
    for each flag."""
    text = re.sub(r"\n {6,}(?=\S)", " ", text)
    text = re.sub(r"(?<=\S) {2,}", " ", text)
    return re.sub(r"^(  -\w) [^\n]+?, (--\w+)", r"\1, \2", text, flags=re.MULTILINE)

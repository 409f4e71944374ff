"""The fenced blocks of a page of documentation, followed as a reader would: in their order, in one empty folder.

| block                   | what happens to it                                                              |
|-------------------------|---------------------------------------------------------------------------------|
| `console`               | each ``$ command`` is run; what follows it is compared with what it prints      |
| `python`                | run as a script; it must end without an exception                               |
| `yaml`                  | a task file, a group file, or keys of one: read by the parser of task files     |
| `yaml wrong`            | the same; the parser must refuse it                                             |
| `yaml config`           | a file for ``--config``: read by the parser of those                            |
| any, with `file=NAME`   | written to that file, for the blocks that follow                                |
| any, with `no-run`      | left alone                                                                      |

A ``pyproject.toml`` registers its entry points, as installing it would. A line ``...`` stands for any lines but
``[exit N]``, which is shown for an exit code other than 0. Times, seconds (``in 3.1 s``), hashes and line numbers of
log lines differ from run to run and are not compared. ``http://localhost:8000/v1`` is the mock server.
The embedded model is made already, as it is for a reader who has run the demo.
"""

from __future__ import annotations

import difflib
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mmeval.cli.flags import FLAGS
from mmeval.cli.settings import read_config
from mmeval.errors import TaskFileError
from mmeval.taskfile import parse_group, parse_task
from mmeval.taskyaml import Document, read_document
from tests.support.embedded import embedded_cache

SERVER = "http://localhost:8000/v1"
_LEFT_OUT = r"(?:(?!\[exit ).*\n)*?"
_ASKS_TINY = re.compile(r"pretrained=tiny(?![-\w])")
_FENCE = re.compile(r"^```(\S*) *(.*)$")
_VARYING = (
    (re.compile(r"\d{4}-\d\d-\d\d[T: ]\d\d[:-]\d\d[:-]\d\d(\.\d+)?"), "TIME"),
    (re.compile(r"\[\w+:\d+\]"), "[MODULE]"),
    (re.compile(r"\b[0-9a-f]{64}\b|\b[0-9a-f]{12}\b"), "HASH"),
    (re.compile(r"\bin \d+(\.\d)? s\b"), "in SECONDS"),
)


@dataclass(frozen=True)
class Block:
    """One fenced block; ``line`` is that of its first line of content, counted from 1."""

    page: Path
    line: int
    language: str
    words: tuple[str, ...]
    text: str

    @property
    def file(self) -> str:
        return next((word.removeprefix("file=") for word in self.words if word.startswith("file=")), "")

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"


@dataclass(frozen=True)
class Command:
    """One command of a console block, and what it is shown to print."""

    text: str
    output: str


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page."""
    opening: re.Match[str] | None = None
    content: list[str] = []
    for number, line in enumerate(page.read_text().splitlines(), start=1):
        fence = _FENCE.match(line)
        if opening is None:
            opening, content = fence, []
        elif line == "```":
            text = "".join(f"{item}\n" for item in content)
            yield Block(page, number - len(content), opening[1], tuple(opening[2].split()), text)
            opening = None
        else:
            content.append(line)
    assert opening is None, f"{page.name}: a block is not closed"


def commands(text: str) -> Iterator[Command]:
    """The commands of a console block; a backslash at the end of a line continues the command."""
    command: list[str] = []
    output: list[str] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            if command:
                yield Command("\n".join(command), _lines(output))
            command, output = [line[2:]], []
        elif command and not output and command[-1].endswith("\\"):
            command.append(line)
        else:
            output.append(line)
    if command:
        yield Command("\n".join(command), _lines(output))


class Reader:
    """Follows blocks in a folder; ``server`` is where the mock server is."""

    def __init__(self, folder: Path, server: str) -> None:
        self._folder, self._server = folder, server

    def follow(self, block: Block) -> None:
        """Raises AssertionError that shows what the page says and what happened."""
        if "no-run" in block.words:
            return
        if block.file:
            self._write(block)
        if block.language == "yaml":
            _check_as_shown(block, self._folder)
        elif block.language == "console":
            for command in commands(block.text):
                self._compare(block, command)
        elif block.language == "python" and not block.file:
            done = self._run([sys.executable, "-c", block.text])
            assert done.returncode == 0, f"{block}:\n{done.stdout}"

    def printed(self, command: Command) -> str:
        """What a command prints, the exit code included where it is not 0."""
        done = self._run(["bash", "-c", command.text.replace(SERVER, self._server)])
        code = f"[exit {done.returncode}]\n" if done.returncode else ""
        return _lines((done.stdout.replace(self._server, SERVER) + code).splitlines())

    def _write(self, block: Block) -> None:
        path = self._folder / block.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text)
        if path.name == "pyproject.toml":
            _register(tomllib.loads(block.text)["project"], path.parent)

    def _compare(self, block: Block, command: Command) -> None:
        found = self.printed(command)
        if not matches(command.output, found):
            shown = difflib.unified_diff(command.output.splitlines(), found.splitlines(), "shown", "found", lineterm="")
            raise AssertionError(f"{block}: $ {command.text}\n" + "\n".join(shown))

    def _run(self, words: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words,
            cwd=self._folder,
            env=_environment(self._folder) | (_with_tiny() if _ASKS_TINY.search(words[-1]) else {}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )


def matches(shown: str, found: str) -> bool:
    """Whether a page shows what was printed, as far as that is the same from run to run."""
    lines = [_LEFT_OUT if line == "..." else re.escape(f"{line}\n") for line in _steady(shown).splitlines()]
    return re.fullmatch("".join(lines), _steady(found)) is not None


def _check_as_shown(block: Block, folder: Path) -> None:
    try:
        check_yaml(block, folder)
    except TaskFileError:
        if "wrong" in block.words:
            return
        raise
    assert "wrong" not in block.words, f"{block}: is shown as wrong, and the parser takes it"


def check_yaml(block: Block, folder: Path) -> None:
    """Read the block as what it is. Raises TaskFileError for what the parser refuses."""
    file = folder / (block.file or ".example.yaml")
    file.write_text(block.text)
    if "config" in block.words:
        read_config(file, [flag.name for flag in FLAGS])
        return
    document = read_document(file).without("include")
    if {"group", "aggregate_metric_list"} & document.data.keys():
        parse_group(_completed(document, {"group": "example", "task": ["a"]}))
    else:
        parse_task(_completed(document, {"task": "example", "metadata": {"version": 1}}))


def _completed(document: Document, needed: dict[str, object]) -> Document:
    return document.over(Document(document.file, needed))


def _steady(text: str) -> str:
    for pattern, word in _VARYING:
        text = pattern.sub(word, text)
    return text


def _lines(lines: list[str]) -> str:
    """Lines without blanks at their ends and without empty lines around them."""
    text = "\n".join(line.rstrip() for line in lines).strip("\n")
    return f"{text}\n" if text else ""


def _environment(folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name in ("LANG", "LC_ALL", "TMPDIR")}
    return {
        **kept,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
        "PYTHONPATH": str(folder),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": str(folder),
        "HF_HUB_OFFLINE": "1",
        "COLUMNS": "100",
    }


def _with_tiny() -> dict[str, str]:
    return {"MMEVAL_CACHE_DIR": str(embedded_cache())}


def _register(project: dict[str, object], folder: Path) -> None:
    """The metadata that an installation of the project would leave, where Python looks for it."""
    name, groups = str(project["name"]), project["entry-points"]
    assert isinstance(groups, dict)
    info = folder / f"{name}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {project['version']}\n")
    lines = [f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in found.items()) for group, found in groups.items()]
    (info / "entry_points.txt").write_text("\n".join(lines))

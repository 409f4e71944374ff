"""The fenced blocks of a page of documentation, followed as a reader would: in their
order, in one empty folder.

| block                   | what happens to it                                                              |
|-------------------------|---------------------------------------------------------------------------------|
| `console`               | each ``$ command`` is run; what follows it is compared with what it prints      |
| `python`                | run as a script; it must end without an exception                               |
| `yaml`                  | a task file, a group file, or keys of one: read by the parser of task files     |
| `yaml wrong`            | the same; the parser must refuse it                                             |
| `yaml config`           | a file for ``--config``: read by the parser of those                            |
| any, with `file=NAME`   | written to that file, for the blocks that follow                                |
| any, with `run-by=TEST` | left to that test, which takes the commands from the page (``blocks_run_by``)   |

A line ``...`` stands for any lines but ``[exit N]``, which is shown for an exit code
other than 0. A line that ends with `` ...`` may go on in any way. Where a line ``^C`` is shown, the command is interrupted once it has
printed what stands before and its requests are under way. Times, seconds (``3.1 s``),
hashes and line numbers of log lines differ from run to run and are not compared.
``http://localhost:8000/v1`` is the mock server, ``http://localhost:8001/v1`` one that
holds its answers, ``vllm`` on the PATH a stand-in. The embedded model is made already,
as it is for a reader who has run the demo."""

import difflib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from mmeval.errors import TaskFileError
from mmeval.settings.flags import FLAGS
from mmeval.settings.models import read_models
from mmeval.settings.resolve import read_config
from mmeval.system.yaml_document import Document, read_document
from mmeval.task.file import parse_group, parse_task
from tests.soak.support.fresh_environment import OFFLINE_PIP
from tests.support.backend_runs import program
from tests.support.cli import DEADLINE, wait_for
from tests.support.mock_openai_server import MockServer
from tests.support.models import embedded_cache

ROOT = Path(__file__).resolve().parents[3]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
"""Every page whose commands are run."""

SERVER = "http://localhost:8000/v1"
SLOW_SERVER = "http://localhost:8001/v1"
_LEFT_OUT = r"(?:(?!\[exit ).*\n)*?"
_ASKS_TINY = re.compile(r"pretrained=tiny(?![-\w])")
_FENCE = re.compile(r"^```(\S*) *(.*)$")
_VARYING = (
    (re.compile(r"\d{4}-\d\d-\d\d[T: ]\d\d[:-]\d\d[:-]\d\d(\.\d+)?"), "TIME"),
    (re.compile(r"\[\w+:\d+\]"), "[MODULE]"),
    (re.compile(r"\b[0-9a-f]{64}\b|\b[0-9a-f]{12}\b"), "HASH"),
    (re.compile(r"\b\d+(\.\d)? s\b"), "SECONDS"),
)


@dataclass(frozen=True)
class Block:
    """One fenced block; ``line`` is that of its first line of content, counted from
    1."""

    page: Path
    line: int
    language: str
    words: tuple[str, ...]
    text: str

    @property
    def file(self) -> str:
        return self._word("file=")

    @property
    def run_by(self) -> str:
        """Who runs the block in place of the reader: ``tests/path.py::test_name``, or a
        script with its commands."""
        return self._word("run-by=")

    def _word(self, prefix: str) -> str:
        return next(
            (
                word.removeprefix(prefix)
                for word in self.words
                if word.startswith(prefix)
            ),
            "",
        )

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
            yield Block(
                page, number - len(content), opening[1], tuple(opening[2].split()), text
            )
            opening = None
        else:
            content.append(line)
    assert opening is None, f"{page.name}: a block is not closed"


def commands(text: str) -> Iterator[Command]:
    """The commands of a console block; a backslash at the end of a line continues the
    command."""
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


def blocks_run_by(test: str) -> list[Block]:
    """The blocks of all pages that name this test (``tests/path.py::test_name``) as the
    one that runs them.

    Fails when there are none: a page that changed must not leave its test without work.
    """
    found = [
        block
        for page in PAGES
        if page.is_file()
        for block in blocks(page)
        if block.run_by == test
    ]
    assert found, f"no page has a block with run-by={test}"
    return found


def said_in_passing(beginning: str) -> list[str]:
    """The commands between backticks in the sentences of all pages that begin so, each
    once, in their order."""
    found: dict[str, None] = {}
    for page in PAGES:
        text = re.sub(
            r"^```.*?^```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE
        )
        found |= dict.fromkeys(
            re.findall(rf"(?<!`)`({re.escape(beginning)}[^`\n]*)`", text)
        )
    return list(found)


def installs(page: Path) -> bool:
    """Whether a reader of the page installs something."""
    return any(
        "$ pip install" in block.text for block in blocks(page) if not block.run_by
    )


class Reader:
    """Follows blocks in a folder, with the commands of ``python``'s environment.

    Two servers are there: ``server`` answers at once, ``slow`` answers once a command
    that waits for it is stopped.
    """

    def __init__(
        self,
        folder: Path,
        server: MockServer,
        slow: MockServer | None = None,
        python: Path = Path(sys.executable),
    ) -> None:
        self._folder, self._slow, self._python = folder, slow, python
        self._programs = program(folder / ".programs").parent
        self._addresses = {SERVER: server.url} | (
            {SLOW_SERVER: slow.url} if slow else {}
        )

    def follow(self, block: Block) -> None:
        """Raises AssertionError that shows what the page says and what happened."""
        if block.run_by:
            return
        if block.file:
            # a file may name a server too; a command's words are replaced when it runs
            block = replace(block, text=self._here(block.text))
            self._write(block)
        if block.language == "yaml":
            check_yaml(block, self._folder)
        elif block.language == "console":
            for command in commands(block.text):
                self._compare(block, command)
        elif block.language == "python" and not block.file:
            code, printed = self._run([str(self._python), "-c", block.text])
            assert code == 0, f"{block}:\n{printed}"

    def printed(self, command: Command) -> str:
        """What a command prints, the exit code included where it is not 0."""
        words = ["bash", "-c", self._here(command.text)]
        before, interrupted, _ = command.output.partition("^C\n")
        code, printed = (
            self._stopped(words, before) if interrupted else self._run(words)
        )
        for shown, real in self._addresses.items():
            printed = printed.replace(real, shown)
        return _lines([*printed.splitlines(), *([f"[exit {code}]"] if code else [])])

    def _here(self, text: str) -> str:
        for shown, real in self._addresses.items():
            text = text.replace(shown, real)
        return text

    def _write(self, block: Block) -> None:
        path = self._folder / block.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text)

    def _compare(self, block: Block, command: Command) -> None:
        found = self.printed(command)
        if not matches(command.output, found):
            shown = difflib.unified_diff(
                command.output.splitlines(),
                found.splitlines(),
                "shown",
                "found",
                lineterm="",
            )
            raise AssertionError(f"{block}: $ {command.text}\n" + "\n".join(shown))

    def _run(self, words: list[str]) -> tuple[int, str]:
        with self._started(words) as process:
            printed, _ = process.communicate(timeout=DEADLINE)
        return process.returncode, printed

    def _stopped(self, words: list[str], before: str) -> tuple[int, str]:
        """The same for a command that is interrupted, as Ctrl-C does, once it has
        printed ``before``."""
        with self._started(words) as process:
            assert process.stdout is not None
            printed = ""
            while not matches(before, printed) and (line := process.stdout.readline()):
                printed += line
            slow, sent = self._slow, re.search(r"--max_connections (\d+)", words[-1])
            assert slow and sent
            wait_for(
                lambda: slow.state.in_flight == int(sent[1]),
                "all requests that are sent at once",
            )
            os.killpg(process.pid, signal.SIGINT)
            stopping = process.stdout.readline()
            slow.let_go()
            rest, _ = process.communicate(timeout=DEADLINE)
        return process.returncode, f"{printed}^C\n{stopping}{rest}"

    def _started(self, words: list[str]) -> subprocess.Popen[str]:
        tiny = (
            {"MMEVAL_CACHE_DIR": str(embedded_cache())}
            if _ASKS_TINY.search(words[-1])
            else {}
        )
        return subprocess.Popen(
            words,
            cwd=self._folder,
            env=self._environment() | tiny,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def _environment(self) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if name in ("LANG", "LC_ALL", "TMPDIR")
        }
        return {
            **kept,
            **OFFLINE_PIP,
            # the stand-in server reads no media, and a handshake would find out
            "MMEVAL_PROBE": "false",
            "PATH": os.pathsep.join(
                (
                    str(self._programs),
                    str(self._python.parent),
                    os.environ.get("PATH", ""),
                )
            ),
            "PYTHONPATH": str(self._folder),
            "PYTHONDONTWRITEBYTECODE": "1",
            "HOME": str(self._folder),
            "HF_HUB_OFFLINE": "1",
            "COLUMNS": "100",
        }


def matches(shown: str, found: str) -> bool:
    """Whether a page shows what was printed, as far as that is the same from run to
    run."""
    pattern = ""
    for line in _steady(shown).splitlines():
        if line == "...":
            pattern += _LEFT_OUT
        elif line.endswith(" ..."):
            pattern += re.escape(line.removesuffix(" ...")) + ".*\n"
        else:
            pattern += re.escape(f"{line}\n")
    return re.fullmatch(pattern, _steady(found)) is not None


def check_yaml(block: Block, folder: Path) -> None:
    """Read the block as what it is. Raises TaskFileError for what the parser refuses,
    unless it is shown as wrong."""
    file = folder / (block.file or ".example.yaml")
    file.write_text(block.text)
    try:
        if "config" in block.words:
            if read_models(file) is None:
                read_config(file, [flag.name for flag in FLAGS])
            return
        document = read_document(file).without("include")
        if {"group", "aggregate_metric_list"} & document.data.keys():
            parse_group(
                document.over(Document(file, {"group": "example", "task": ["a"]}))
            )
        else:
            parse_task(
                document.over(
                    Document(file, {"task": "example", "metadata": {"version": 1}})
                )
            )
    except TaskFileError:
        if "wrong" in block.words:
            return
        raise
    assert "wrong" not in block.words, (
        f"{block}: is shown as wrong, and the parser takes it"
    )


def _steady(text: str) -> str:
    for pattern, word in _VARYING:
        text = pattern.sub(word, text)
    return text


def _lines(lines: list[str]) -> str:
    """Lines without blanks at their ends and without empty lines around them."""
    text = "\n".join(line.rstrip() for line in lines).strip("\n")
    return f"{text}\n" if text else ""

"""Every command of the pages is run: by the reader of the examples, or by the test or script that its block names."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mmeval.cli.verbs import VERBS
from tests.support.doc_examples import PAGES, ROOT, Block, blocks, commands, said_in_passing

LEFT = [block for page in PAGES for block in blocks(page) if block.run_by]
"""The blocks that the reader leaves to somebody else."""

SHELL = {"bash", "sh", "shell", "shell-session"}


def test_a_command_stands_in_a_block_that_is_run() -> None:
    """A block of a shell language would be shown and not run; ``console`` is what the reader knows."""
    assert [str(block) for page in PAGES for block in blocks(page) if block.language in SHELL] == []
    assert [str(block) for page in PAGES for block in blocks(page) if "no-run" in block.words] == []


def test_a_block_without_a_language_holds_no_command() -> None:
    plain = [block for page in PAGES for block in blocks(page) if not block.language]

    assert [str(block) for block in plain if re.search(r"^\s*\$ ", block.text, re.MULTILINE)] == []


RUN_BY_MAKE = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
OF_ALL_BLOCKS = "".join(block.text for page in PAGES for block in blocks(page) if block.language == "console")
NO_COMMANDS = {"python -m mmeval", "python -m mmeval VERB FLAGS", "python -c pass", "bash .ci/run"}
"""How mmeval is called, what a figure is measured against, and the script that runs all of this."""


@pytest.mark.parametrize("beginning", ["python ", "bash ", "git ", "pytest ", "apt"])
def test_a_command_in_a_sentence_stands_in_a_block_too(beginning: str) -> None:
    """Nobody runs a sentence. ``mmeval`` and ``pip install -e`` in sentences have tests of their own."""
    said = set(said_in_passing(beginning)) - NO_COMMANDS

    assert [command for command in said if f"$ {command}\n" not in OF_ALL_BLOCKS] == []


def test_a_sentence_names_a_target_of_make_that_is_there() -> None:
    said = {command.split()[1] for command in said_in_passing("make ")}

    assert {"demo", "docs"} <= said <= RUN_BY_MAKE


LISTING = [line for line in said_in_passing("mmeval ") if re.match(r"mmeval (ls [a-z]|--help|--version)", line)]


@pytest.mark.parametrize("command", said_in_passing("mmeval "))
def test_a_sentence_names_a_verb_that_is_there(command: str) -> None:
    word = command.split()[1]

    assert word in VERBS or word == "VERB" or word.startswith("-")


@pytest.mark.parametrize("command", LISTING)
def test_a_command_in_a_sentence_that_shows_something_shows_it(command: str, tmp_path: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m {command}"], cwd=tmp_path, capture_output=True, text=True
    )

    assert (done.returncode, done.stderr, bool(done.stdout)) == (0, "", True)


@pytest.mark.parametrize("block", LEFT, ids=str)
def test_who_is_named_by_a_block_runs_it(block: Block) -> None:
    name, _, test = block.run_by.partition("::")
    file = ROOT / name

    assert file.is_file(), f"{block}: there is no {name}"
    if test:
        assert takes_from_the_page(file, test), f"{block}: {block.run_by} does not read the block"
    else:
        missing = {command.text for command in commands(block.text)} - commands_of_script(file)
        assert missing == set(), f"{block}: {name} does not run {missing}"


def takes_from_the_page(file: Path, test: str) -> bool:
    """Whether a test of that name is there, and its file asks for the blocks that are left to it."""
    tree = ast.parse(file.read_text())
    functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    calls = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    words = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return test in functions and "blocks_run_by" in calls and any(test in word for word in words)


def commands_of_script(file: Path) -> set[str]:
    """The lines of a shell script as commands, without variables that are set for one of them and without remarks."""
    lines = (re.sub(r"^(?:\w+=(?:\"[^\"]*\"|\S*) +)*", "", line.strip()) for line in file.read_text().splitlines())
    return {line.partition("  #")[0].strip() for line in lines}


def test_a_script_that_does_not_run_a_command_is_found_out(tmp_path: Path) -> None:
    script = tmp_path / "run"
    script.write_text('TESTS="-k a b" make check  # a part\n# make test\n')

    assert commands_of_script(script) >= {"make check"}
    assert "make test" not in commands_of_script(script)


def test_a_test_that_knows_the_commands_by_heart_is_found_out(tmp_path: Path) -> None:
    test = tmp_path / "test_x.py"
    test.write_text("def test_demo() -> None:\n    run('make demo')\n")

    assert not takes_from_the_page(test, "test_demo")

"""Every command of the pages is run: by the reader of the examples, or by the test or
script that its block names."""

import re
from pathlib import Path

import pytest

from mmeval.cli.verbs import VERBS
from tests.soak.support.doc_examples import (
    PAGES,
    ROOT,
    Block,
    blocks,
    commands,
    said_in_passing,
)

ALL = [block for page in PAGES for block in blocks(page)]
SHELL = {"bash", "sh", "shell", "shell-session"}
NO_COMMANDS = {
    "python -m mmeval",
    "python -m mmeval VERB FLAGS",
    "python -c pass",
    "bash .ci/run",
}
"""How mmeval is called, what a figure is measured against, and the script that runs all
of this."""


def test_a_command_stands_in_a_block_that_is_run() -> None:
    """A block of a shell language would be shown and not run; ``console`` is what the
    reader knows."""
    assert [
        str(block)
        for block in ALL
        if block.language in SHELL or "no-run" in block.words
    ] == []
    assert [
        str(block)
        for block in ALL
        if not block.language and re.search(r"^\s*\$ ", block.text, re.MULTILINE)
    ] == []


def test_a_command_in_a_sentence_stands_in_a_block_too() -> None:
    """``mmeval`` and ``pip install -e`` in sentences have tests of their own."""
    run = "".join(block.text for block in ALL if block.language == "console")
    said = {
        command
        for beginning in ("python ", "bash ", "git ", "pytest ", "apt")
        for command in said_in_passing(beginning)
    }
    assert [
        command for command in said - NO_COMMANDS if f"$ {command}\n" not in run
    ] == []


def test_a_sentence_names_a_target_of_make_and_a_verb_that_are_there() -> None:
    targets = set(
        re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    )
    verbs = {command.split()[1] for command in said_in_passing("mmeval ")}
    known = {verb.split()[0] for verb in VERBS}
    assert {command.split()[1] for command in said_in_passing("make ")} <= targets
    assert {verb for verb in verbs if not verb.startswith("-")} <= {*known, "VERB"}


@pytest.mark.parametrize("block", [block for block in ALL if block.run_by], ids=str)
def test_the_test_or_script_that_a_block_names_runs_it(block: Block) -> None:
    name, _, test = block.run_by.partition("::")
    if test:
        assert takes_from_the_page(ROOT / name, test)
    else:
        assert {command.text for command in commands(block.text)} <= commands_of_script(
            ROOT / name
        )


def takes_from_the_page(file: Path, test: str) -> bool:
    """Whether a test of that name is there, and its file asks for the blocks that are
    left to it."""
    text = file.read_text()
    return f"def {test}(" in text and "blocks_run_by(" in text


def commands_of_script(file: Path) -> set[str]:
    """The lines of a shell script as commands, without variables that are set for one
    of them and without remarks."""
    lines = (
        re.sub(r"^(?:\w+=(?:\"[^\"]*\"|\S*) +)*", "", line.strip())
        for line in file.read_text().splitlines()
    )
    return {line.partition("  #")[0].strip() for line in lines}

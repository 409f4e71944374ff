import json
import re
import shlex
from pathlib import Path

import pytest

from mmeval.authoring.testing.checks import CHECKS
from mmeval.cli.components.backend import DUTIES
from tests.support.backend_runs import bad_command, own_worker
from tests.support.cli import ROOT, Ended, mmeval


def checked(command: list[str], *flags: str) -> Ended:
    return mmeval(
        "try",
        "backend",
        "process",
        "--model_args",
        f'command="{shlex.join(command)}"',
        *flags,
    )


def test_each_check_has_a_line_for_each_combination_of_kinds(tmp_path: Path) -> None:
    ended = checked(
        ["python3", str(own_worker(tmp_path))],
        "--wants",
        "text",
        "--wants",
        "text+image",
    )
    *lines, last = ended.out.splitlines()
    assert (ended.code, last) == (0, "checks that hold: 14 of 14")
    assert [line.split()[1:] for line in lines] == [
        [c, w] for w in ("text", "text+image") for c in CHECKS
    ]


def test_a_check_that_fails_says_what_does_not_hold_and_where_that_is_written(
    tmp_path: Path,
) -> None:
    ended = checked(
        bad_command("none", tmp_path), "--wants", "text", "--skip", "seeds", "--json"
    )
    found = json.loads(ended.out)
    faults = {row["check"]: row["fault"] for row in found["checks"] if row["fault"]}
    assert (ended.code, found["holds"], found["skipped"]) == (3, False, ["seeds"])
    assert "image, which was not requested" in faults["kinds"]
    assert [row["docs"] for row in found["checks"] if row["check"] == "refusals"] == [
        "docs/writing-a-backend.md#errors"
    ]


def test_every_check_names_a_section_that_there_is() -> None:
    page = (ROOT / "docs" / "writing-a-backend.md").read_text("utf-8")
    headings = {
        title.lower().replace(" ", "-")
        for title in re.findall(r"^##+ (.+)$", page, re.MULTILINE)
    }
    assert (DUTIES.keys(), set(DUTIES.values()) - headings) == (CHECKS.keys(), set())


@pytest.mark.parametrize(
    ("fault", "flags", "code", "words"),
    [
        ("load fails", (), 4, "no room for the weights"),
        ("no-such-fault", ("--skip", "seed"), 2, 'did you mean "seeds"'),
        ("none", ("--wants", "text+video"), 2, "output kinds are text, image, code"),
    ],
)
def test_what_cannot_be_checked_is_an_error(
    fault: str, flags: tuple[str, ...], code: int, words: str, tmp_path: Path
) -> None:
    ended = checked(bad_command(fault, tmp_path), *flags)
    assert (ended.code, words in ended.error) == (code, True), ended.err


@pytest.mark.parametrize("flag", [("--wants", "text"), ("--skip", "seeds")], ids=str)
def test_flags_of_batches_are_refused_for_other_backends(flag: tuple[str, str]) -> None:
    assert mmeval("try", "backend", "empty", *flag).code == 2

import builtins
import json
import subprocess
from pathlib import Path

import pytest

from scripts.mutants import Fault, drawn, faults_of, main, with_fault, with_probes
from tests.support.task_folder import write_files

SOURCE = b'''"""A module."""

LIMIT = 3


def count(items, most=LIMIT):
    found = 0
    for item in items:
        if item < most and not item == 1:
            items.sort()
            continue
        found += 1
    return f"{found + 1}", found * 2.5, True
'''


def changed(fault: Fault) -> str:
    return with_fault(SOURCE, fault).decode().splitlines()[fault.line - 1].strip()


def test_every_kind_of_fault_is_found_where_it_can_be_made() -> None:
    found = {(fault.kind, changed(fault)) for fault in faults_of(SOURCE, "a.py")}

    assert found == {
        ("number", "LIMIT = 4"),
        ("number", "found = 1"),
        ("condition", "if not (item < most and not item == 1):"),
        ("logic", "if (item < most) or (not item == 1):"),
        ("comparison", "if (item) <= (most) and not item == 1:"),
        ("negation", "if item < most and bool(item == 1):"),
        ("comparison", "if item < most and not (item) != (1):"),
        ("number", "if item < most and not item == 2:"),
        ("lost call", "None"),
        ("loop", "break"),
        ("number", "found += 2"),
        ("arithmetic", 'return f"{found + 1}", (found) / (2.5), True'),
        ("number", 'return f"{found + 1}", found * 3.5, True'),
        ("truth value", 'return f"{found + 1}", found * 2.5, False'),
    }


def test_a_probe_stands_at_each_fault_and_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    faults = dict(enumerate(faults_of(SOURCE, "a.py")))
    reached: set[int] = set()
    monkeypatch.setattr(builtins, "__probe__", reached.add, raising=False)
    module: dict[str, object] = {}

    exec(compile(with_probes(SOURCE, faults), "a.py", "exec"), module)
    at_import = set(reached)
    count = module["count"]
    assert callable(count)

    assert at_import == set()
    assert count([5, 4]) == ("3", 5.0, True)
    assert {"lost call", "loop", "negation"} <= {
        faults[number].kind for number in faults.keys() - reached
    }
    assert count([0]) == ("1", 0.0, True)
    assert faults.keys() == reached


def test_the_same_seed_draws_the_same_faults_of_the_product(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["draw", "3", "--seed", "5"]) == 0
    printed = [
        Fault(**json.loads(line)) for line in capsys.readouterr().out.splitlines()
    ]
    assert printed == drawn(3, 5)
    assert len(printed) == 3


SIGN = "def sign(number):\n    if number < 0:\n        return -1\n    return 1\n"
TREE = {
    "pyproject.toml": '[project]\nname = "signs"\nversion = "1"\n[tool.setuptools]\n'
    'packages = ["signs"]\n',
    "signs/__init__.py": "",
    "signs/sign.py": SIGN,
    "tests/signs/test_sign.py": "from signs.sign import sign\n\ndef test_signs():\n   "
    " assert sign(-5) < 0 < sign(5)\n",
}


def test_a_run_tells_a_fault_that_a_test_notices_from_one_that_none_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # the tests inside have workers of their own
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    tree, file = write_files(tmp_path / "tree", TREE), tmp_path / "faults.jsonl"
    for words in (
        "init -q",
        "add -A",
        "-c user.name=me -c user.email=me@localhost commit -q -m signs",
    ):
        subprocess.run(["git", *words.split()], cwd=tree, check=True)
    faults = [
        fault
        for fault in faults_of(SIGN.encode(), "signs/sign.py")
        if fault.kind in ("comparison", "condition")
    ]
    file.write_text("".join(json.dumps(fault._asdict()) + "\n" for fault in faults))

    assert (
        main(
            [
                "run",
                str(file),
                "--tree",
                str(tree),
                "--work",
                str(tmp_path / "work"),
                "--jobs",
                "1",
            ]
        )
        == 0
    )
    verdicts = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    found = {
        verdict["fault"].rpartition(" ")[2]: (verdict["killed"], verdict["by"])
        for verdict in verdicts
    }
    assert found == {
        "comparison": (False, ""),
        "condition": (True, "tests/signs/test_sign.py::test_signs"),
    }

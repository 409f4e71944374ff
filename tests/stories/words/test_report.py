from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.support.stored_runs import WrittenTrial, text, write_run
from tests.support.words import RUN, Case, shown

FOLDER = Path("runs/teller/default")
SLICES = [
    {
        "task": "told",
        "metric": "right",
        "value": 0.5,
        "n": 1,
        "scored": 1,
        "slice": name,
    }
    for name in ("", "level=easy", "level=hard")
]


def told(folder: Path) -> None:
    """A run with numbers, and one that lacks something of each kind that a report can
    lack."""
    trials = [WrittenTrial([text("a")], [text("b")])]
    write_run(folder / FOLDER, trials, results={"results": SLICES})
    write_run(
        folder / "damaged", [WrittenTrial([text("a")], [{"no": "type"}])], results={}
    )
    write_run(folder / "cut", [])
    lost: list[dict[str, Any]] = [
        {"inapplicable": 9, "unsupported": 1},
        {"suspended": True, "unscored": 4, "failed": 6},
    ]
    noted = [
        {**SLICES[0], "n": 10, "scored": 0, "value": None, **counts} for counts in lost
    ]
    write_run(
        folder / "noted",
        [],
        results={"results": noted, "unfinished": {"told": {"made": 10, "of": 20}}},
    )
    write_run(folder / "empty", [], results={"results": []})
    many = [{**SLICES[0], "slice": f"label={at}"} for at in range(61)]
    write_run(folder / "many", [], results={"results": many})


CASES = {
    **{
        words: Case(f"report {words}", meanwhile=told)
        for words in (
            f"{FOLDER}",
            "runs",
            ".",
            f"{FOLDER} --format markdown",
            f"{FOLDER} --format latex",
            f"{FOLDER} --format csv",
            f"{FOLDER} --format svg,csv -o out",
            f"{FOLDER} --format htlm",
            f"{FOLDER} --format ''",
            f"{FOLDER} -o .",
            "cut --format csv",
            f"cut {FOLDER} --format markdown",
            f"{FOLDER} empty --format csv",
            "damaged",
            "noted",
            "nowhere",
            "many --format svg",
            f"{FOLDER} --layout mmgm",
            f"{FOLDER} --layout mmmg --format html",
            "empty --format svg",
            f"{FOLDER} --layout mmmg",
            "",
        )
    },
    "a run of mmeval's own": Case(
        "report runs/reference/default --format csv", before=(RUN,)
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_report(name: str, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    assert shown(CASES[name], tmp_path) == snapshot

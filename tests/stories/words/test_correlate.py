from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.support.words import Case, shown

PAPER = "model,task,metric,value\n" + "".join(
    f"{model},draw,score,{draw}\n{model},say,score,{say}\n"
    for model, draw, say in (
        ("a", 0.1, 0.5),
        ("b", 0.2, 0.5),
        ("c", 0.4, 0.5),
        ("d", 0.3, 0.5),
        ("e", 0.6, 0.5),
        ("f", 0.9, 0.5),
    )
)
BOARD = "model,value\na,10\nb,20\nc,30\nd,40\ne,50\nz,60\n"
FILES = {
    "paper.csv": PAPER,
    "board.csv": BOARD,
    "twice.csv": "model,value\na,1\na,2\n",
    "names.csv": "model,value\nA,1\n",
    "wide.csv": "model,draw\na,1\n",
}
WITH = "correlate --published paper.csv --with board.csv"
CASES = {
    words: Case(words, FILES)
    for words in (
        WITH,
        f"{WITH} --tasks draw --method spearman,kendall",
        *(f"{WITH} --format {name}" for name in ("csv", "json", "markdown", "text2")),
        f"{WITH} --method pearsn",
        f"{WITH} --level sample",
        f"{WITH} --level models",
        f"{WITH} --by level",
        f"{WITH} --tasks drw",
        "correlate",
        "correlate --with board.csv",
        "correlate runs --with board.csv",
        *(
            f"correlate --published paper.csv --with {name}.csv"
            for name in ("twice", "names", "wide", "gone")
        ),
    )
}


@pytest.mark.parametrize("name", CASES)
def test_correlate(name: str, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    assert shown(CASES[name], tmp_path) == snapshot

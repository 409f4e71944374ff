from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from mmeval.results.board import Board, BoardRun, write_board
from tests.support.stored_runs import WrittenTrial, text, write_run
from tests.support.words import RUN, TASK, TINY, Case, shown

A, B, C = (f"runs/{name}/default" for name in ("omni-1", "omni-2", "omni-3"))


def told(folder: Path) -> None:
    """Runs of which the second is better on one of two levels, the third not, and what
    cannot be compared with them."""

    def trials(right: int, lost: int = 0) -> list[WrittenTrial]:
        return [
            WrittenTrial(
                [text(f"{at}")],
                [text("b")] if at >= lost else None,
                {"right": {"value": float(at % 40 < right), "status": "scored"}}
                if at >= lost
                else {},
                labels={"level": "easy" if at < 40 else "hard"},
                error=None if at >= lost else {"kind": "timeout", "message": "late"},
            )
            for at in range(80)
        ]

    for name, right, lost in ((A, 10, 0), (B, 25, 3), (C, 11, 0)):
        write_run(
            folder / name, trials(right, lost), results={}, model=Path(name).parts[1]
        )
    rows = (BoardRun(folder / A, "first"), BoardRun(folder / B, "second"))
    write_board(folder / "all.board.yaml", Board("", rows))
    for name in ("base", "chat"):
        write_run(folder / name, trials(10), results={}, model=f"my-model-7b-{name}")
    write_run(
        folder / "episode",
        trials(10),
        results={"protocols": {"told": "episode"}},
        model="episode",
    )
    write_run(folder / "unfinished", trials(10))


CASES = {
    **{
        words: Case(f"compare {words} --report false", meanwhile=told)
        for words in (
            f"{A} {B}",
            f"{A} {B} --by level --detect 0.05",
            f"{A} {B} {C}",
            f"{A} {A}",
            "all.board.yaml",
            f"{A} episode",
            f"{B} {A} --fail_if_worse",
            f"{B} {A} --fail_if_worse 0.1",
            f"{A} {C} --fail_unless_within 0.05",
            *(
                f"{A} {B} --format {name}"
                for name in ("json", "markdown", "latex", "csv", "jsno")
            ),
            f"{A} {B} {C} --format markdown",
            f"{A} unfinished",
            "base chat",
            f"base chat {A}",
            f"{A} nowhere",
            A,
            f"{A} {B} --metrics rihgt",
            f"{A} {B} --across judges",
            f"{A} {B} --by lvel",
            f"{A} {B} --correction holmes",
            f"{A} {B} --fail_if_worse --fail_unless_within 0.1",
        )
    },
    "runs of mmeval's own": Case(
        "compare runs/reference/default runs/empty/default --report false",
        before=(RUN, RUN.replace("reference", "empty")),
    ),
    **{
        what: Case(
            f"compare runs/reference/default runs/empty/default {more}--report false",
            {
                **TINY,
                "u.yaml": TASK.replace("task: t", "task: u"),
                "v.yaml": TASK.replace("task: t", "task: v"),
            },
            before=(
                RUN,
                RUN.replace("reference", "empty").replace(
                    "t.yaml", "t.yaml,u.yaml,v.yaml"
                ),
            ),
        )
        for what, more in (
            ("a run of more tasks", ""),
            ("one of three runs has more tasks", "runs/reference/default "),
        )
    },
    "a note on several numbers": Case(
        "compare runs/reference/default runs/empty/default --report false",
        {
            **TINY,
            "u.yaml": TASK.replace("task: t", "task: u"),
            "rows/test.jsonl": '{"input": "question 0", "reference": "answer"}\n',
        },
        before=(
            RUN.replace("t.yaml", "t.yaml,u.yaml"),
            RUN.replace("reference", "empty").replace("t.yaml", "t.yaml,u.yaml"),
        ),
    ),
    **{
        f"pairwise {flags}": Case(
            f"compare runs/reference/default runs/empty/default {flags}",
            before=(RUN, RUN.replace("reference", "empty")),
        )
        for flags in (
            "--pairwise --judge openai,model=m --dry_run",
            "--pairwise",
            "--pairwise --judge openai,model=m --rubric none.txt",
            "--pairwise --judge openai,model=m --tasks u",
            "--pairwise --judge openai,model=m --sample 0",
            "--pairwise --judge openai,model=m --ties davidsen",
            "--pairwise --judge openai,model=m --format csv",
            "--pairwise --judge openai,model=m --alpha 0.1",
            "--ties half",
        )
    },
    "runs of other tasks": Case(
        "compare runs/reference/default runs/empty/default --report false",
        {**TINY, "u.yaml": TASK.replace("task: t", "task: u")},
        before=(RUN, RUN.replace("reference", "empty").replace("t.yaml", "u.yaml")),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_compare(name: str, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    assert shown(CASES[name], tmp_path) == snapshot

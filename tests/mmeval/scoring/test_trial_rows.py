from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mmeval.content.parts import Interleaved
from mmeval.errors import MissingExtraError, MmevalError
from mmeval.records.response import ErrorInfo, ErrorKind, Response
from mmeval.records.sample import Sample
from mmeval.records.trial import Exchange, Trial
from mmeval.scoring.scorer import Scorer
from mmeval.scoring.trial_rows import ScoringPlan, trial_from, trial_line
from mmeval.scoring.worker import Item, Rows, ScoringWorker
from mmeval.system.json_lines import from_line, to_line
from tests.support.toy import picture, registered, reply, sample

ROOT = Path(__file__).parents[3]
HANGING = """
import sys
import mmeval.scoring.worker as scoreworker
from tests.mmeval.scoring.test_trial_rows import answered, plan, scored
scoreworker.METRIC_SECONDS = float(sys.argv[1])
rows = scored([answered(text, i) for i, text in enumerate(["yes", sys.argv[2], "yes"])], plan(), workers=1)
print([row["scores"]["toy_yes"].get("reason", "scored") for row in rows])
"""


@pytest.fixture(autouse=True)
def _toys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with registered(tmp_path / "site", monkeypatch):
        yield


def plan(metric: str = "toy_yes", **more: Any) -> ScoringPlan:
    given: dict[str, Any] = {
        "task": "t",
        "metrics": ((metric, {}, "standard"),),
        "unavailable": {},
        "missing_output": None,
        "labels": (),
        "cluster_key": "",
        "media_root": Path("media"),
    }
    return ScoringPlan(**{**given, **more})


def line_of(trial: Trial, index: int = 0) -> bytes:
    return trial_line(
        to_line(trial.sample.to_json()),
        index=index,
        repeat=trial.repeat,
        digest=trial.digest,
        exchanges=trial.exchanges,
        responses=[to_line(exchange.response.to_json()) for exchange in trial.exchanges],
        output=trial.output,
        error=trial.error,
    )


def made(of: Sample, *responses: Response, output: Interleaved | None = None) -> Trial:
    exchanges = tuple(Exchange(str(i), "model", f"d{i}", response) for i, response in enumerate(responses))
    return Trial(of, 0, exchanges, output or responses[0].output)


def answered(text: str, index: int = 0, **labels: Any) -> bytes:
    return line_of(made(sample(f"s{index}", **labels), reply(text)), index)


def failed(kind: ErrorKind, index: int = 0) -> bytes:
    return line_of(Trial(sample(), error=ErrorInfo(kind, "no")), index)


def scored(lines: Sequence[bytes], *plans: ScoringPlan, workers: int = 0) -> list[dict[str, Any]]:
    """The rows of these trials, each scored under every plan."""
    delivered: list[tuple[int, bytes]] = []
    scorer = Scorer(plans, workers, lambda position, rows: delivered.append((position, rows)))
    scorer.start()

    async def score() -> None:
        for line in lines:
            for position in range(len(plans)):
                await scorer.add(position, line)
        await scorer.drain()

    try:
        asyncio.run(score())
    finally:
        scorer.close()
    rows = [(position, from_line(row)) for position, rows in delivered for row in rows.splitlines()]
    return [row for _, row in sorted(rows, key=lambda item: (item[1]["i"], item[0]))]


def only(lines: bytes | Sequence[bytes], plan: ScoringPlan) -> Any:
    """The one row of one trial, scored here."""
    (row,) = scored([lines] if isinstance(lines, bytes) else lines, plan)
    return row


@pytest.mark.parametrize(
    "trial",
    [
        made(sample(level="hard"), reply("see <image1>", picture(2))),
        made(sample(), reply("one"), reply("two"), output=Interleaved.from_text("one and two")),
        Trial(sample(), 3, error=ErrorInfo("timeout", "too \ud800 late")),
        made(sample(text="\udfff"), reply("\ud800")),
    ],
    ids=["media", "several exchanges", "failed", "surrogates"],
)
def test_a_trial_survives_its_line(tmp_path: Path, trial: Trial) -> None:
    from mmeval.store.journal import Journal
    from mmeval.store.media_store import MediaStore

    journal = Journal(tmp_path / "journal", MediaStore(tmp_path / "media"))
    entries = [journal.append(e.path, e.request_digest, e.response) for e in trial.exchanges]
    journal.close()
    line = trial_line(
        to_line(trial.sample.to_json()),
        index=5,
        repeat=trial.repeat,
        digest=trial.digest,
        exchanges=trial.exchanges,
        responses=[entry.line for entry in entries],
        output=trial.output,
        error=trial.error,
    )
    row = from_line(line)
    assert trial_from(row, tmp_path / "media") == trial
    assert (row["i"], row["n"], row["d"]) == (5, trial.repeat, trial.digest)


def test_rows_are_the_same_scored_here_and_in_processes() -> None:
    lines = [answered(f"{'yes' if i % 3 else 'no'} {i}", i) for i in range(300)]
    here, there = (scored(lines, plan(), plan("toy_pair"), workers=workers) for workers in (0, 2))
    assert here == there
    assert [len(here), here[0]["scores"]["toy_yes"]["value"], here[2]["scores"]["toy_yes"]["value"]] == [600, 0, 1]


def test_labels_and_the_cluster_travel_with_a_row() -> None:
    row = only(answered("yes", level="hard", book=7), plan(labels=("level", "kind"), cluster_key="book"))
    assert (row["labels"], row["cluster"]) == ({"level": "hard", "kind": None}, "7")


def test_a_sample_without_a_cluster_is_its_own() -> None:
    assert only(answered("yes", book=None), plan(cluster_key="book"))["cluster"] == "s0"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("raise", "ValueError: no such luck"),
        ("nan", "the metric gave nan"),
        ("exit", "SystemExit: enough"),
        ("odd", "the metric's evidence cannot be written"),
    ],
)
def test_a_metric_that_fails_leaves_the_answer_unscored_with_the_reason(answer: str, reason: str) -> None:
    score = only(answered(answer), plan())["scores"]["toy_yes"]
    assert (score["value"], score["status"]) == (None, "unscored")
    assert score["reason"].startswith(reason)


@pytest.mark.parametrize(("kind", "status"), [("timeout", "failed"), ("unsupported", "unsupported")])
def test_a_trial_without_an_answer_has_no_scores(kind: ErrorKind, status: str) -> None:
    row = only(failed(kind), plan(missing_output=0.0))
    assert (row["status"], row["scores"], row["error"]["kind"]) == (status, {}, kind)


def test_an_empty_answer_has_the_score_that_the_benchmark_gives_it() -> None:
    row = only(answered(" \n"), plan(missing_output=0.25, judged_outputs=("verdict",)))
    assert {name: score["value"] for name, score in row["scores"].items()} == {"toy_yes": 0.25, "verdict": 0.25}


def test_without_such_a_rule_the_metric_scores_an_empty_answer_itself() -> None:
    assert only(answered(" "), plan())["scores"]["toy_yes"]["value"] == 0


def test_a_metric_known_to_be_unavailable_says_so() -> None:
    score = only(answered("yes"), plan(metrics=(), unavailable={"clip": "no weights"}))["scores"]["clip"]
    assert (score["value"], score["status"], score["reason"]) == (None, "unavailable", "no weights")


def test_an_answer_that_kills_the_process_is_unscored_and_its_neighbours_are_scored() -> None:
    lines = [answered("die" if i == 3 else "yes", i) for i in range(6)]
    scores = [row["scores"]["toy_yes"] for row in scored(lines, plan(), workers=1)]
    assert [score["value"] for score in scores] == [1, 1, 1, None, 1, 1]
    assert scores[3]["reason"].startswith("the scoring process died on this answer")


@pytest.mark.parametrize(
    ("answer", "seconds", "reason"),
    [
        ("hang", 0.2, "TimeoutError: the metric needed more than 0.2 seconds for one answer"),
        ("grind", 0.3, "the scoring process died on this answer (out of memory, out of time, or a library crashed)"),
    ],
    ids=["in Python", "in native code"],
)
def test_a_metric_that_does_not_come_back_costs_one_answer_its_score(answer: str, seconds: float, reason: str) -> None:
    # In a process of its own: the limit is read when the workers start, and only a single thread is forked.
    path = os.pathsep.join([str(ROOT), *(entry for entry in sys.path if entry.endswith("site"))])
    found = subprocess.run(
        [sys.executable, "-c", HANGING, str(seconds), answer],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == str(["scored", reason, "scored"])


@pytest.mark.parametrize(("workers", "begun"), [(0, 8), (20, 40)])
def test_every_process_has_a_batch_and_a_next_one(workers: int, begun: int, monkeypatch: pytest.MonkeyPatch) -> None:
    batches: list[object] = []

    async def endless(self: Scorer, batch: object) -> Any:
        batches.append(batch)
        await asyncio.Event().wait()

    async def add() -> None:
        scorer = Scorer([plan()], workers, lambda position, rows: None)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.2):
                for i in range(1000):
                    await scorer.add(0, answered("yes", i))

    monkeypatch.setattr(Scorer, "_rows", endless)
    asyncio.run(add())
    assert len(batches) == begun


def test_without_workers_a_single_thread_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: set[int] = set()
    score = ScoringWorker.score

    def noting(self: ScoringWorker, batch: Sequence[Item]) -> Rows:
        threads.add(threading.get_ident())
        return score(self, batch)

    monkeypatch.setattr(ScoringWorker, "score", noting)
    scored([answered("yes", i) for i in range(1000)], plan())
    assert (len(threads), threading.get_ident() in threads) == (1, False)


def test_rows_come_soon_although_no_batch_is_full() -> None:
    delivered = []
    scorer = Scorer([plan()], 0, lambda position, rows: delivered.append(rows))

    async def waits() -> None:
        await scorer.add(0, answered("yes"))
        for _ in range(200):
            if delivered:
                return
            await asyncio.sleep(0.01)

    asyncio.run(waits())
    scorer.close()
    assert len(delivered) == 1


def test_what_goes_wrong_while_rows_are_kept_stops_the_run() -> None:
    def full(position: int, rows: bytes) -> None:
        raise OSError("disk full")

    scorer = Scorer([plan()], 0, full)

    async def score() -> None:
        await scorer.add(0, answered("yes"))
        await scorer.drain()

    with pytest.raises(OSError, match="disk full"):
        asyncio.run(score())
    scorer.close()


def works(*pieces: Callable[[], Any], workers: int) -> list[Any]:
    scorer = Scorer([plan()], workers, lambda position, rows: None)
    scorer.start()
    try:
        return scorer.compute(pieces)
    finally:
        scorer.close()


@pytest.mark.parametrize("workers", [0, 2])
def test_other_work_is_done_by_the_scoring_processes_in_order(workers: int) -> None:
    assert works(*(partial(divmod, i, 7) for i in range(20)), workers=workers) == [divmod(i, 7) for i in range(20)]
    (process,) = works(os.getpid, workers=workers)
    assert (process == os.getpid()) is (workers == 0)


@pytest.mark.parametrize("workers", [0, 1])
def test_what_other_work_raises_is_raised_here(workers: int) -> None:
    with pytest.raises(MissingExtraError, match="fancy is not installed"):
        works(partial(raised, MissingExtraError("fancy")), workers=workers)


def raised(error: Exception) -> None:
    raise error


def killed_once(mark: Path) -> str:
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"


def killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_work_whose_process_died_is_done_by_another(tmp_path: Path) -> None:
    assert works(partial(killed_once, tmp_path / "mark"), workers=1) == ["done"]


def test_work_that_kills_every_process_ends_with_the_way_out() -> None:
    with pytest.raises(MmevalError, match=r"the scoring process died while it made the numbers.*--score_workers 0"):
        works(killed, workers=1)


def test_a_process_prepares_itself_while_it_waits() -> None:
    scorer = Scorer([plan()], 1, lambda position, rows: None)
    scorer.start()
    try:
        scorer.prepare(partial(os.putenv, "PREPARED", "yes"))
        assert scorer.compute([partial(subprocess.getoutput, "echo $PREPARED")]) == ["yes"]
        assert subprocess.getoutput("echo $PREPARED") == ""
    finally:
        scorer.close()


def test_scoring_gives_way_to_asking_where_cores_are_short() -> None:
    scorer = Scorer([plan()], 1, lambda position, rows: None)
    scorer.start()
    try:
        (niceness,) = scorer.compute([partial(os.getpriority, os.PRIO_PROCESS, 0)])
    finally:
        scorer.close()
    assert niceness > os.getpriority(os.PRIO_PROCESS, 0)

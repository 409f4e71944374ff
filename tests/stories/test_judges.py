"""Judging from outside: two judges, re-judging, wording, repeats, lost verdicts and
prompts, over real sockets."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import Ended, mmeval, openai, results, run_folder
from tests.support.judges import judge, judge_server
from tests.support.mock_openai_server import MockServer
from tests.support.task_folder import write_rows

ROWS = 3
CRITERIA = ["It greets.", {"id": "short", "criterion": "It is short.", "weight": 3}]
TASK = """\
task: greet
dataset_path: data
metric_list:
  - metric: rubric_judge
metadata: {version: 1}
"""


@dataclass
class Judged:
    """A task of three rows with a rubric of two criteria each, a model, and the command
    that runs it."""

    folder: Path
    model: MockServer

    def task(self, text: str) -> None:
        (self.folder / "greet.yaml").write_text(text)

    def run(self, *flags: str | Path) -> Ended:
        where = (
            "--tasks",
            self.folder / "greet.yaml",
            "--output_path",
            self.folder / "runs",
        )
        return mmeval(
            *where,
            *openai(self.model),
            "--score_workers",
            "0",
            "--report",
            "false",
            *flags,
        )

    def score(self, *flags: str | Path) -> Ended:
        return mmeval("score", run_folder(self.folder / "runs"), *flags)

    def value(self) -> float | None:
        found: float | None = results(self.folder / "runs")["results"]["greet"][
            "rubric_judge,none"
        ]
        return found

    def score_rows(self) -> list[dict[str, Any]]:
        newest = max(
            (self.folder / "runs").rglob("scores.jsonl"),
            key=lambda path: path.stat().st_mtime_ns,
        )
        return [
            json.loads(line)["scores"]["rubric_judge"]
            for line in newest.read_text().splitlines()
        ]


@pytest.fixture
def judged(tmp_path: Path) -> Iterator[Judged]:
    with MockServer() as model:
        made = Judged(tmp_path, model)
        write_rows(
            tmp_path / "data",
            *({"input": f"Greet guest {i}.", "rubric": CRITERIA} for i in range(ROWS)),
        )
        made.task(TASK)
        yield made


def requests(server: MockServer) -> int:
    return int(server.stats()["requests"])


def test_a_second_judge_makes_a_score_set_of_its_own_and_no_call_to_the_model(
    judged: Judged,
) -> None:
    with (
        judge_server(judged.folder / "kind") as kind,
        judge_server(judged.folder / "b", {"short": {"met": "no"}}) as harsh,
    ):
        first = judged.run(*judge(kind))
        asked, value = requests(judged.model), judged.value()
        second = judged.score(*judge(harsh, "harsh"))
        assert (first.code, second.code) == (0, 0), first.err + second.err
        assert (value, judged.value()) == (1.0, 0.25)
        assert (requests(kind), requests(harsh), requests(judged.model)) == (
            ROWS * 2,
            ROWS * 2,
            asked,
        )
    assert len(list((judged.folder / "runs").glob("*/*/scores/greet/*"))) == 2


def test_more_repeats_keep_the_verdicts_that_are_there_and_show_their_spread(
    judged: Judged,
) -> None:
    with judge_server(judged.folder / "kind") as kind:
        judged.run(*judge(kind))
        before = requests(kind)
        done = judged.score(
            *judge(kind), "--metric_args", '{"rubric_judge": {"repeats": 3}}'
        )
        assert (done.code, requests(kind) - before) == (0, ROWS * 2 * 2), done.err
    (first, *_) = judged.score_rows()[0]["evidence"]["criteria"]
    assert ([vote["met"] for vote in first["votes"]], first["spread"]) == (
        [True] * 3,
        {"met": 0.0},
    )


def test_a_reply_that_never_fits_is_unscored_and_asked_alone_when_the_judge_is_mended(
    judged: Judged,
) -> None:
    with judge_server(judged.folder / "odd", {"short": "I would say so."}) as odd:
        done = judged.run(*judge(odd))
        lost = judged.score_rows()[0]
        assert (done.code, requests(odd)) == (3, ROWS * (1 + 3))
        assert (lost["status"], lost["bounds"], lost["reason"].count("bad_reply")) == (
            "unscored",
            [0.25, 1.0],
            1,
        )
        (judged.folder / "odd" / "replies.jsonl").write_text(
            json.dumps({"reply": '{"met": "yes"}'}) + "\n"
        )
        odd.state.configure(odd.state.settings)
        before = requests(odd)
        mended = judged.score(*judge(odd))
        assert (mended.code, requests(odd) - before) == (0, ROWS), mended.err


PROMPT = "Criterion: {{ criterion }}\nAnswer: {{ answer }}\n{{ form }}\n"


def test_a_task_may_bring_a_prompt_and_its_run_still_has_it_when_the_file_is_gone(
    judged: Judged,
) -> None:
    (judged.folder / "strict.jinja").write_text(PROMPT)
    judged.task(
        TASK.replace("rubric_judge\n", "rubric_judge\n    prompt: strict.jinja\n")
    )
    with judge_server(judged.folder / "kind") as kind:
        assert judged.run(*judge(kind)).code == 0
        (judged.folder / "strict.jinja").unlink()
        done = judged.score(*judge(kind, "another"))
        assert (done.code, requests(kind)) == (0, 2 * ROWS * 2), done.err
    record = json.loads((run_folder(judged.folder / "runs") / "run.json").read_text())
    assert record["tasks"]["greet"]["metric_list"][0]["prompt"]["text"] == PROMPT


def test_a_judge_is_named_in_each_spelling_alike(judged: Judged) -> None:
    with judge_server(judged.folder / "kind") as kind:
        url, file = kind.url, judged.folder / "judge.yaml"
        file.write_text(f"backend: openai\nmodel: j\nbase_url: {url}\n")
        spellings: list[tuple[str, ...]] = [
            ("--role", f"judge=openai,model=j,base_url={url}"),
            ("--role", f"judge={file}"),
            ("--judge", str(file)),
            ("--judge", "openai", "--judge_args", f"model=j,base_url={url}"),
            ("--judge", "openai,model=j", "--judge_base_url", url),
        ]
        codes = [judged.run(*words).code for words in spellings]
        assert (codes, requests(kind)) == ([0] * len(spellings), ROWS * 2), (
            "one judge, whatever names it"
        )


def test_a_judge_that_is_not_sure_is_reported_with_its_remedies_and_not_to_be_tried_again(
    judged: Judged,
) -> None:
    judged.task(TASK.replace("rubric_judge", "judge_yes_no"))
    with judge_server(
        judged.folder / "vague", {"asked": {"verdict": "not sure"}}
    ) as vague:
        done = judged.run(*judge(vague))
    rows = results(judged.folder / "runs")["mmeval"]["findings"]
    (lost,) = [row for row in rows if row["kind"] == "unscored"]
    assert ("not_sure" in lost["cause"], "repeats" in lost["cause"]) == (True, True)
    assert "remedy" not in lost, done.err

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import MissingDataError, StorageError, UsageError
from mmeval.report.page import write_report
from mmeval.report.page.writer import MOST_CHARTS
from tests.support.report_reader import Report
from tests.support.stored_run import SCORE_SET, Told, text, write_run

NO_PARTS: Any = "no parts"
NO_METADATA: Any = 3
FAILED = {"kind": "timeout", "message": "no answer in 60 s"}


def report(tmp_path: Path, *trials: Told, results: dict[str, Any] | None = None, **more: Any) -> Report:
    run = write_run(tmp_path / "run", trials, results={} if results is None else results, **more)
    return Report(write_report([run], run / "report").page.parent)


def test_every_trial_is_in_the_index_and_in_full(tmp_path: Path) -> None:
    found = report(tmp_path, *(Told([text(f"question {at}")], [text(f"answer {at}")]) for at in range(250)))
    rows = found.index["rows"]
    assert found.index["count"] == 250
    assert rows["title"][249] == "question 249"
    assert rows["scores"] == {"right": [1.0] * 250}
    assert found.trials[249]["output"] == [{"kind": "text", "text": "answer 249"}]
    assert [file.name for file in found.scripts] == [
        *("details-0000.js", "details-0001.js", "details-0002.js"),
        *("index.js", "text-0000.js"),
    ]


def test_the_columns_are_of_one_length(tmp_path: Path) -> None:
    found = report(
        tmp_path,
        Told([text("a")], [text("b")], scores={}, labels={"level": "easy"}),
        Told([text("a")], [text("b")], scores={"near": {"value": 0.5, "status": "scored"}}),
        Told([text("a")], None, scores={}, error=FAILED, labels={"level": None, "kind": ["x", "y"]}),
    )
    rows = found.index["rows"]
    assert {len(column) for column in (*rows["scores"].values(), *rows["labels"].values(), rows["kinds"])} == {3}
    assert rows["scores"] == {"near": [None, 0.5, None]}
    assert rows["labels"] == {"level": [0, -1, -1], "kind": [-1, -1, 0]}
    assert found.index["labels"] == [{"name": "level", "values": ["easy"]}, {"name": "kind", "values": ["x, y"]}]


@pytest.mark.parametrize(
    ("told", "status"),
    [
        ({"scores": {"a": {"status": "scored", "value": 0.0}}}, "scored"),
        ({"scores": {"a": {"status": "scored", "value": 0.0}, "b": {"status": "unscored", "value": None}}}, "unscored"),
        ({"scores": {"a": {"status": "unavailable", "value": None}}}, "unavailable"),
        ({"scores": {"a": {"status": "scored", "value": 0.0}, "b": {"status": "inapplicable"}}}, "scored"),
        ({"scores": {"a": {"status": "inapplicable", "value": None}}}, "inapplicable"),
        ({"scores": {}}, "unscored"),
        ({"answer": None, "error": FAILED, "scores": {}}, "failed"),
        ({"answer": None, "error": {"kind": "unsupported", "message": "no audio"}, "scores": {}}, "unsupported"),
        ({"answer": None, "scores": {}}, "failed"),
    ],
    ids=[
        *("scored", "one unscored", "unavailable", "one inapplicable", "inapplicable"),
        *("no score", "failed", "unsupported", "answer gone"),
    ],
)
def test_a_trial_has_the_status_of_its_worst_score(told: dict[str, Any], status: str, tmp_path: Path) -> None:
    found = report(tmp_path, Told(**{"asked": [text("a")], "answer": [text("b")], **told}))
    assert found.index["statuses"][found.index["rows"]["status"][0]] == status


def test_a_number_that_all_of_a_task_lacks_tells_no_trial_from_another(tmp_path: Path) -> None:
    none: dict[str, Any] = {"status": "unavailable", "value": None}
    lacks = {"task": "told", "metric": "b", "value": None, "n": 2, "scored": 0, "unavailable": 2}
    found = report(
        tmp_path,
        Told([text("a")], [text("b")], scores={"a": {"status": "scored", "value": 1.0}, "b": none}),
        Told([text("a")], [text("b")], scores={"a": {"status": "unscored", "value": None}, "b": none}),
        results={"results": [lacks]},
    )
    assert [found.index["statuses"][at] for at in found.index["rows"]["status"]] == ["scored", "unscored"]


def test_what_was_never_asked_is_no_step(tmp_path: Path) -> None:
    never = {"kind": "unsupported", "message": "the model takes no video"}
    run = write_run(tmp_path / "run", [Told([text("a")], None, error=never, scores={})], results={})
    trials = run / "trials" / "told.jsonl"
    trials.write_text(trials.read_text().replace('"x":[]', '"x":[["0","model","model/none/0"]]'))
    (trial,) = Report(write_report([run], run / "report").page.parent).trials
    assert (trial["steps"], trial["error"]) == ([], never)


def test_a_layout_that_is_not_installed_costs_only_its_tables(tmp_path: Path) -> None:
    told = [Told([text("a")], [text("b")])]
    run = write_run(tmp_path / "run", told, results={}, config={"layout": "nowhere"})
    page = write_report([run], run / "report").page.read_text()
    assert "The tables nowhere are not shown: " in page
    assert "Tables of the layout" not in page


def test_an_agents_steps_are_kept_in_their_order(tmp_path: Path) -> None:
    found = report(tmp_path, Told([text("a")], [text("b")], steps=[("tool", [text("c")]), ("model", [text("d")])]))
    steps = found.trials[0]["steps"]
    assert [(step["path"], step["role"], step["parts"][0]["text"]) for step in steps] == [
        ("0", "model", "b"),
        ("1", "tool", "c"),
        ("2", "model", "d"),
    ]


def test_a_single_reply_that_is_the_answer_is_not_written_twice(tmp_path: Path) -> None:
    (trial,) = report(tmp_path, Told([text("a")], [text("b")], reply={"finish_reason": "length"})).trials
    assert [step["parts"] for step in trial["steps"]] == [None]
    assert trial["finish"] == "length"


def test_a_score_has_its_verdicts_with_what_the_judge_said(tmp_path: Path) -> None:
    verdict = {"metric": "right", "role": "judge", "asked": "j", "served": "j-1", "at": 0, "parts": [text("yes")]}
    (trial,) = report(tmp_path, Told([text("a")], [text("b")], verdicts=[verdict])).trials
    (shown,) = trial["scores"][0]["verdicts"]
    assert (shown["role"], shown["asked"], shown["served"], shown["parts"][0]["text"]) == ("judge", "j", "j-1", "yes")


def test_long_texts_are_cut_with_a_word(tmp_path: Path) -> None:
    long = "x" * 30_000
    evidence = {"right": {"value": 1.0, "status": "scored", "evidence": {"reply": long, "list": [1] * 5_000}}}
    (trial,) = report(tmp_path, Told([text(long)], [text(long)], scores=evidence, metadata={"m": long})).trials
    assert trial["output"][0]["note"] == "the first 20,000 of 30,000 characters"
    assert trial["metadata"]["m"].endswith("… (30,000 characters)")
    assert trial["scores"][0]["evidence"]["list"][-1] == "… (5,000 in all)"
    assert len(json.dumps(trial)) < 100_000


def test_the_text_filter_finds_what_was_asked_answered_expected_and_why(tmp_path: Path) -> None:
    unscored = {"right": {"value": None, "status": "unscored", "reason": "a verdict was lost"}}
    told = Told([text("WHAT?")], [text("that")], unscored, sample="s/1", references=[[text("this")]])
    assert report(tmp_path, told).texts == ["s/1\nWHAT?\nthat\nthis\na verdict was lost"]


def test_a_run_without_results_has_a_page_that_says_so(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [Told([text("a")], [text("b")])])
    page = write_report([run], run / "report").page
    assert "There are no numbers yet." in page.read_text()
    assert Report(page.parent).index["count"] == 1


@pytest.mark.parametrize("damage", [b'{"i": 0}\n', b"[1]\n", b'{"i": "x", "n": {}}\n', b"\xff\xfe\n", b'{"i": 1'])
def test_damaged_lines_cost_no_other_trial(damage: bytes, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [Told([text("a")], [text("b")])], results={})
    for name in ("samples/told.jsonl", "trials/told.jsonl"):
        file = run / name
        file.write_bytes(damage + file.read_bytes() if damage.endswith(b"\n") else file.read_bytes() + damage)
    assert write_report([run], run / "report").trials == 1


@pytest.mark.parametrize(
    "told",
    [
        Told([{"type": "text", "text": "a"}], [{"no": "type"}]),
        Told([text("a")], [text("b")], scores={"right": 5}),
        Told([text("a")], NO_PARTS),
        Told([text("a")], [text("b")], metadata=NO_METADATA),
    ],
    ids=["part", "score", "answer", "metadata"],
)
def test_a_damaged_record_is_counted_and_costs_no_other_trial(told: Told, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [told, Told([text("a")], [text("b")])], results={}, config={"breakdown": ["x"]})
    made = write_report([run], run / "report")
    assert (made.trials, made.damaged) == (1, 1)
    assert "1 trial has a record that is damaged and cannot be shown." in made.page.read_text()


def test_charts_beyond_those_of_the_page_are_counted_with_the_command_for_them(tmp_path: Path) -> None:
    numbers = [
        {"task": "told", "metric": "right", "value": 0.5, "n": 1, "scored": 1, "slice": f"label{at}={level}"}
        for at in range(MOST_CHARTS + 3)
        for level in ("easy", "hard")
    ]
    found = report(tmp_path, Told([text("a")], [text("b")]), results={"results": numbers})
    assert found.page.count("<figure") == MOST_CHARTS
    assert f"3 more charts are not on this page: mmeval report {tmp_path}/run --format svg writes all" in found.page


def test_a_folder_that_is_no_report_is_never_replaced(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [], results={})
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.tex").write_text("years of work")
    for folder in (mine, run, mine / "thesis.tex"):
        with pytest.raises(UsageError, match="name a"):
            write_report([run], folder)
    assert (mine / "thesis.tex").read_text() == "years of work"


def test_charts_and_tables_beside_the_page_stay(tmp_path: Path) -> None:
    found = report(tmp_path, Told([text("a")], [text("b")]))
    (found.folder / "charts").mkdir()
    (found.folder / "charts" / "tasks.svg").write_text("<svg/>")
    write_report([tmp_path / "run"], found.folder)
    assert (found.folder / "charts" / "tasks.svg").read_text() == "<svg/>"


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    write_run(tmp_path / "runs" / "m" / "default", [])
    with pytest.raises(MissingDataError, match=r"give one of the runs below it: .*/runs/m/default"):
        write_report([tmp_path / "runs"], tmp_path / "report")
    with pytest.raises(MissingDataError, match="give the folder of a run, <output_path>/<model>/<run_id>"):
        write_report([tmp_path / "nowhere"], tmp_path / "report")


def test_a_damaged_results_file_is_named(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [], results={})
    (file,) = run.glob("results_*.json")
    file.write_text("{}")
    with pytest.raises(UsageError, match="is damaged, or no results file of mmeval"):
        write_report([run], run / "report")


def test_a_full_disk_is_one_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = write_run(tmp_path / "run", [Told([text("a")], [text("b")])], results={})

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(StorageError, match=r"the report cannot be written \(No space left on device\)"):
        write_report([run], run / "report")


def test_several_runs_are_one_page_with_numbers_side_by_side(tmp_path: Path) -> None:
    runs = [
        write_run(tmp_path / name, [Told([text("a")], [text(name)])], results={}, model=name) for name in ("one", "two")
    ]
    write_report(runs, tmp_path / "report")
    found = Report(tmp_path / "report")
    assert [run["model"] for run in found.index["runs"]] == ["one", "two"]
    assert [task["run"] for task in found.index["tasks"]] == [0, 1]
    assert [trial["output"][0]["text"] for trial in found.trials] == ["one", "two"]
    assert "<h1>2 runs</h1>" in found.page
    assert "<h3>one</h3>" in found.page and "<h3>two</h3>" in found.page


@pytest.mark.parametrize(
    ("asked", "statuses"),
    [
        ({"repeats": 1, "samples": [[0, 0], [2, 2]]}, ["scored", "uncounted", "scored"]),
        ({"repeats": 1, "samples": []}, ["uncounted"] * 3),
        ({"repeats": 1, "samples": None}, ["scored"] * 3),
        ({"repeats": 0, "samples": None}, ["uncounted"] * 3),
    ],
    ids=["some samples", "none", "all", "fewer repeats"],
)
def test_trials_that_the_numbers_are_not_about_are_marked(asked: Any, statuses: list[str], tmp_path: Path) -> None:
    trials = [Told([text("a")], [text("b")])] * 3
    found = report(tmp_path, *trials, results={"asked": {"told": asked}})
    assert [found.index["statuses"][number] for number in found.index["rows"]["status"]] == statuses
    assert ("earlier command" in found.page) is ("uncounted" in statuses)


def test_scores_of_an_interrupted_run_are_shown(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [Told([text("a")], [text("b")])] * 2)
    scores = run / "scores" / "told" / SCORE_SET
    lines = (scores / "scores.jsonl").read_bytes().splitlines(keepends=True)
    (scores / "scores.jsonl").unlink()
    (scores / "rows.jsonl").write_bytes(b"".join(reversed(lines)))
    write_report([run], run / "report")
    assert Report(run / "report").index["rows"]["scores"] == {"right": [1.0, 1.0]}


@pytest.mark.parametrize("foreign", [b'{"scores": {}}\n', b'{"i": "x", "n": []}\n', b'{"i": 0, "n": 0}\n'])
@pytest.mark.parametrize("file", ["scores.jsonl", "rows.jsonl"])
def test_score_rows_that_something_else_has_written_end_no_report(foreign: bytes, file: str, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [Told([text("a")], [text("b")])] * 2, results={})
    scores = run / "scores" / "told" / SCORE_SET
    lines = (scores / "scores.jsonl").read_bytes()
    (scores / "scores.jsonl").unlink()
    (scores / file).write_bytes(foreign + lines)
    assert write_report([run], run / "report").trials == 2
    assert Report(run / "report").index["rows"]["scores"]["right"][1] == 1.0


def test_scoring_that_ends_while_it_is_read_costs_no_score(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = write_run(tmp_path / "run", [Told([text("a")], [text("b")])], results={})
    scores = run / "scores" / "told" / SCORE_SET
    (scores / "rows.jsonl").write_bytes(b"")

    def finishing(folder: Path) -> Iterator[bytes]:
        (folder / "rows.jsonl").unlink()
        yield (folder / "rows.jsonl").read_bytes()

    monkeypatch.setattr("mmeval.results.stored_run.lines_so_far", finishing)
    write_report([run], run / "report")
    assert Report(run / "report").index["rows"]["scores"] == {"right": [1.0]}


def test_links_of_the_table_leave_out_trials_that_the_numbers_are_not_about(tmp_path: Path) -> None:
    trials = [Told([text("a")], [text("b")])] * 2
    found = report(tmp_path, *trials, results={"asked": {"told": {"repeats": 1, "samples": [[0, 0]]}}})
    assert 'href="#task=told&amp;status=scored,unscored,failed,unsupported,unavailable,inapplicable"' in found.page


def test_a_baseline_stands_beside_the_numbers_of_a_run(tmp_path: Path) -> None:
    other = write_run(tmp_path / "other", [Told([text("a")], [text("b")])], results={}, model="elder")
    (file,) = other.glob("results_*.json")
    file.write_text(file.read_text().replace('"value": 0.5', '"value": 0.125').replace('"teller"', '"elder"'))
    found = report(tmp_path, Told([text("a")], [text("b")]), results={"settings": {"baseline": str(other)}})
    assert re.search(r'class="number baseline">.*elder: </span>0\.1250<', found.page)
    assert f"Baseline: elder, {file}." in found.page


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ('"single"=>"episode"', "is not shown: told was asked by the protocol episode, now by single"),
        ('"mmeval"=>"other"', "this is no results file of mmeval"),
    ],
    ids=["made in another way", "damaged"],
)
def test_a_baseline_that_does_not_compare_says_why(change: str, said: str, tmp_path: Path) -> None:
    other = write_run(tmp_path / "other", [], results={})
    (file,) = other.glob("results_*.json")
    before, _, after = change.partition("=>")
    file.write_text(file.read_text().replace(before, after))
    found = report(tmp_path, Told([text("a")], [text("b")]), results={"settings": {"baseline": str(other)}})
    assert said in found.page


def test_many_notes_are_folded(tmp_path: Path) -> None:
    found = report(tmp_path, Told([text("a")], [text("b")]), results={"complaints": [f"note {at}" for at in range(9)]})
    assert "<summary>6 more</summary>" in found.page


def test_long_names_may_break_where_their_words_join(tmp_path: Path) -> None:
    numbers = [{"task": "told", "metric": "a_long/name", "value": 0.5, "n": 1, "scored": 1}]
    found = report(tmp_path, Told([text("a")], [text("b")]), results={"results": numbers})
    assert '<td role="cell" class="metric">a_<wbr>long/<wbr>name' in found.page

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import MissingDataError, StorageError, UsageError
from mmeval.findings.finding import Finding, Subject
from mmeval.metric.bound import missing_role
from mmeval.report.page import write_report
from mmeval.report.page.writer import MOST_CHARTS
from mmeval.system.json_lines import sealed_document
from tests.support.readers import Report, called
from tests.support.stored_runs import (
    SCORE_SET,
    WrittenTrial,
    rewritten,
    text,
    write_run,
)

FAILED = {"kind": "timeout", "message": "no answer in 60 s"}
PLAIN = WrittenTrial([text("a")], [text("b")])
LOST = WrittenTrial([text("a")], None, scores={}, error=FAILED)
SCORED = {"status": "scored", "value": 0.0}
LINKED = "status=scored,unscored,failed,unsupported,unavailable,inapplicable,refused"


def report(
    tmp_path: Path,
    *trials: WrittenTrial,
    results: dict[str, Any] | None = None,
    **more: Any,
) -> Report:
    run = write_run(
        tmp_path / "run",
        trials or [PLAIN],
        results={} if results is None else results,
        **more,
    )
    return read(run)


def read(run: Path) -> Report:
    return Report(write_report([run], run / "report").page.parent)


def numbered(**more: Any) -> dict[str, Any]:
    """The number of a task in a results file."""
    return {
        "task": "told",
        "metric": "right",
        "value": 0.2,
        "n": 1,
        "scored": 1,
        **more,
    }


def statuses(found: Report) -> list[str]:
    return [found.index["statuses"][number] for number in found.index["rows"]["status"]]


def test_every_trial_is_in_the_index_and_in_full(tmp_path: Path) -> None:
    found = report(
        tmp_path,
        *(
            WrittenTrial([text(f"question {at}")], [text(f"answer {at}")])
            for at in range(250)
        ),
    )
    rows = found.index["rows"]
    assert rows["title"][249] == "question 249"
    assert rows["scores"] == {"right": [1.0] * 250}
    assert found.trials[249]["output"] == [{"kind": "text", "text": "answer 249"}]
    assert len(list((found.folder / "data").glob("details-*.js"))) == 3


def test_every_trial_has_a_tile_in_the_files_of_the_gallery(tmp_path: Path) -> None:
    found = report(tmp_path, PLAIN, LOST)
    _, tiles = called(found.folder / "data" / "tiles-0000.js", "tiles")
    assert found.index["tile_chunk"] >= 2
    assert tiles == [{"text": "b"}, {"error": "timeout: no answer in 60 s"}]


def test_the_findings_of_the_results_file_are_in_the_index(tmp_path: Path) -> None:
    lost = Finding(
        "failed", Subject("told"), 1, 2, "</script> & more", severity="error"
    )
    found = report(tmp_path, results={"results": [], "findings": [lost.to_json()]})
    (run,) = found.index["runs"]
    assert [*map(Finding.from_json, run["findings"])] == [lost]


def test_the_columns_are_of_one_length(tmp_path: Path) -> None:
    found = report(
        tmp_path,
        replace(PLAIN, scores={}, labels={"level": "easy"}),
        replace(PLAIN, scores={"near": {"value": 0.5, "status": "scored"}}),
        replace(LOST, labels={"level": None, "kind": ["x", "y"]}),
    )
    rows = found.index["rows"]
    assert rows["scores"] == {"near": [None, 0.5, None]}
    assert rows["labels"] == {"level": [0, -1, -1], "kind": [-1, -1, 0]}
    assert len(rows["kinds"]) == 3
    assert found.index["labels"] == [
        {"name": "level", "values": ["easy"]},
        {"name": "kind", "values": ["x, y"]},
    ]


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({"scores": {"a": SCORED}}, "scored"),
        (
            {"scores": {"a": SCORED, "b": {"status": "unscored", "value": None}}},
            "unscored",
        ),
        ({"scores": {"a": {"status": "unavailable", "value": None}}}, "unavailable"),
        ({"scores": {"a": SCORED, "b": {"status": "inapplicable"}}}, "scored"),
        ({"scores": {"a": {"status": "inapplicable", "value": None}}}, "inapplicable"),
        ({"answer": None, "error": FAILED, "scores": {}}, "failed"),
        (
            {
                "answer": None,
                "error": {"kind": "unsupported", "message": "no audio"},
                "scores": {},
            },
            "unsupported",
        ),
        ({"answer": None, "scores": {}}, "failed"),
    ],
    ids=str,
)
def test_a_trial_has_the_status_of_its_worst_score(
    given: dict[str, Any], status: str, tmp_path: Path
) -> None:
    assert statuses(report(tmp_path, replace(PLAIN, **given))) == [status]


def test_a_number_that_all_of_a_task_lacks_is_no_status_of_a_trial(
    tmp_path: Path,
) -> None:
    none: dict[str, Any] = {"status": "unavailable", "value": None}
    lacks = numbered(metric="b", value=None, scored=0, unavailable=1)
    trial = replace(PLAIN, scores={"a": SCORED, "b": none})
    found = report(tmp_path, trial, results={"results": [lacks]})
    assert statuses(found) == ["scored"]


def test_what_was_never_asked_is_no_step(tmp_path: Path) -> None:
    never = {"kind": "unsupported", "message": "the model takes no video"}
    run = write_run(tmp_path / "run", [replace(LOST, error=never)], results={})
    rewritten(run / "trials" / "told.jsonl", x=[["0", "model", "model/none/0"]])
    (trial,) = read(run).trials
    assert (trial["steps"], trial["error"]) == ([], never)


def test_the_steps_of_an_agent_are_in_their_order_and_a_single_reply_is_not_written_twice(
    tmp_path: Path,
) -> None:
    steps = [("tool", [text("c")]), ("model", [text("d")])]
    agent = replace(PLAIN, steps=steps)
    single = replace(PLAIN, reply={"finish_reason": "length"})
    many, one = report(tmp_path, agent, single).trials
    found = [
        (step["path"], step["role"], step["parts"][0]["text"]) for step in many["steps"]
    ]
    assert found == [("0", "model", "b"), ("1", "tool", "c"), ("2", "model", "d")]
    assert [step["parts"] for step in one["steps"]] == [None]
    assert one["finish"] == "length"


def test_long_texts_are_cut_with_a_note(tmp_path: Path) -> None:
    long = "x" * 30_000
    evidence = {"reply": long, "list": [1] * 5_000}
    scores = {"right": {**SCORED, "evidence": evidence}}
    told = WrittenTrial([text(long)], [text(long)], scores, metadata={"m": long})
    (trial,) = report(tmp_path, told).trials
    assert re.findall(r"[\d,]+", trial["output"][0]["note"]) == ["20,000", "30,000"]
    assert trial["metadata"]["m"].endswith("… (30,000 characters)")
    assert trial["scores"][0]["evidence"]["list"][-1] == "… (5,000 in all)"
    assert len(json.dumps(trial)) < 100_000


def test_a_trial_has_its_verdicts_and_the_text_filter_finds_whatever_was_written_of_it(
    tmp_path: Path,
) -> None:
    unscored = {"value": None, "status": "unscored", "reason": "verdict lost"}
    judge = {"role": "judge", "asked": "j", "served": "j-1"}
    verdict = {**judge, "metric": "right", "at": 0, "parts": [text("yes")]}
    told = WrittenTrial(
        [text("WHAT?")],
        [text("that")],
        {"right": unscored},
        sample="s/1",
        references=[[text("this")]],
        verdicts=[verdict],
    )
    found = report(tmp_path, told)
    assert [words.splitlines() for words in found.texts] == [
        ["s/1", "WHAT?", "that", "this", "verdict lost"]
    ]
    (shown,) = found.trials[0]["scores"][0]["verdicts"]
    assert judge.items() <= shown.items()
    assert shown["parts"][0]["text"] == "yes"


@pytest.mark.parametrize(
    "damage", [b'{"i": "x", "n": {}}\n', b"\xff\xfe\n", b'{"i": 1']
)
def test_damaged_lines_cost_no_other_trial(damage: bytes, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [PLAIN], results={})
    for file in (run / "samples" / "told.jsonl", run / "trials" / "told.jsonl"):
        file.write_bytes(
            damage + file.read_bytes()
            if damage.endswith(b"\n")
            else file.read_bytes() + damage
        )
    assert len(read(run).trials) == 1


@pytest.mark.parametrize(
    "damage",
    [
        {"answer": [{"no": "type"}]},
        {"scores": {"right": 5}},
        {"answer": "no parts"},
        {"metadata": 3},
    ],
    ids=["part", "score", "answer", "metadata"],
)
def test_a_damaged_record_is_counted_and_costs_no_other_trial(
    damage: dict[str, Any], tmp_path: Path
) -> None:
    trials = [replace(PLAIN, **damage), PLAIN]
    run = write_run(tmp_path / "run", trials, results={}, config={"breakdown": ["x"]})
    made = write_report([run], run / "report")
    assert len(Report(run / "report").trials) == 1
    (finding,) = made.findings
    assert (finding.kind, finding.count) == ("damaged", 1)
    assert finding.cause in made.page.read_text()


def test_charts_beyond_those_of_the_page_are_counted_with_the_command_for_them(
    tmp_path: Path,
) -> None:
    numbers = []
    for at in range(MOST_CHARTS + 3):
        numbers.append(numbered(slice=f"label{at}=easy"))
        numbers.append(numbered(slice=f"label{at}=hard"))
    page = report(tmp_path, results={"results": numbers}).page
    assert page.count("<figure") == MOST_CHARTS == 40
    assert re.search(rf"3  charts .*: mmeval report {tmp_path}/run --format svg", page)


def test_a_folder_that_is_no_report_is_never_replaced_and_files_beside_a_page_stay(
    tmp_path: Path,
) -> None:
    run = write_run(tmp_path / "run", [], results={})
    (tmp_path / "mine").mkdir()
    thesis = tmp_path / "mine" / "thesis.tex"
    thesis.write_text("years of work")
    for folder in (tmp_path / "mine", run, thesis):
        with pytest.raises(UsageError, match=str(folder)):
            write_report([run], folder)
    assert thesis.read_text() == "years of work"
    chart = report(tmp_path).folder / "charts" / "tasks.svg"
    chart.parent.mkdir()
    chart.write_text("<svg/>")
    read(tmp_path / "run")
    assert chart.read_text() == "<svg/>"


def test_a_folder_without_a_run_or_with_a_damaged_one_is_refused(
    tmp_path: Path,
) -> None:
    run = write_run(tmp_path / "runs" / "m" / "default", [], results={})
    with pytest.raises(MissingDataError, match="runs/m/default"):
        write_report([tmp_path / "runs"], tmp_path / "report")
    next(run.glob("results_*.json")).write_text("{}")
    with pytest.raises(UsageError, match=r"results_.*damaged"):
        write_report([run], run / "report")
    (run / "run.json").unlink()
    with pytest.raises(MissingDataError, match="<output_path>/<model>/<run_id>"):
        write_report([run], run / "report")


def test_a_full_disk_is_one_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = write_run(tmp_path / "run", [PLAIN], results={})

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(StorageError, match="No space left"):
        write_report([run], run / "report")


def test_several_runs_are_one_page_with_numbers_side_by_side(tmp_path: Path) -> None:
    runs = []
    for name in ("one", "two"):
        told = replace(PLAIN, answer=[text(name)])
        runs.append(write_run(tmp_path / name, [told], results={}, model=name))
    write_report(runs, tmp_path / "report")
    found = Report(tmp_path / "report")
    assert [run["model"] for run in found.index["runs"]] == ["one", "two"]
    assert [task["run"] for task in found.index["tasks"]] == [0, 1]
    assert [trial["output"][0]["text"] for trial in found.trials] == ["one", "two"]
    assert re.findall("<(?:h1|dt>model</dt><dd)>([^<]*)", found.page) == [
        "2 runs",
        "one",
        "two",
    ]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"repeats": 1, "samples": [[1, 1]]}, ["uncounted", "scored"]),
        ({"repeats": 1, "samples": None}, ["scored", "scored"]),
        ({"repeats": 0, "samples": None}, ["uncounted", "uncounted"]),
    ],
    ids=["some samples", "all", "fewer repeats"],
)
def test_trials_that_the_numbers_are_not_about_are_marked(
    asked: Any, expected: list[str], tmp_path: Path
) -> None:
    found = report(tmp_path, PLAIN, PLAIN, results={"asked": {"told": asked}})
    is_noted = "uncounted" in expected
    assert statuses(found) == expected
    assert ("earlier command" in found.page) is is_noted
    assert (f'href="#task=told&amp;{LINKED}"' in found.page) is is_noted


def test_a_refused_answer_is_marked_whether_it_is_scored_or_not(
    tmp_path: Path,
) -> None:
    unscored = {"right": {"value": None, "status": "unscored", "cause": "refused"}}
    refused = replace(PLAIN, refused=True)
    left_out = replace(refused, scores=unscored)
    found = report(tmp_path, PLAIN, refused, left_out)
    assert statuses(found) == ["scored", "refused", "refused"]


def test_samples_that_no_model_was_asked_are_not_counted_as_asked(
    tmp_path: Path,
) -> None:
    unsupported, bad = (
        replace(LOST, error={"kind": kind, "message": "no"})
        for kind in ("unsupported", "bad_sample")
    )
    trials = (PLAIN, unsupported, bad, LOST)
    page = report(tmp_path, *trials, results={"judges": {}}).page
    assert "was run on told (samples: 2 of 4)" in page


def test_the_first_screen_has_numbers_and_three_answers_and_no_word_for_nothing(
    tmp_path: Path,
) -> None:
    answers = [
        WrittenTrial(
            [text("q")],
            [text(f"answer {at}")],
            {"right": {"value": at / 10, "status": "scored"}},
        )
        for at in range(5)
    ]
    lacking = numbered(metric="judged", value=None, scored=0, unavailable=1)
    number = numbered(ci95=[0.1, 0.3])
    metrics = {
        "right": {"outputs": ["right"], "range": [0, 1]},
        "judged": {"outputs": ["judged"]},
    }
    lacks = missing_role("judged", "judge")
    lacks = replace(lacks, subject=replace(lacks.subject, task="told"))
    found = report(
        tmp_path,
        *answers,
        results={
            "results": [lacking, number],
            "metrics": {"told": metrics},
            "findings": [lacks.to_json()],
        },
    )
    first, _, below = found.page.partition("</section>")
    assert re.findall(r'class="figure">([^<]*)|class="interval">([^<]*)', first) == [
        ("0.200", ""),
        ("", "0.100 to 0.300"),
    ]
    assert re.findall(r"answer \d", first) == ["answer 4", "answer 2", "answer 0"]
    assert found.page.count("--judge openai") == 1 == below.count("--judge openai")
    assert "N/A" not in found.page
    assert found.index["tasks"][0]["headline"] == "right"


@pytest.mark.parametrize(
    ("file", "foreign"),
    [
        ("scores.jsonl", b""),
        ("rows.jsonl", b""),
        ("rows.jsonl", b'{"scores": {}}\n'),
        ("rows.jsonl", b'{"i": "x", "n": []}\n'),
        ("rows.jsonl", b'{"i": 0, "n": 0}\n'),
    ],
)
def test_scores_of_an_interrupted_run_are_shown_without_foreign_rows(
    foreign: bytes, file: str, tmp_path: Path
) -> None:
    run = write_run(tmp_path / "run", [PLAIN, PLAIN], results={})
    scores = run / "scores" / "told" / SCORE_SET
    lines = (scores / "scores.jsonl").read_bytes().splitlines(keepends=True)
    (scores / "scores.jsonl").unlink()
    (scores / file).write_bytes(
        foreign + b"".join(lines if file == "scores.jsonl" else reversed(lines))
    )
    first, second = read(run).index["rows"]["scores"]["right"]
    assert (second, first if not foreign else 1.0) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ('"teller"', '"elder"', r'class="beside">elder 0\.125<'),
        ('"single"', '"episode"', "not shown: .* episode"),
        ('"mmeval"', '"other"', "not a results file"),
    ],
    ids=["beside the numbers", "made in another way", "damaged"],
)
def test_a_baseline_stands_beside_the_numbers_or_why_not(
    before: str, after: str, found: str, tmp_path: Path
) -> None:
    other = write_run(tmp_path / "other", [PLAIN], results={})
    (file,) = other.glob("results_*.json")
    text = (
        file.read_text()
        .replace('"value": 0.5', '"value": 0.125')
        .replace(before, after)
    )
    file.write_bytes(sealed_document(json.loads(text)))
    page = report(tmp_path, results={"settings": {"baseline": str(other)}}).page
    assert re.search(found, page)
    assert str(file) in page


def test_notes_are_folded_long_names_may_break_and_a_missing_layout_costs_its_tables(
    tmp_path: Path,
) -> None:
    lost = [{"kind": "unscored", "cause": f"note {at}"} for at in range(9)]
    results = {"findings": lost, "results": [numbered(metric="a_long/name")]}
    page = report(tmp_path, results=results, config={"layout": "nowhere"}).page
    assert "nowhere" in page
    assert page.count("<table") == 1
    assert '<span class="count">10 notes<' in page
    assert '<span class="label">a_<wbr>long/<wbr>name' in page


def test_several_runs_begin_with_the_table_of_models_and_tasks(tmp_path: Path) -> None:
    runs = []
    for model in ("small", "large"):
        folder = tmp_path / model
        runs.append(write_run(folder, [PLAIN], results={}, model=model))
    page = write_report(runs, tmp_path / "report").page.read_text()
    assert page.count("Models and tasks</h2>") == 1
    assert page.index("Models and tasks</h2>") < page.index('class="title"')
    assert 'class="gauge"' not in page

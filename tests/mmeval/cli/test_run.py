import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from mmeval.__main__ import main
from mmeval.cli.run import read_settings, show_config
from tests.support.lm_eval_reader import latest, read_numbers, read_samples
from tests.support.log_level import restored_log
from tests.support.tiny_benchmark import write_benchmark


@pytest.fixture(autouse=True)
def _log() -> Iterator[None]:
    with restored_log():
        yield


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    """Runs the reference backend over a task of three rows."""
    tasks = write_benchmark(tmp_path / "tasks")
    return [
        *("--model", "reference", "--tasks", "tiny", "--include_path", str(tasks)),
        *("--output_path", str(tmp_path / "runs"), "--score_workers", "0"),
    ]


def results(tmp_path: Path) -> dict[str, Any]:
    return latest(tmp_path / "runs")[0]


def test_a_run_prints_its_table_on_stdout_and_the_rest_on_stderr(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command) == 0

    captured = capsys.readouterr()
    header, *table = captured.out.splitlines()
    assert header == "reference (None), gen_kwargs: (None), limit: None, num_fewshot: None, batch_size: auto"
    assert table[-1].startswith("|Tiny |1.0    |none  |     0|exact_match|↑  |1.0000|±|0.0000|")
    assert captured.err.splitlines()[0] == "asking 3 answers"


def test_the_same_command_again_says_that_nothing_is_new(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    main(command)
    capsys.readouterr()

    assert main(command) == 0
    first = capsys.readouterr().err.splitlines()[0]
    assert first.startswith("kept 3 answers from 20")
    assert first.endswith(", nothing new to ask")


def test_the_verb_may_be_written(command: list[str], tmp_path: Path) -> None:
    assert main(["run", *command]) == 0

    assert [number.value for number in read_numbers(results(tmp_path))] == [1.0]


def test_the_results_file_is_in_the_run_folder_and_readers_of_the_layout_load_it(
    command: list[str], tmp_path: Path
) -> None:
    main([*command, "--run_id", "r1", "--metadata", '{"note": "x"}'])

    file = next((tmp_path / "runs" / "reference" / "r1").glob("results_*.json"))
    document = json.loads(file.read_text())
    assert [number.metric for number in read_numbers(document)] == ["exact_match"]
    assert document["n-samples"] == {"tiny": {"original": 3, "effective": 3}}
    assert document["config"]["note"] == "x"


def test_samples_are_written_when_they_are_asked_for_and_only_those_of_this_run(
    command: list[str], tmp_path: Path
) -> None:
    main(command)
    main([*command, "--limit", "2", "--log_samples"])

    _, samples = latest(tmp_path / "runs")
    rows = read_samples(samples["tiny"])
    assert [(row["doc_id"], row["target"], row["resps"], row["exact_match"]) for row in rows] == [
        (0, "answer 0", [["answer 0"]], 1.0),
        (1, "answer 1", [["answer 1"]], 1.0),
    ]
    assert results(tmp_path)["task_hashes"]["tiny"]


def test_no_samples_are_written_unasked(command: list[str], tmp_path: Path) -> None:
    main(command)

    assert latest(tmp_path / "runs")[1] == {}


def test_an_output_path_that_is_a_file_names_the_results(command: list[str], tmp_path: Path) -> None:
    main([*command, "--output_path", str(tmp_path / "here" / "mine.json")])

    assert len(list((tmp_path / "here").glob("mine_*.json"))) == 1


def test_a_limit_is_said_to_be_for_testing_only(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    main([*command, "--limit", "1"])

    assert "--limit is for testing only" in capsys.readouterr().err


def test_the_first_prompt_is_written_out_and_the_run_goes_on(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, "--write_out"]) == 0

    captured = capsys.readouterr()
    assert "--- tiny, sample 0, wants text\n[user]\nquestion 0\n---\n" in captured.err
    assert "|Tiny " in captured.out


def test_the_log_level_can_be_set(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    main([*command, "--limit", "1", "--verbosity", "ERROR"])

    assert "WARNING" not in capsys.readouterr().err


def test_the_configuration_is_shown_instead_of_a_run(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, "--limit", "0.5", "--show_config"]) == 0

    shown = yaml.safe_load(capsys.readouterr().out)
    assert (shown["tasks"], shown["limit"], shown["max_connections"]) == (["tiny"], 0.5, 64)
    assert not (tmp_path / "runs").exists()


def test_the_configuration_that_is_shown_can_be_read_back(tmp_path: Path) -> None:
    given = {
        **{"model": "openai", "model_args": ["model=m,n=2"], "tasks": ["a,b"], "role": ["judge=empty,x=1"]},
        **{"samples": '{"a": [1]}', "reasoning_tags": "none", "batch_size": "auto", "metric_args": '{"m": {"s": 1}}'},
        **{"gen_kwargs": ['stop=["a", "no"]'], "include_path": ["x"], "seed": "3", "strict": "true"},
    }
    settings = read_settings(given, {})
    file = tmp_path / "run.yaml"
    file.write_text(show_config(settings))

    again = read_settings({"config": str(file)}, {})

    values = {name: setting.value for name, setting in again.items() if name != "config"}
    assert values == {name: setting.value for name, setting in settings.items() if name != "config"}


def test_a_run_can_be_described_by_a_file_alone(command: list[str], tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    keys = {command[i].removeprefix("--"): command[i + 1] for i in range(0, len(command), 2)}
    file.write_text(yaml.safe_dump({**keys, "limit": 2}))

    assert main(["-C", str(file)]) == 0
    assert results(tmp_path)["config"]["limit"] == 2


@pytest.mark.parametrize(
    ("name", "shown"), [("list", "|Tag"), ("list_groups", "|Group"), ("list_subtasks", "|Task"), ("list_tags", "|Tag")]
)
def test_tasks_can_be_listed_as_users_know_it(name: str, shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--tasks", name]) == 0

    assert shown in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--limit", "2"], 2, "--tasks is missing; 'mmeval ls tasks' lists them"),
        (["-t", "tiny", "-M", "empty", "--data", "bundled", "--data_dir", "x"], 2, "--data and --data_dir exclude"),
        (["-t", "tiny", "-M", "empty", "--role", "jugde=empty"], 2, "--role jugde: no chosen task asks this role"),
        (
            ["-t", "tiny", "-M", "empty", "--offset", "99"],
            2,
            "tiny: no sample is left of the 3 in its data set; change",
        ),
        (["-t", "tiny", "-M", "empty", "--metadata", '{"limit": 1}'], 2, "--metadata: the results' config has limit"),
        (["-t", "tiny", "-M", "empty", "--metadata", '{"a": NaN}'], 2, "NaN is no JSON number"),
        (["-t", "tiny"], 2, "--model is missing"),
        (["-t", "tiny", "-M", "referense"], 2, 'did you mean "reference"'),
        (["-t", "nothing-like-it", "-M", "empty"], 2, "unknown task"),
        (["--num_fewshot", "5"], 2, "--num_fewshot has no effect here"),
        (["-f", "5"], 2, "--num_fewshot has no effect here"),
        (["--limits", "5"], 2, 'did you mean "--limit"'),
        (["stray"], 2, "unknown verb 'stray'"),
        (["run", "stray"], 2, "unexpected argument 'stray'"),
        (["-C", "none.yaml"], 4, "none.yaml does not exist"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_misuse_is_answered_with_what_to_do(
    words: list[str], code: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks = write_benchmark(tmp_path / "tasks")
    more = ["--include_path", str(tasks), "-o", str(tmp_path / "runs")] if "-t" in words else []

    assert main([*words, *more]) == code

    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.out == ""


def test_a_command_without_words_is_told_how_to_begin(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2

    captured = capsys.readouterr()
    assert captured.out == ""
    assert "mmeval --tasks TASK --model BACKEND" in captured.err
    assert "mmeval --help" in captured.err


def test_the_environment_alone_can_name_a_run(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for flag, value in zip(command[::2], command[1::2], strict=True):
        monkeypatch.setenv(f"MMEVAL_{flag.removeprefix('--').upper()}", value)

    assert main([]) == 0
    assert [number.value for number in read_numbers(results(tmp_path))] == [1.0]


def test_the_command_that_is_recorded_is_the_one_that_was_given(command: list[str], tmp_path: Path) -> None:
    main([*command, "--metadata", '{"api_key": "sk-1"}'])

    record = json.loads((tmp_path / "runs" / "reference" / "default" / "run.json").read_text())
    assert record["sessions"][0]["command"].startswith("mmeval --model reference --tasks tiny ")
    assert "sk-1" not in json.dumps(record)


def test_a_batch_size_without_effect_is_said(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command, "--batch_size", "4"]) == 0

    assert "--batch_size 4 has no effect: this backend takes one request at a time" in capsys.readouterr().err


def test_tasks_that_may_ask_the_same_are_counted_as_an_upper_limit(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_benchmark(tmp_path / "tasks", "other")

    main([*command, "--tasks", "tiny,other"])

    first = capsys.readouterr().err.splitlines()[0]
    assert first == "asking up to 6 answers: a task filters its rows, and asks those that it keeps"

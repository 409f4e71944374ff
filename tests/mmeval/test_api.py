from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import mmeval
from mmeval.backend.capabilities import Capabilities
from mmeval.content.parts import Interleaved
from mmeval.errors import EXIT_INCOMPLETE, IdentityChangedError, Interrupted, UnknownNameError, UsageError
from mmeval.records.request import Request
from mmeval.records.response import Response
from tests.support.lm_eval_reader import read_numbers
from tests.support.task_folder import write_rows
from tests.support.tiny_benchmark import write_benchmark
from tests.support.toy import asked_text


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the task ``tiny`` of three rows, where runs and temporary folders go."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.chdir(tmp_path)
    write_benchmark(tmp_path / "tasks")
    yield tmp_path


class Mine:
    """A backend that is made by its user: answers ``question 7`` with ``answer 7``; what holds ``fail`` fails."""

    capabilities = Capabilities.of(("text",), ("text",))
    provenance: Mapping[str, Any] = {}

    def __init__(self, model: str = "mine-1") -> None:
        self.identity = {"backend": "mine", "model": model}
        self.asked: list[str] = []
        self.closed = 0

    async def generate(self, request: Request) -> Response:
        self.asked.append(asked_text(request))
        if "fail" in asked_text(request):
            return Response.failed("server", "as told")
        return Response(Interleaved.from_text(asked_text(request).replace("question", "answer")))

    async def close(self) -> None:
        self.closed += 1


USUAL: dict[str, Any] = {"include_path": ["tasks"], "score_workers": 0, "retry_on_error": 0}


def evaluated(model: Any = "reference", tasks: Any = "tiny", **flags: Any) -> mmeval.Evaluation:
    return mmeval.evaluate(model=model, tasks=tasks, **{**USUAL, **flags})


def simply(model: Any = "reference", tasks: Any = ("tiny",), **given: Any) -> dict[str, Any]:
    return mmeval.simple_evaluate(model, tasks=tasks, **{**USUAL, **given})


def test_an_evaluation_has_what_the_command_leaves(capfd: pytest.CaptureFixture[str]) -> None:
    found = evaluated()

    assert (found.exit_code, found.folder, found.complaints) == (0, Path("runs/reference/default"), ())
    assert [(result.metric, result.value) for result in found.results] == [("exact_match", 1.0)]
    assert json.loads(next(found.folder.glob("results_*.json")).read_text()) == found.document
    assert "|Tiny |" in found.table
    assert capfd.readouterr().out == ""


def test_an_evaluation_is_short_to_look_at_and_prints_its_table() -> None:
    found = evaluated()

    assert repr(found) == "<Evaluation in runs/reference/default: exit code 0, 1 numbers, first tiny exact_match=1.0>"
    assert str(found) == found.table


def test_a_backend_object_answers_and_is_closed(here: Path) -> None:
    mine = Mine()
    found = evaluated(mine)

    assert (sorted(mine.asked), mine.closed) == (["question 0", "question 1", "question 2"], 1)
    assert (found.folder, found.results[0].value) == (Path("runs/mine-1/default"), 1.0)


def test_the_same_call_again_asks_nothing() -> None:
    evaluated(Mine())
    again = Mine()

    assert (evaluated(again).results[0].value, again.asked) == (1.0, [])


def test_a_folder_of_another_backend_is_refused() -> None:
    evaluated(Mine(), model_tag="one")

    with pytest.raises(IdentityChangedError, match="the run changed"):
        evaluated(Mine("mine-2"), model_tag="one")


def test_what_failed_is_in_the_exit_code_and_in_the_complaints() -> None:
    write_rows(Path("tasks/data"), {"input": "question 0", "references": ["answer 0"]}, {"input": "fail"})
    found = evaluated(Mine())

    assert (found.exit_code, found.results[0].failed) == (EXIT_INCOMPLETE, 1)
    assert found.complaints[0] == "1 trial failed (server 1); the same command asks them again"


def test_what_a_script_has_registered_is_scored_again_by_the_same_call_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmeval.plugins.any_of_script", lambda: True)
    write_rows(Path("tasks/data"), {"input": "question 0"}, {"input": "fail"})
    found = evaluated(Mine(), score_workers=0)

    assert found.complaints[0] == "1 trial failed (server 1); the same call asks them again"
    assert not any("mmeval score" in complaint for complaint in found.complaints)


INLINE = {
    "task": "inline",
    "dataset_path": "tasks/data",
    "metric_list": [{"metric": "exact_match"}],
    "metadata": {"version": 1},
}


@pytest.mark.parametrize(
    ("tasks", "names"),
    [
        ("tiny", ["tiny"]),
        (["tiny"], ["tiny"]),
        (Path("tasks/tiny.yaml"), ["tiny"]),
        (INLINE, ["inline"]),
        (["tiny", INLINE], ["tiny", "inline"]),
        ([{"group": "both", "task": ["tiny"], "metadata": {"version": 1}}], ["tiny"]),
    ],
    ids=["a name", "a list", "a path", "the content of a file", "a name and a content", "a group"],
)
def test_tasks_are_names_paths_or_contents(tasks: Any, names: list[str]) -> None:
    assert [result.task for result in evaluated(tasks=tasks).results] == names


def test_a_known_task_with_other_keys() -> None:
    found = evaluated(Mine(), {"task": "tiny", "repeats": 2})

    assert found.results[0].n == 6


def test_a_content_that_is_no_task_names_its_fault() -> None:
    with pytest.raises(UsageError, match=r'metric_lst: unknown key.*did you mean "metric_list"'):
        evaluated(tasks={**INLINE, "metric_lst": []})


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ({"limti": 3}, "there is no argument 'limti'; did you mean \"limit\"?"),
        ({"limit": -1}, "limit: a count of samples"),
        ({"num_fewshot": 5}, "num_fewshot has no effect here"),
        ({"verbosity": "DEBUG"}, "verbosity has no effect here: set the level of logging"),
        ({"samples": {"tiny": [0]}, "limit": 1}, "samples and limit exclude each other"),
    ],
    ids=str,
)
def test_what_cannot_be_used_is_refused_by_name(flags: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        evaluated(**flags)
    assert str(caught.value).startswith(said)
    assert not Path("runs").exists()


@pytest.mark.parametrize("model", [3, object(), Mine], ids=["a number", "an object", "a class"])
def test_what_is_no_backend_is_refused(model: Any) -> None:
    with pytest.raises(UsageError, match="model"):
        evaluated(model)


@pytest.mark.parametrize(("name", "value"), [("model_args", {"a": 1}), ("device", "cpu")])
def test_arguments_for_a_backend_that_is_made_already_are_refused(name: str, value: Any) -> None:
    with pytest.raises(UsageError, match=f"{name} has no effect here: the model is made already"):
        evaluated(Mine(), **{name: value})


def test_an_unknown_task_is_an_exception_with_the_exit_code_of_the_command() -> None:
    with pytest.raises(UnknownNameError, match="unknown task") as caught:
        evaluated(tasks="tyni")
    assert caught.value.exit_code == 2


def test_a_configuration_file_is_read_and_keywords_win() -> None:
    Path("run.yaml").write_text("model: reference\ntasks: tiny\nlimit: 1\nscore_workers: 0\ninclude_path: tasks\n")

    assert mmeval.evaluate(config="run.yaml").results[0].n == 1
    assert mmeval.evaluate(config="run.yaml", limit=2).results[0].n == 2


def test_variables_of_the_environment_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MMEVAL_LIMIT", "1")

    assert evaluated().results[0].n == 3


def test_it_works_where_an_event_loop_is_running() -> None:
    async def notebook() -> mmeval.Evaluation:
        return evaluated(Mine())

    assert asyncio.run(notebook()).results[0].value == 1.0


def test_nothing_of_the_process_is_left_changed() -> None:
    def state() -> tuple[Any, ...]:
        signals = tuple(signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM))
        loggers = (list(logging.getLogger().handlers), logging.getLogger("mmeval").level)
        return signals, gc.get_threshold(), gc.get_freeze_count(), loggers, threading.active_count(), sys.stdout

    before = state()
    evaluated(Mine(), score_workers=1)
    assert state() == before


class Stopped(Mine):
    """The user presses Ctrl-C at its fourth request."""

    async def generate(self, request: Request) -> Response:
        if len(self.asked) == 3:
            os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(0.05)
        return await super().generate(request)


def test_ctrl_c_in_a_cell_stops_the_run_and_the_next_call_continues(here: Path) -> None:
    write_benchmark(here / "tasks", rows=20)
    stopped, rest = Stopped(), Mine()

    async def cell() -> None:
        evaluated(stopped, max_connections=1)

    with asyncio.Runner() as notebook, pytest.raises(Interrupted, match="everything that was answered is saved"):
        notebook.get_loop().run_until_complete(cell())
    assert evaluated(rest).exit_code == 0
    assert 4 <= len(stopped.asked) < 20
    assert len(stopped.asked) + len(rest.asked) == 20


def test_simple_evaluate_gives_the_harness_s_dictionary_with_samples() -> None:
    found = simply(limit=2)

    assert [(number.task, number.value) for number in read_numbers(found)] == [("tiny", 1.0)]
    assert found["n-samples"]["tiny"] == {"original": 3, "effective": 2}
    assert [row["resps"] for row in found["samples"]["tiny"]] == [[["answer 0"]], [["answer 1"]]]
    assert {"results", "configs", "versions", "n-shot", "higher_is_better", "config"} <= found.keys()


def test_simple_evaluate_asks_anew_each_time_and_leaves_no_folder(here: Path) -> None:
    mine = Mine()

    for _ in range(2):
        assert "samples" not in simply(mine, log_samples=False)
    assert len(mine.asked) == 6
    assert not list((here / "temporary").iterdir())
    assert not Path("runs").exists()


def test_simple_evaluate_keeps_and_continues_a_run_where_it_is_told() -> None:
    simply(Mine(), output_path="kept")
    again = Mine()
    simply(again, output_path="kept")

    assert again.asked == []


def test_what_was_answered_survives_a_failing_simple_evaluate(here: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Odd(Mine):
        async def generate(self, request: Request) -> Response:
            if len(self.asked) == 2:
                raise UsageError("no further")
            return await super().generate(request)

    with pytest.raises(UsageError, match="no further"):
        simply(Odd(), max_connections=1)
    (folder,) = (here / "temporary").iterdir()
    assert f"what was answered is kept in {folder}" in caplog.text
    rest = Mine()
    simply(rest, output_path=folder)
    assert len(rest.asked) == 1


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"num_fewshot": 3}, "num_fewshot has no effect here"),
        ({"device": "cuda"}, "device has no effect here"),
        ({"numpy_random_seed": 5}, "seed: only the first seed has a use here"),
        ({"cache_requests": True}, "cache_requests has no effect here"),
        ({"task_manager": object()}, "task_manager has no effect here: give include_path"),
        ({"seed": 3}, "seed has no effect here: write random_seed"),
        ({"apply_chat_template": True}, "apply_chat_template has no effect here"),
    ],
    ids=lambda given: next(iter(given)) if isinstance(given, dict) else "",
)
def test_arguments_of_the_harness_without_an_effect_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        simply(**given)
    assert str(caught.value).startswith(said)


def test_defaults_of_the_harness_that_are_spelt_out_are_taken() -> None:
    spelt: dict[str, Any] = {
        **{"num_fewshot": 0, "cache_requests": False, "rewrite_requests_cache": False, "check_integrity": False},
        **{"apply_chat_template": False, "fewshot_as_multiturn": False, "task_manager": None, "random_seed": 0},
        **{"verbosity": None, "write_out": False, "delete_requests_cache": False, "confirm_run_unsafe_code": False},
    }

    assert simply(**spelt)["results"]["tiny"]["exact_match,none"] == 1.0


def test_a_prediction_alone_has_samples_and_no_numbers() -> None:
    found = simply(predict_only=True)

    assert (read_numbers(found), len(found["samples"]["tiny"])) == ([], 3)


def test_other_arguments_of_the_harness_have_the_meaning_of_the_flags() -> None:
    given: dict[str, Any] = {"system_instruction": "be brief", "gen_kwargs": "temperature=0.5", "batch_size": 1}
    found = simply(limit=1, samples=None, use_cache=None, bootstrap_iters=0, metadata={"note": "x"}, **given)

    assert found["n-samples"]["tiny"]["effective"] == 1
    config = found["config"]
    assert (config["gen_kwargs"], config["note"], config["bootstrap_iters"]) == ({"temperature": 0.5}, "x", 0)
    assert found["samples"]["tiny"][0]["arguments"]["gen_args_0"]["arg_0"].startswith("system: be brief")


def test_the_names_of_the_package_are_there_and_no_others() -> None:
    assert set(mmeval.__all__) <= set(dir(mmeval))
    assert all(getattr(mmeval, name) for name in mmeval.__all__)
    with pytest.raises(AttributeError, match="module 'mmeval' has no attribute 'evalute'"):
        getattr(mmeval, "evalute")  # noqa: B009  a misspelt name


def test_a_script_that_evaluates_prints_what_it_prints_and_nothing_else(here: Path) -> None:
    script = (
        "import mmeval\n"
        "found = mmeval.evaluate(model='reference', tasks='tiny', include_path='tasks', score_workers=2)\n"
        "print(found.exit_code)\n"
    )
    started = time.monotonic()
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)

    assert (done.stdout, done.stderr, time.monotonic() - started < 50) == ("0\n", "", True)


def test_a_script_without_a_guard_may_evaluate_where_a_loop_is_running(here: Path) -> None:
    script = (
        "import asyncio, mmeval\n"
        "async def cell():\n"
        "    return mmeval.evaluate(model='reference', tasks='tiny', include_path='tasks', score_workers=2)\n"
        "print(asyncio.run(cell()).results[0].value)\n"
    )
    (here / "cell.py").write_text(script)
    done = subprocess.run([sys.executable, "cell.py"], capture_output=True, text=True, timeout=60)

    assert (done.stdout, done.stderr) == ("1.0\n", "")

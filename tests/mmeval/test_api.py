import asyncio
import gc
import json
import logging
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import mmeval
from mmeval.backend.capabilities import Capabilities
from mmeval.errors import EXIT_INCOMPLETE, IdentityChangedError, Interrupted, UsageError
from mmeval.media.parts import Interleaved
from mmeval.records.request import Request
from mmeval.records.response import Response
from mmeval.run import interrupt
from tests.support.questions import write_benchmark
from tests.support.readers import read_numbers
from tests.support.task_folder import write_rows
from tests.support.toy import asked_text


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the task ``tiny`` of three rows, where runs and temporary folders
    go."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.chdir(tmp_path)
    write_benchmark(tmp_path / "tasks")
    return tmp_path


class Mine:
    """A backend that is made by its user: answers ``question 7`` with ``answer 7``;
    what holds ``fail`` fails."""

    capabilities = Capabilities.of(("text",), ("text",))
    provenance: Mapping[str, Any] = {}

    def __init__(self, model: str = "mine-1") -> None:
        self.identity = {"backend": "mine", "model": model}
        self.asked: list[str] = []
        self.closed = 0

    async def generate(self, request: Request) -> Response:
        self.asked.append(asked_text(request))
        if "fail" in asked_text(request):
            return Response.failed("server", "as asked")
        return Response(
            Interleaved.from_text(asked_text(request).replace("question", "answer"))
        )

    async def close(self) -> None:
        self.closed += 1


USUAL: dict[str, Any] = {
    "include_path": ["tasks"],
    "score_workers": 0,
    "retry_on_error": 0,
}


def evaluated(
    model: Any = "reference", tasks: Any = "tiny", **flags: Any
) -> mmeval.Evaluation:
    return mmeval.evaluate(model=model, tasks=tasks, **{**USUAL, **flags})


def simply(
    model: Any = "reference", tasks: Any = ("tiny",), **given: Any
) -> dict[str, Any]:
    return mmeval.simple_evaluate(model, tasks=tasks, **{**USUAL, **given})


def test_an_evaluation_has_what_the_command_leaves(
    capfd: pytest.CaptureFixture[str],
) -> None:
    found = evaluated()
    assert (found.exit_code, found.folder, found.findings) == (
        0,
        Path("runs/reference/default"),
        (),
    )
    assert [(result.metric, result.value) for result in found.results] == [
        ("exact_match", 1.0)
    ]
    assert (
        json.loads(next(found.folder.glob("results_*.json")).read_text())
        == found.document
    )
    assert ("Tiny, exact_match" in found.table, str(found), capfd.readouterr().out) == (
        True,
        found.table,
        "",
    )
    assert all(
        part in repr(found)
        for part in ("runs/reference/default", "exit code 0, 1", "tiny exact_match=1.0")
    )


def test_a_backend_object_answers_is_closed_and_is_not_asked_again_by_the_same_call() -> (
    None
):
    mine, again = Mine(), Mine()
    found = evaluated(mine)
    assert (sorted(mine.asked), mine.closed) == (
        ["question 0", "question 1", "question 2"],
        1,
    )
    assert (found.folder, found.results[0].value) == (Path("runs/mine-1/default"), 1.0)
    assert (evaluated(again).results[0].value, again.asked) == (1.0, [])
    with pytest.raises(IdentityChangedError):
        evaluated(Mine("mine-2"), model_tag="mine-1")


def test_what_failed_is_in_exit_code_and_findings() -> None:
    write_rows(Path("tasks/tiny_data"), {"input": "question 0"}, {"input": "fail"})
    found = evaluated(Mine())
    assert (found.exit_code, found.results[0].failed) == (EXIT_INCOMPLETE, 1)
    (failed,) = [one for one in found.findings if one.kind == "failed"]
    assert (failed.kind, failed.subject.name, failed.count) == ("failed", "server", 1)


INLINE: dict[str, Any] = {
    "task": "inline",
    "dataset_path": "tasks/tiny_data",
    "metric_list": [{"metric": "exact_match"}],
}
INLINE["metadata"] = {"version": 1}


@pytest.mark.parametrize(
    ("tasks", "found"),
    [
        ("tiny", {"tiny": 3}),
        (Path("tasks/tiny.yaml"), {"tiny": 3}),
        (INLINE, {"inline": 3}),
        (
            [{"group": "both", "task": ["tiny"], "metadata": {"version": 1}}],
            {"tiny": 3},
        ),
        ({"task": "tiny", "repeats": 2}, {"tiny": 6}),
    ],
    ids=["a name", "a path", "a content", "a group", "a known task with other keys"],
)
def test_tasks_are_names_paths_or_contents(tasks: Any, found: dict[str, int]) -> None:
    assert {
        result.task: result.n for result in evaluated(Mine(), tasks=tasks).results
    } == found


def test_what_cannot_be_used_is_refused_by_name() -> None:
    refused: list[tuple[str, dict[str, Any]]] = [
        ("limti", {"limti": 3}),
        ("verbosity", {"verbosity": "DEBUG"}),
        ("model", {"model": 3}),
        ("model", {"model": Mine}),
        ("model_args", {"model": Mine(), "model_args": {"a": 1}}),
        ("metric_lst", {"tasks": {**INLINE, "metric_lst": []}}),
    ]
    for name, flags in refused:
        with pytest.raises(UsageError) as caught:
            evaluated(**flags)
        assert (caught.value.name, Path("runs").exists()) == (name, False)


def test_a_configuration_file_is_read_keywords_win_and_variables_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path("run.yaml").write_text(
        "model: reference\ntasks: tiny\nlimit: 1\nscore_workers: 0\ninclude_path: "
        "tasks\n"
    )
    assert mmeval.evaluate(config="run.yaml").results[0].n == 1
    assert mmeval.evaluate(config="run.yaml", limit=2).results[0].n == 2
    monkeypatch.setenv("MMEVAL_LIMIT", "1")
    assert evaluated().results[0].n == 3


def test_nothing_of_the_process_is_left_changed() -> None:
    def state() -> tuple[Any, ...]:
        signals = tuple(
            signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)
        )
        loggers = (
            list(logging.getLogger().handlers),
            logging.getLogger("mmeval").level,
        )
        return (
            signals,
            gc.get_threshold(),
            gc.get_freeze_count(),
            loggers,
            threading.active_count(),
            sys.stdout,
        )

    before = state()
    evaluated(Mine(), score_workers=1)
    assert state() == before


class Stopped(Mine):
    """The user presses Ctrl-C at its fourth request, which is answered once the run
    knows."""

    noticed = threading.Event()

    async def generate(self, request: Request) -> Response:
        if len(self.asked) == 3:
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.to_thread(self.noticed.wait)
        return await super().generate(request)


def test_ctrl_c_in_a_cell_stops_the_run_and_the_next_call_continues(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_benchmark(here / "tasks", rows=20)
    stopped, rest, stop = Stopped(), Mine(), interrupt.interrupt_thread

    def stop_and_tell(thread: int) -> None:
        stop(thread)
        stopped.noticed.set()

    monkeypatch.setattr(interrupt, "interrupt_thread", stop_and_tell)

    async def cell() -> None:
        evaluated(stopped, max_connections=1)

    with asyncio.Runner() as notebook, pytest.raises(Interrupted):
        notebook.get_loop().run_until_complete(cell())
    assert evaluated(rest).exit_code == 0
    assert (len(stopped.asked), len(rest.asked)) == (4, 16)


def test_simple_evaluate_gives_the_harness_s_dictionary_with_samples() -> None:
    predicted = simply(predict_only=True)
    assert (read_numbers(predicted), len(predicted["samples"]["tiny"])) == ([], 3)
    found = simply(limit=2)
    assert [(number.task, number.value) for number in read_numbers(found)] == [
        ("tiny", 1.0)
    ]
    assert found["n-samples"]["tiny"] == {"original": 3, "effective": 2}
    assert [row["resps"] for row in found["samples"]["tiny"]] == [
        [["answer 0"]],
        [["answer 1"]],
    ]
    assert {
        "results",
        "configs",
        "versions",
        "n-shot",
        "higher_is_better",
        "config",
    } <= found.keys()


def test_simple_evaluate_asks_anew_each_time_and_leaves_no_folder_but_one_that_is_named(
    here: Path,
) -> None:
    mine, again = Mine(), Mine()
    for _ in range(2):
        assert "samples" not in simply(mine, log_samples=False)
    assert (
        len(mine.asked),
        list((here / "temporary").iterdir()),
        Path("runs").exists(),
    ) == (6, [], False)
    for model in (mine, again):
        simply(model, output_path="kept")
    assert again.asked == []


def test_what_was_answered_survives_a_failing_simple_evaluate(
    here: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Odd(Mine):
        async def generate(self, request: Request) -> Response:
            if len(self.asked) == 2:
                raise UsageError("no further")
            return await super().generate(request)

    with pytest.raises(UsageError, match="no further"):
        simply(Odd(), max_connections=1)
    (folder,) = (here / "temporary").iterdir()
    assert str(folder) in caplog.text
    rest = Mine()
    simply(rest, output_path=folder)
    assert len(rest.asked) == 1


def test_arguments_of_the_harness_without_an_effect_are_refused() -> None:
    refused: dict[str, Any] = {
        "num_fewshot": 3,
        "device": "cuda",
        "cache_requests": True,
        "task_manager": object(),
    }
    for name, value in {
        **refused,
        "seed": 3,
        "apply_chat_template": True,
        "numpy_random_seed": 5,
    }.items():
        with pytest.raises(UsageError) as caught:
            simply(**{name: value})
        assert caught.value.name == name.removeprefix("numpy_random_")


def test_other_arguments_of_the_harness_have_the_meaning_of_the_flags_and_spelt_out_defaults_none() -> (
    None
):
    given: dict[str, Any] = {
        "system_instruction": "be brief",
        "gen_kwargs": "temperature=0.5",
        "batch_size": 1,
    }
    found = simply(
        limit=1,
        samples=None,
        use_cache=None,
        bootstrap_iters=0,
        metadata={"note": "x"},
        **given,
    )
    config = found["config"]
    assert found["n-samples"]["tiny"]["effective"] == 1
    assert (config["gen_kwargs"], config["note"], config["bootstrap_iters"]) == (
        {"temperature": 0.5},
        "x",
        0,
    )
    assert found["samples"]["tiny"][0]["arguments"]["gen_args_0"]["arg_0"].startswith(
        "system: be brief"
    )
    false = (
        "cache_requests",
        "rewrite_requests_cache",
        "delete_requests_cache",
        "check_integrity",
        "write_out",
    )
    also = ("apply_chat_template", "fewshot_as_multiturn", "confirm_run_unsafe_code")
    spelt: dict[str, Any] = {
        **dict.fromkeys((*false, *also), False),
        **dict.fromkeys(("task_manager", "verbosity")),
    }
    assert (
        simply(**spelt, num_fewshot=0, random_seed=0)["results"]["tiny"][
            "exact_match,none"
        ]
        == 1.0
    )


def test_the_names_of_the_package_are_there_and_no_others() -> None:
    assert set(mmeval.__all__) <= set(dir(mmeval))
    assert all(getattr(mmeval, name) for name in mmeval.__all__)
    with pytest.raises(AttributeError, match="evalute"):
        getattr(mmeval, "evalute")  # noqa: B009  a misspelt name

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mmeval.cli.run import read_settings
from mmeval.results.board import BoardRun, read_board
from mmeval.settings.models import read_models
from mmeval.several.plans import CommandPlan, plan_models
from mmeval.several.runs import ModelRun
from mmeval.several.summary import summary_text, write_board_of
from tests.support.stored_runs import WrittenTrial, text, write_run


def planned(folder: Path, names: Sequence[str]) -> CommandPlan:
    entries = "".join(f"  - {{name: '{name}', model: empty}}\n" for name in names)
    file = folder / "models.yaml"
    file.write_text(f"tasks: ask\nmodels:\n{entries}")
    models = read_models(file)
    assert models is not None
    command_line = {"config": str(file), "output_path": str(folder / "runs")}
    shared = read_settings(command_line, {}, models)
    return plan_models(models, shared, command_line, {}, command="mmeval run")


def finished(plan: CommandPlan, names: Sequence[str], **number: Any) -> None:
    """Writes the runs of some models, in which everything was scored with 0.5."""
    metric = {"outputs": ["right"], "range": [0, 1], "aggregation": "mean"}
    results: dict[str, Any] = {"metrics": {"ask": {"right": metric}}}
    if number:
        row = {"task": "ask", "metric": "right", "n": 8, **number}
        results["results"] = [row]
    trials = []
    for place in range(8):
        score = {"right": {"value": 0.5, "status": "scored"}}
        trials.append(
            WrittenTrial([text("?")], [text("!")], score, place=place),
        )
    for model in plan.models:
        if model.entry.name in names:
            name = model.entry.name
            write_run(
                model.folder,
                trials,
                task="ask",
                results=results,
                model=name,
            )


def summary(plan: CommandPlan, runs: Sequence[ModelRun] = (), width: int = 80) -> str:
    return summary_text(write_board_of(plan), runs, plan.board, width)


def test_a_model_is_a_column_and_a_task_a_row(tmp_path: Path) -> None:
    plan = planned(tmp_path, ["a", "b"])
    finished(plan, ["a", "b"])
    header, row, *_ = summary(plan).splitlines()
    assert header.split() == ["a", "b"]
    assert row.split("  ")[0] == "ask, right"
    assert row.count("0.500 [0.40, 0.60]") == 2


def test_models_that_do_not_fit_are_in_a_band_below(tmp_path: Path) -> None:
    names = [f"model-{number}" for number in range(5)]
    plan = planned(tmp_path, names)
    finished(plan, names)
    runs = [ModelRun(model, 0) for model in plan.models]
    lines = summary(plan, runs, width=60).splitlines()
    headers = [line.split() for line in lines if line.strip().startswith("model-")]
    assert headers == [names[:2], names[2:4], names[4:]]


def test_the_name_of_a_metric_is_not_cut_off(tmp_path: Path) -> None:
    plan = planned(tmp_path, ["a"])
    metric = "the_share_of_all_right_answers"
    finished(
        plan,
        ["a"],
        value=0.5,
        scored=8,
        metric=metric,
    )
    assert f"ask, {metric}  " in summary(plan)


def test_numbers_of_an_earlier_command_are_noted(tmp_path: Path) -> None:
    plan = planned(tmp_path, ["a", "b", "c"])
    finished(plan, ["a", "b", "c"])
    runs = [ModelRun(plan.models[0], 0), ModelRun(plan.models[1], 3, "it is away")]
    assert "From an earlier command: b, c." in summary(plan, runs)


def test_numbers_of_this_command_have_no_note(tmp_path: Path) -> None:
    plan = planned(tmp_path, ["a"])
    finished(plan, ["a"])
    assert "earlier" not in summary(plan, [ModelRun(plan.models[0], 3)])


def test_lost_trials_are_marked(tmp_path: Path) -> None:
    plan = planned(tmp_path, ["a"])
    finished(plan, ["a"], value=0.5, scored=7, failed=1)
    words = summary(plan)
    assert "0.500*" in words
    assert "*: some of its trials are lost." in words


def test_the_board_leaves_out_models_without_results(tmp_path: Path) -> None:
    plan = planned(tmp_path, ["a", "b"])
    finished(plan, ["b"])
    summary(plan)
    rows = read_board(plan.board).rows
    assert rows == (BoardRun(tmp_path / "runs" / "b" / "default", "b"),)


def test_without_any_results_there_is_no_board(tmp_path: Path) -> None:
    plan = planned(tmp_path, ["a"])
    failed = ModelRun(plan.models[0], 3, "it is away")
    assert summary(plan, [failed]) == "not complete  a: it is away\n"
    assert not plan.board.exists()


def test_a_damaged_run_is_named_beside_the_table_of_the_others(
    tmp_path: Path,
) -> None:
    plan = planned(tmp_path, ["a", "b"])
    finished(plan, ["a", "b"])
    (plan.models[0].folder / "run.json").write_text("{")
    words = summary(plan)
    assert words.startswith("not readable  a:")
    assert "0.500 [0.40, 0.60]" in words


def test_control_characters_of_an_error_are_not_printed(tmp_path: Path) -> None:
    plan = planned(tmp_path, ["a"])
    failed = ModelRun(plan.models[0], 3, "red \x1b[31m text")
    assert "\x1b" not in summary(plan, [failed])

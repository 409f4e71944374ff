from pathlib import Path
from typing import Any

from mmeval.cli.run import read_settings
from mmeval.settings.models import read_models
from mmeval.several.plans import CommandPlan, plan_models

CONFIG = """\
tasks: ask
judge: {backend: reference}
models:
  - {name: a, model: reference, group: Bounds}
  - {name: b, model: empty, max_connections: 3}
  - {name: c, model: empty}
"""


def planned(folder: Path, text: str = CONFIG, **flags: Any) -> CommandPlan:
    file = folder / "models.yaml"
    file.write_text(text)
    models = read_models(file)
    assert models is not None
    command_line = {"config": str(file), "output_path": str(folder / "runs"), **flags}
    shared = read_settings(command_line, {}, models)
    return plan_models(models, shared, command_line, {}, command="mmeval run")


def judge_connections(plan: CommandPlan) -> list[Any]:
    connections = []
    for model in plan.chosen:
        judge = model.run.options.roles["judge"]
        connections.append(judge.args.get("max_connections"))
    return connections


def test_a_model_has_its_name_as_folder(tmp_path: Path) -> None:
    folders = [model.folder for model in planned(tmp_path).models]
    runs = tmp_path / "runs"
    assert folders == [runs / name / "default" for name in "abc"]


def test_the_board_has_the_name_of_the_run(tmp_path: Path) -> None:
    plan = planned(tmp_path, run_id="night")
    assert plan.board == tmp_path / "runs" / "night.board.yaml"


def test_an_entry_overrides_the_file_and_a_flag_overrides_both(tmp_path: Path) -> None:
    text = f"max_connections: 7\n{CONFIG}"
    limits = [
        model.run.options.max_connections for model in planned(tmp_path, text).models
    ]
    assert limits == [7, 3, 7]
    of_flag = planned(tmp_path, text, max_connections="9").models
    assert {model.run.options.max_connections for model in of_flag} == {9}


def test_models_side_by_side_share_the_connections_of_a_judge(tmp_path: Path) -> None:
    plan = planned(tmp_path, max_connections="8", jobs="2")
    assert judge_connections(plan) == [4, 4, 4]


def test_a_judge_keeps_its_own_limit_shared_and_at_least_one(tmp_path: Path) -> None:
    text = CONFIG.replace(
        "backend: reference", "backend: reference, max_connections: 2"
    )
    assert judge_connections(planned(tmp_path, text, jobs="3")) == [1, 1, 1]


def test_models_in_turn_leave_the_judge_its_connections(tmp_path: Path) -> None:
    assert judge_connections(planned(tmp_path)) == [None, None, None]


def test_no_more_models_run_at_once_than_are_chosen(tmp_path: Path) -> None:
    assert planned(tmp_path, jobs="8", only=["c"]).jobs == 1


def test_settings_of_the_command_are_not_recorded_with_a_run(tmp_path: Path) -> None:
    (model,) = planned(tmp_path, jobs="8", only=["c"]).chosen
    assert not {"jobs", "only"} & model.run.options.settings.keys()
    assert model.run.options.settings["model_tag"] == "c"

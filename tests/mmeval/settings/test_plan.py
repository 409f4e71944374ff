from pathlib import Path
from typing import Any

from mmeval.cli.run import read_settings
from mmeval.settings.plan import RunPlan, as_config, make_plan


def plan(**flags: Any) -> RunPlan:
    return make_plan(read_settings({"model": "reference", **flags}, {}))


def test_an_output_path_that_is_a_file_names_the_results_file() -> None:
    actual = plan(output_path="here/mine.json")
    assert actual.options.output_path == Path("here")
    assert (actual.report.folder, actual.report.stem) == (Path("here"), "mine")


def test_settings_are_recorded_without_secrets() -> None:
    flags: dict[str, Any] = {
        "model_args": ["api_key=sk-1,model=m"],
        "system_instruction": "be brief",
    }
    settings = read_settings(
        {"model": "reference", "role": ["judge=openai,token=t"], **flags}, {}
    )
    for record in (as_config(settings), make_plan(settings).options.settings):
        assert record["model_args"] == {"api_key": "***", "model": "m"}
        assert record["system_instruction"] == "be brief"
    assert as_config(settings)["role"] == {
        "judge": {"backend": "openai", "token": "***"}
    }

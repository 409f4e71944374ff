from pathlib import Path
from typing import Any

import pytest

from mmeval.cli.run import read_settings
from mmeval.errors import UsageError
from mmeval.settings.plan import as_config, make_plan


def settings(**given: Any) -> Any:
    return read_settings({"model": "reference", **given}, {})


@pytest.mark.parametrize("other", [{"limit": "5"}, {"offset": "5"}])
def test_samples_by_index_and_by_count_exclude_each_other(other: dict[str, str]) -> None:
    with pytest.raises(UsageError, match=r"--samples and --(limit|offset) exclude each other"):
        make_plan(settings(samples='{"t": [0]}', **other))


def test_bundled_data_and_a_folder_of_data_exclude_each_other() -> None:
    with pytest.raises(UsageError, match="--data and --data_dir exclude each other"):
        make_plan(settings(data="bundled", data_dir="/data"))


def test_metadata_that_would_forge_the_results_are_refused() -> None:
    with pytest.raises(UsageError, match="--metadata: the results' config has model of its own"):
        make_plan(settings(metadata='{"model": "x"}'))


def test_the_settings_that_a_later_report_shows_go_with_the_run_without_secrets() -> None:
    recorded = make_plan(settings(model_args=["api_key=sk-1"], system_instruction="be brief")).options.settings

    assert (recorded["model_args"], recorded["system_instruction"]) == ({"api_key": "***"}, "be brief")


def test_a_missing_model_is_said_with_the_backends_that_there_are() -> None:
    with pytest.raises(UsageError, match=r"--model is missing; the backends are: .*reference"):
        make_plan(read_settings({}, {}))


def test_an_output_path_that_is_a_file_names_the_results_file() -> None:
    plan = make_plan(settings(output_path="here/mine.json"))

    assert plan.options.output_path == Path("here")
    assert (plan.report.folder, plan.report.stem) == (Path("here"), "mine")


def test_the_report_shows_the_settings_of_the_run() -> None:
    report = make_plan(settings(model_args=["a=1"], gen_kwargs=["top_k=5"], limit="3", batch_size="2", seed="4")).report

    assert (report.model, report.model_args, report.gen_kwargs) == ("reference", {"a": 1}, {"top_k": 5})
    assert (report.limit, str(report.batch_size), report.seed) == (3, "2", 4)


def test_secrets_are_not_recorded() -> None:
    found = settings(model_args=["api_key=sk-1,model=m"], role=["judge=openai,token=t"])

    record = as_config(found)

    assert record["model_args"] == {"api_key": "***", "model": "m"}
    assert record["role"] == {"judge": {"backend": "openai", "token": "***"}}

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmeval.run.options import BackendSpec, RunOptions
from mmeval.run.preparation import model_name, run_path


def test_a_run_lies_under_its_model_and_its_id() -> None:
    options = RunOptions(
        model=BackendSpec("hf", {"pretrained": "org/m"}), output_path=Path("runs")
    )
    changes: list[dict[str, Any]] = [{}, {"model_tag": "my tag"}, {"run_id": "night/7"}]
    paths = [str(run_path(replace(options, **change))) for change in changes]
    assert paths == [
        "runs/org__m/default",
        "runs/my__tag/default",
        "runs/org__m/night__7",
    ]
    assert (
        model_name(RunOptions(model=BackendSpec("empty"), output_path=Path()))
        == "empty"
    )


def name_of(backend: str, **args: str) -> str:
    options = RunOptions(model=BackendSpec(backend, args), output_path=Path())
    return model_name(options)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/data/models/my-model", "my-model"),
        ("/data/models/my-model/", "my-model"),
        ("./models/../my-model", "my-model"),
        ("~/my-model", "my-model"),
        ("models/my-model", "my-model"),
        ("/hub/models--org--my-model/snapshots/0a1b2c", "org/my-model"),
        ("org/my-model", "org/my-model"),
        ("tiny", "tiny"),
        ("/", "/"),
        ("org/\0", "org/\0"),
    ],
)
def test_a_local_model_has_the_name_of_its_folder(
    path: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "models" / "my-model").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert name_of("hf", pretrained=path) == name


def test_a_served_folder_has_a_short_name_too() -> None:
    assert name_of("openai", model="/models/my-model") == "my-model"

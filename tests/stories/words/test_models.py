from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.support.cli import KEY
from tests.support.words import TINY, Case, shown

CONFIG = """\
tasks: t.yaml
output_path: runs
score_workers: 0
report: false
models:
  - {name: right, model: reference, group: Bounds}
  - {name: nothing, model: empty, group: Bounds}
"""
ABSENT = "  - {name: absent, model: hf, model_args: {pretrained: ./gone}}\n"
MODELS = "run --config models.yaml"


def case(flags: str = "", config: str = CONFIG) -> Case:
    return Case(f"{MODELS} {flags}", {**TINY, "models.yaml": config})


CASES = {
    "two models": case(),
    "two models again": Case(
        MODELS, {**TINY, "models.yaml": CONFIG}, before=(f"{MODELS} --only right",)
    ),
    "three models": case(config=CONFIG + "  - {name: again, model: reference}\n"),
    "a model that cannot start": case(config=CONFIG + ABSENT),
    "a dry run": case("--dry_run", CONFIG + ABSENT),
    "the settings": case(
        "--show_config",
        CONFIG + f"  - {{name: s, model: openai, model_args: {{api_key: {KEY}}}}}\n",
    ),
    **{
        flags: case(flags)
        for flags in (
            "--only wrong",
            "--only right,nothing",
            "--jobs 0",
            "--model hf",
            "--shard 1/2",
            "--output_path all.json",
        )
    },
    **{
        entry: case(config=f"{CONFIG}  - {entry}\n")
        for entry in (
            "{name: right, model: empty}",
            "{name: x, model: empty, tasks: t}",
            "{name: x, model: empty, judge: openai}",
            "{name: x, model: empty, modle_args: {}}",
            "{name: x, model: emty}",
            "{model: empty}",
            "{name: x, model: empty, max_connections: many}",
        )
    },
    "no list": case(config="tasks: t.yaml\nmodels: openai\n"),
    "flags without models": Case("run --tasks t.yaml --model empty --jobs 2"),
}


@pytest.mark.parametrize("name", CASES)
def test_models(name: str, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    assert shown(CASES[name], tmp_path) == snapshot

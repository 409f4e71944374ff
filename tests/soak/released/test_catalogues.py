"""The catalogues of released prompts name prompts that mmeval has."""

from pathlib import Path

import pytest

from mmeval.task.released.catalogue import read_catalogue

ROOT = Path(__file__).parents[3]
CATALOGUES = sorted(ROOT.glob("tasks/*/released.yaml"))


def own_prompts() -> set[str]:
    names = set()
    for folder in ("tasks", "metrics", "model_backends"):
        names |= {file.stem for file in (ROOT / folder).rglob("prompts/*.jinja")}
    return names


@pytest.mark.parametrize("file", CATALOGUES, ids=lambda file: file.parent.name)
def test_a_released_prompt_replaces_prompts_of_mmeval(file: Path) -> None:
    catalogue = read_catalogue(file)
    replaced: set[str] = set()
    for released in catalogue.files:
        for prompt in released.keys.prompts:
            replaced.update(prompt.replaces)
    assert replaced <= own_prompts()


def test_the_catalogues_describe_every_released_prompt() -> None:
    count = 0
    for file in CATALOGUES:
        for released in read_catalogue(file).files:
            count += len(released.keys.prompts)
    assert count == 94

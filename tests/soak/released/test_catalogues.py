"""The catalogues of released prompts name prompts that mmeval has."""

from pathlib import Path

import pytest

from mmeval.metrics.judged.captions.released import VALUES
from mmeval.program.prompt_file import PromptFile, read_prompt
from mmeval.task.released.catalogue import TemplateKeys, read_catalogue
from mmeval.tasks.isg.graph import released

ROOT = Path(__file__).parents[3]
CATALOGUES = sorted(
    (
        *ROOT.glob("tasks/*/released.yaml"),
        *ROOT.glob("model_backends/agents/*/released.yaml"),
    )
)
ONLY_RELEASED = {
    "semantic_correctness_shares": "semantic_correctness",
    "caption_video_summary": "caption_video",
    "caption_audio_summary": "caption_audio",
}
"""Prompts without words of our own, each with a prompt that has the same values."""


def own_prompts() -> dict[str, Path]:
    files = {}
    for folder in ("tasks", "metrics", "model_backends"):
        for file in (ROOT / folder).rglob("prompts/*.jinja"):
            files[file.stem] = file
    return files


def own_tasks() -> set[str]:
    return {file.stem for file in (ROOT / "tasks").glob("*/*.yaml")}


def judged_templates() -> list[TemplateKeys]:
    """The templates of metrics. A step of an agent offers more values than our prompt
    reads, because released texts show the same facts in other forms."""
    metrics = {file.stem for file in (ROOT / "metrics").rglob("prompts/*.jinja")}
    return [template for template in templates() if template.prompt in metrics]


def templates() -> list[TemplateKeys]:
    return [
        template for file in CATALOGUES for template in read_catalogue(file).templates
    ]


@pytest.mark.parametrize("template", templates(), ids=lambda keys: keys.prompt)
def test_a_template_has_the_name_of_a_prompt_or_of_a_task(
    template: TemplateKeys,
) -> None:
    known = own_prompts().keys() | own_tasks() | ONLY_RELEASED.keys()
    assert template.prompt in known


@pytest.mark.parametrize("file", CATALOGUES, ids=lambda file: file.parent.name)
def test_a_released_prompt_replaces_prompts_of_mmeval(file: Path) -> None:
    catalogue = read_catalogue(file)
    replaced: set[str] = set()
    for released_file in catalogue.files:
        for prompt in released_file.keys.prompts:
            replaced.update(prompt.replaces)
    assert replaced <= own_prompts().keys()


@pytest.mark.parametrize("template", judged_templates(), ids=lambda keys: keys.prompt)
def test_a_template_reads_only_values_that_our_prompt_reads(
    template: TemplateKeys,
) -> None:
    name = ONLY_RELEASED.get(template.prompt, template.prompt)
    own = PromptFile("own", read_prompt(own_prompts()[name]))
    assert set(template.values) <= own.reads | {*VALUES, *released.VALUES}


def test_the_catalogues_describe_every_released_prompt() -> None:
    count = 0
    for file in CATALOGUES:
        for released_file in read_catalogue(file).files:
            count += len(released_file.keys.prompts)
    assert count == 99

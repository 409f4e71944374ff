from pathlib import Path

import pytest

from mmeval.metrics.quality.unim_gq import PIECES
from tests.support.cli import mmeval, results
from tests.support.shipped_tasks import scores_of, selected_samples, shipped

TASKS = ("unim_easy", "unim_medium", "unim_hard")
NUMBERS = [
    "strict_structure",
    "lenient_structure",
    "semantic_correctness",
    "holistic_coherence",
    "stylistic_harmony",
    "interleaved_coherence",
    "unim_gq",
    "sqcs",
]


@pytest.mark.parametrize("name", [*TASKS, "unim_math"])
def test_a_task_has_its_samples_the_numbers_of_the_paper_and_its_slices(
    name: str,
) -> None:
    task = shipped(name)
    samples = selected_samples(task)
    outputs = [
        output for metric in task.metrics for output in metric.bound.metric.outputs
    ]
    assert outputs == [*NUMBERS[:6], *PIECES, *NUMBERS[6:]]
    assert task.breakdown == (
        "field",
        "domain",
        "difficulty",
        "capabilities",
        "combination",
    )
    assert (task.layout, task.missing_output, task.version, task.comparable) == (
        "unim",
        0,
        "3.0",
        False,
    )
    # Judge and captioner are asked with the defaults of their models; all kinds are
    # asked for.
    assert (task.roles, task.partial_output) == ({}, True)
    kinds = ("text", "image", "audio", "video", "document", "code", "3d")
    assert {task.output_kinds(sample) for sample in samples} == {kinds}
    levels = {sample.metadata["difficulty"] for sample in samples}
    assert (
        len(levels) > 1
        if name == "unim_math"
        else levels == {name.removeprefix("unim_")}
    )
    assert name != "unim_math" or {sample.metadata["domain"] for sample in samples} == {
        "math"
    }
    for metric in ("strict_structure", "lenient_structure"):
        assert (
            set(scores_of("reference", task, metric)),
            set(scores_of("empty", task, metric)),
        ) == ({1.0}, {0.0})


def test_kinds_of_the_gold_answer_are_a_label_and_the_prompt_explains_the_tags() -> (
    None
):
    task = shipped("unim_hard")
    samples = {sample.id: sample for sample in selected_samples(task)}
    assert samples["natural_science/math/2"].metadata["output_modalities"] == [
        "text",
        "image",
        "audio",
    ]
    assert samples["natural_science/programming/1"].metadata["output_modalities"] == [
        "text",
        "code",
    ]
    sample = next(
        sample for sample in samples.values() if sample.metadata["domain"] == "art"
    )
    system, asked = task.prompt(sample)
    assert ("<<image2>>" in system.content.raw, system.content.media(), asked) == (
        True,
        (),
        sample.input[0],
    )


def test_domains_without_bundled_samples_are_left_out_of_a_field(
    tmp_path: Path,
) -> None:
    words = (
        "--tasks",
        "unim_social_science",
        "--data",
        "bundled",
        "--model",
        "reference",
        "--score_workers",
        "0",
    )
    done = mmeval(
        *words, "--output_path", tmp_path, "--report", "false", "--table", "full"
    )
    ours = results(tmp_path)["mmeval"]
    assert done.code == 0, done.err
    said = " ".join(done.err.split())
    assert "missing data unim_finance" in said
    assert "the data have no records of finance missing data" in said
    assert {"unim_philosophy", "unim_law"} <= set(ours["left_out"])
    assert "UniM, table 3: structure by field (%)" in done.out

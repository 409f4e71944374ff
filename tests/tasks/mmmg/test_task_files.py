import pytest

from mmeval.errors import MissingDataError
from mmeval.task import TaskOverrides
from mmeval.taskindex import select
from tests.support.shipped_tasks import scores_of, selected_samples, shipped


def test_the_reference_is_right_and_an_empty_answer_is_wrong() -> None:
    task = shipped("mmmg_a_structure")

    assert set(scores_of("reference", task, "part_order")) == {1.0}
    assert set(scores_of("empty", task, "part_order")) == {0.0}


@pytest.mark.parametrize("profile", ["standard", "official"])
def test_both_profiles_read_the_reference_the_same(profile: str) -> None:
    overrides = TaskOverrides(data="bundled", profile=profile)
    task = select(["mmmg_a_structure"], overrides=overrides).tasks[0]

    assert set(scores_of("reference", task, "part_order")) == {1.0}


def test_each_instruction_is_generated_four_times() -> None:
    assert shipped("mmmg_a_structure").repeats == 4


def test_the_prompt_is_the_instruction_and_its_sound() -> None:
    task = shipped("mmmg_a_structure")
    sample = selected_samples(task)[4]

    assert task.prompt(sample) == sample.input
    assert [part.kind for part in sample.input[0].content.parts] == ["text", "audio"]


def test_the_group_reports_the_order_of_its_members() -> None:
    selection = select(["mmmg_audio"], overrides=TaskOverrides(data="bundled"))

    assert [task.name for task in selection.tasks] == ["mmmg_a_structure"]
    assert [(group.name, group.metrics[0].metric) for group in selection.groups] == [("mmmg_audio", "part_order")]


def test_without_data_the_way_to_get_them_is_said() -> None:
    task = select(["mmmg_a_structure"]).tasks[0]

    with pytest.raises(MissingDataError, match=r"no seed_instruction/a_structure\.jsonl.*--data_dir.*--data bundled"):
        task.dataset()

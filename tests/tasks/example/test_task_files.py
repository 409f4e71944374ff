import pytest

from mmeval.records.sample import Sample
from tests.support.judging import judged
from tests.support.shipped_tasks import answered_by, selected_samples, shipped

SAMPLES = {sample.id: sample for sample in selected_samples(shipped("rubric_example"))}
YES, NO = '{"met": "yes"}', '{"met": "no"}'


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)
def test_the_reference_can_be_judged_by_every_criterion_of_its_row(sample: Sample) -> None:
    trial = answered_by("reference", shipped("rubric_example"), sample)
    count = len(sample.metadata["rubric"])
    assert judged("rubric_judge", trial, *[YES] * count).score.value == 1.0


def test_the_judge_sees_the_picture_where_a_criterion_speaks_of_it_and_the_words_alone_where_not() -> None:
    trial = answered_by("reference", shipped("rubric_example"), SAMPLES["disc"])
    done = judged("rubric_judge", trial, NO, YES, YES)
    pictures = [len(request.messages[-1].content.media("image")) for request in done.asked]
    assert (pictures, done.score.value) == ([1, 0, 1], 0.4)

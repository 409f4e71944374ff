from typing import Any

import pytest

from mmeval.records.sample import Sample
from tests.support.toy import sample, task

HARD = task(filter={"level": ["hard", "harder"], "field": "law"})


@pytest.mark.parametrize(
    ("labels", "kept"),
    [
        ({"level": "hard", "field": "law"}, True),
        ({"level": None}, True),
        ({}, True),
        ({"level": "easy"}, False),
        ({"level": "harder", "field": "art"}, False),
    ],
    ids=str,
)
def test_a_label_that_a_bad_sample_lacks_keeps_it_and_its_others_decide(labels: dict[str, Any], kept: bool) -> None:
    assert HARD.selected(Sample("bad", (), metadata=labels, fault="torn")) is kept


def test_a_label_that_a_sound_sample_lacks_leaves_it_out() -> None:
    assert not HARD.selected(sample(field="law"))

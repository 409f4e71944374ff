from typing import Any

from mmeval.records.sample import Sample
from tests.support.toy import sample, task

HARD = task(filter={"level": ["hard", "harder"], "field": "law"})


def test_a_label_that_a_bad_sample_lacks_keeps_it_and_its_others_decide() -> None:
    given: list[dict[str, Any]] = [
        {"level": "hard", "field": "law"},
        {"level": None},
        {"level": "easy"},
        {"level": "harder", "field": "art"},
    ]
    kept = [HARD.selected(Sample("bad", (), metadata=labels, fault="torn")) for labels in given]
    assert kept == [True, True, False, False]
    assert not HARD.selected(sample(field="law"))

import pytest

from mmeval.metric import Metric, load_metric
from mmeval.metric.facts import facts_of, range_text


@pytest.mark.parametrize(
    ("name", "written"),
    [("wer", "0..∞"), ("ssim", "-1..1"), ("overall", "of its pieces")],
)
def test_a_range_is_written_with_its_ends(name: str, written: str) -> None:
    assert range_text(load_metric(name)) == written


def test_a_metric_without_a_reference_says_what_it_reads() -> None:
    facts = facts_of(load_metric("image_quality"))
    assert facts["Reads"] == "only the image parts of the answer"


def test_a_quality_metric_says_what_it_does_not_measure() -> None:
    metric: Metric = load_metric("unim_gq")
    assert facts_of(metric)["Caution"] == metric.caution


def test_a_metric_that_combines_scores_says_what_it_reads() -> None:
    assert facts_of(load_metric("sqcs"))["Reads"] == "scores of other metrics"


def test_a_metric_shows_its_line_in_a_task() -> None:
    assert facts_of(load_metric("wer"))["In a task"] == "metric_list: [{metric: wer}]"


def test_a_docstring_with_a_line_of_its_own_replaces_the_usual_one() -> None:
    metric: Metric = load_metric("judge_grade")
    assert "In a task" not in facts_of(metric)


def test_the_names_of_several_numbers_are_shown() -> None:
    outputs = facts_of(load_metric("ueval_rubric"))["Outputs"]
    assert outputs == "ueval_text, ueval_image"

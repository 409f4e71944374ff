import pytest

from mmeval.errors import UsageError
from mmeval.metric import bind
from mmeval.metrics.text.exact_match import exact_match
from mmeval.metrics.text.extract import Extract, extracted


@pytest.mark.parametrize(
    ("text", "extract", "answer"),
    [
        ("9 apples", "", "9 apples"),
        ("4 + 5 = 9, so 9.", "last_number", "9"),
        ("nothing", "last_number", None),
        (r"\boxed{4} then \boxed{\frac{1}{2}}", "boxed", r"\frac{1}{2}"),
        (r"\boxed{4} then \boxed{5", "boxed", "4"),
        (r"\boxed{\{1\}}", "boxed", r"\{1\}"),
        ("no box", "boxed", None),
        ("#### 4 no, #### 18 ", {"after": "####"}, "18"),
        ("18", {"after": "####"}, None),
        ("The answer is oak. The answer is ash.", r"answer is (\w+)", "ash"),
        ("Option B", "(a)|([A-C])$", "B"),
        ("Option D", "[A-C]$", None),
    ],
)
def test_the_answer_is_the_last_that_a_text_gives(
    text: str, extract: Extract, answer: str | None
) -> None:
    assert extracted(text, extract) == answer


@pytest.mark.parametrize(
    "extract",
    [
        "last_numbr",
        "(",
        {"after": ""},
        {"before": "x"},
        {},
    ],
)
def test_what_says_no_place_of_an_answer_is_refused_before_the_run(
    extract: object,
) -> None:
    with pytest.raises(UsageError, match="extract"):
        bind(exact_match, {"extract": extract})


def test_many_open_boxes_take_linear_time() -> None:
    assert extracted(r"\boxed{" * 200_000, "boxed") is None

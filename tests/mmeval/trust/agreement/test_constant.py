from mmeval.trust.agreement.constant import ConstantJudge, constant_judge


def test_the_constant_answer_is_the_most_frequent_value() -> None:
    assert constant_judge([1.0, 2.0, 2.0, 5.0]) == ConstantJudge(
        answer=2.0, accuracy=0.5, mean_absolute_error=1.0, pairwise_accuracy=1 / 6
    )


def test_of_equally_frequent_values_the_first_by_text_is_the_answer() -> None:
    judge = constant_judge(["no", "yes", "maybe"])
    assert judge is not None
    assert judge.answer == "maybe"


def test_words_have_no_error() -> None:
    judge = constant_judge(["yes", "no", "yes"])
    assert judge is not None
    assert judge.mean_absolute_error is None


def test_no_value_has_no_constant_judge() -> None:
    assert constant_judge([]) is None

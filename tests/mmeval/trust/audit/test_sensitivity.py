import numpy as np

from mmeval.trust.audit.sensitivity import bc, bd


def test_bd_is_the_lost_share_of_scores_above_the_lowest() -> None:
    # the second gains, which counts as 0, and the third cannot fall
    assert bd(np.array([0.5, 0.5, 0.0]), np.array([0.25, 1.0, 0.0])) == 0.25


def test_bc_is_one_less_the_share_of_the_largest_move() -> None:
    assert bc(np.array([0.25, 1.0]), np.array([1.0, 0.5])) == 0.25


def test_a_constant_judge_has_bc_one_and_bd_zero() -> None:
    scores = np.full(5, 0.4)
    assert (bc(scores, scores), bd(scores, scores)) == (1, 0)


def test_answers_with_the_lowest_score_have_no_bd() -> None:
    assert bd(np.zeros(3), np.zeros(3)) is None


def test_no_answers_have_no_bc() -> None:
    assert bc(np.array([]), np.array([])) is None

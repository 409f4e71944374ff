from mmeval.trust.agreement.compared_trials import compared_trials
from mmeval.trust.records import Rating, ScoreRow


def test_a_trial_takes_its_cluster_from_its_score() -> None:
    score = ScoreRow("t", "judge", 1.0, cluster="book")
    rating = Rating("t", "ann", 1.0, cluster="page")
    (trial,) = compared_trials([score], [rating], "judge")
    assert trial.cluster == "book"


def test_a_trial_without_a_score_takes_its_cluster_from_its_ratings() -> None:
    (trial,) = compared_trials([], [Rating("t", "ann", 1.0, sample="s")], "")
    assert trial.cluster == "s"


def test_second_passes_are_not_values_of_a_trial() -> None:
    rating = Rating("t", "ann", 1.0, pass_number=2)
    (trial,) = compared_trials([], [rating], "")
    assert trial.ratings == {}


def test_rated_trials_come_before_the_others() -> None:
    rows = [ScoreRow("t1", "judge", 1.0), ScoreRow("t2", "judge", 1.0)]
    trials = compared_trials(
        rows,
        [Rating("t2", "ann", 1.0)],
        "judge",
    )
    assert [trial.name for trial in trials] == [("", "t2"), ("", "t1")]

from pathlib import Path
from typing import Any

import pytest

from mmeval.metric import bind
from mmeval.metrics.image.networks import clip, vector_memory
from mmeval.metrics.image.networks.clip import CLIP
from mmeval.records import Sample, Score, Trial
from mmeval.tasks.mme_unify.pictures.mme_unify_image import mme_unify_image
from tests.support.models import tiny
from tests.support.pictures import answer, candidates, vectors_file
from tests.support.trials import score_of, scored_together

FOUR = ("red", "green", "blue", "grey")
TIED = ("red", "green", "red", "grey")


def asked(*given: str, among: tuple[str, ...] = FOUR) -> Trial:
    return Trial(Sample("1", (), candidates=candidates(*among)), output=answer(*given))


@pytest.fixture
def vectors(tmp_path: Path) -> str:
    return vectors_file(tmp_path)


def scores(vectors: str, trial: Trial, **switches: Any) -> tuple[Any, Any]:
    """Standard and official: the value, or the status without one."""
    found = [
        score_of(mme_unify_image, trial, profile, vectors=vectors, **switches)
        for profile in PROFILES
    ]
    return (_told(found[0]), _told(found[1]))


PROFILES = ("standard", "official")


def _told(score: Score) -> Any:
    return score.status if score.value is None else score.value


@pytest.mark.parametrize("script", ["csq", "al", "sd", "iee"])
def test_the_nearest_candidate_has_to_be_the_first(script: str, vectors: str) -> None:
    assert scores(vectors, asked(":A", "reddish"), script=script) == (1, 1)
    assert scores(vectors, asked(":A", "bluish"), script=script) == (0, 0)
    for nothing in ((":A",), (":A", "red", "red"), (":A", *["red"] * 100)):
        assert scores(vectors, asked(*nothing), script=script) == (0, 0)
    score = score_of(mme_unify_image, asked("grey"), vectors=vectors)
    assert score.evidence["cosines"][-1] == pytest.approx(1)


def test_an_exact_tie_of_the_first_is_wrong_or_its_own(vectors: str) -> None:
    assert scores(vectors, asked(":", "red", among=TIED)) == (0, 1)
    assert scores(vectors, asked(":", "green", among=("red", "green", "green"))) == (
        0,
        0,
    )
    assert (
        score_of(
            mme_unify_image, asked("red", among=TIED), vectors=vectors, tie="first"
        ).value
        == 1
    )


@pytest.mark.parametrize(
    ("script", "broken", "missing"),
    [
        ("csq", (0, 1), (0, 0)),
        ("al", (0, 1), (0, 1)),
        ("sd", (0, 1), (0, 0)),
        ("iee", (0, 0), (0, 0)),
    ],
)
def test_a_picture_that_cannot_be_read_is_wrong_and_in_some_scripts_right(
    script: str, broken: Any, missing: Any, vectors: str
) -> None:
    assert scores(vectors, asked(":", "broken"), script=script) == broken
    assert scores(vectors, asked(":", "missing"), script=script) == missing


@pytest.mark.parametrize("script", ["csq", "al", "sd", "iee"])
@pytest.mark.parametrize(
    ("given", "among"),
    [("unread", FOUR), ("red", ("red", "unread")), ("red", ("unread", "red"))],
    ids=["the answer", "another candidate", "the right candidate"],
)
def test_a_picture_that_is_not_read_here_leaves_it_unscored(
    given: str, among: tuple[str, ...], script: str, vectors: str
) -> None:
    trial = asked(":", given, among=among)
    assert scores(vectors, trial, script=script) == ("unscored", "unscored")


@pytest.mark.parametrize(
    ("script", "first", "other"),
    [("csq", 0, 1), ("al", 0, 0), ("sd", 0, 0), ("iee", 0, 0)],
)
def test_a_candidate_whose_file_is_missing_leaves_it_unscored_or_as_the_script(
    script: str, first: int, other: int, vectors: str
) -> None:
    lacking = asked(":", "red", among=("missing", "green", "blue"))
    assert scores(vectors, lacking, script=script) == ("unscored", first)
    lacking = asked(":", "red", among=("red", "missing", "blue"))
    assert scores(vectors, lacking, script=script) == ("unscored", other)


def test_a_candidate_that_cannot_be_decoded_leaves_it_unscored_or_has_no_similarity(
    vectors: str,
) -> None:
    assert scores(vectors, asked(":", "reddish", among=("red", "broken", "blue"))) == (
        "unscored",
        1,
    )
    assert scores(vectors, asked(":", "reddish", among=("broken", "red", "blue"))) == (
        "unscored",
        0,
    )


def test_in_the_script_of_iee_both_sides_have_to_be_there(vectors: str) -> None:
    assert scores(vectors, asked("reddish"), script="iee") == (1, 0)
    assert scores(vectors, asked(":", "reddish"), script="iee") == (1, 1)
    assert scores(vectors, asked("reddish"), script="csq") == (1, 1)


def test_a_sample_without_candidates_and_a_trial_without_an_answer_are_unscored(
    vectors: str,
) -> None:
    bare = Trial(Sample("1", ()), output=answer("red"))
    assert bind(mme_unify_image).sample_fault(bare.sample)
    assert bind(mme_unify_image).sample_fault(asked().sample) == ""
    assert scores(vectors, bare) == ("unscored", "unscored")
    assert scores(vectors, Trial(asked().sample)) == ("unscored", "unscored")


@pytest.mark.parametrize("profile", PROFILES)
def test_an_exception_is_never_turned_into_a_similarity(
    profile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise TypeError("the library has changed")

    monkeypatch.setattr(clip, "_picture_vectors", fails)
    monkeypatch.setattr(vector_memory, "_KEPT", type(vector_memory._KEPT)())
    score = score_of(
        mme_unify_image, asked(":", "red"), profile, model=tiny("clip", CLIP)
    )
    assert (score.value, score.status) == (None, "unscored")
    assert "the library has changed" in score.reason


def test_by_a_model_a_batch_scores_as_each_answer_alone() -> None:
    model = tiny("clip", CLIP)
    given = [("red",), (":A", "blue"), (), ("broken",), ("grey",), ("green",)]
    trials = [asked(*one) for one in given]
    together = [
        score.value for score in scored_together(mme_unify_image, trials, model=model)
    ]
    assert (
        together
        == [score_of(mme_unify_image, trial, model=model).value for trial in trials]
        == [1, 0, 0, 0, 0, 0]
    )

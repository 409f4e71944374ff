"""What a rater sees and what is kept, over a real server."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import RunLockedError, UsageError
from mmeval.trust.records import Draw
from tests.support.annotation import (
    ASK,
    PAIRS,
    Client,
    asked,
    run_to_rate,
    served,
)


def rate_all(rater: Client, chosen: Any = 1, most: int = 100) -> int:
    """Rates all that is open. Returns the number of ratings."""
    for count in range(most):
        page = rater.get("next").json
        if "finished" in page:
            return count
        assert rater.post({"id": page["id"], "chosen": chosen}).status == 200
    return most


def test_a_rating_says_what_was_rated_and_how_it_was_drawn(tmp_path: Path) -> None:
    run = run_to_rate(tmp_path / "run", 8)
    with served(run, ask=asked(tmp_path), raters=("ann",), limit=2, seed=3) as session:
        session.rater("ann").rate(2, comment=" fine ", seconds=4.26)
        (rating,) = session.ratings
    assert rating.value == 3.0
    assert (rating.rater, rating.question, rating.kind) == ("ann", "polite", "grade")
    assert (rating.task, rating.trial) == ("greeting", f"greeting/{rating.sample}/0")
    assert (rating.comment, rating.seconds) == ("fine", 4.3)
    assert rating.draw == Draw("random", 0.25, "", 3)
    assert rating.digest


def test_a_later_session_goes_on_at_the_next_trial(tmp_path: Path) -> None:
    run, ask = run_to_rate(tmp_path / "run", 3), asked(tmp_path)
    with served(run, ask=ask, raters=("ann",)) as session:
        session.rater("ann").rate(0)
        waiting = session.rater("ann").get("next").json["id"]
    with served(run, ask=ask, raters=("ann",)) as session:
        assert session.rater("ann").get("next").json["id"] == waiting
        assert rate_all(session.rater("ann")) == 2


def test_a_page_of_an_earlier_session_can_still_save(tmp_path: Path) -> None:
    run, ask = run_to_rate(tmp_path / "run", 3), asked(tmp_path)
    with served(run, ask=ask, raters=("ann",)) as session:
        page = session.rater("ann").get("next").json
    with served(run, ask=ask, raters=("ann",)) as session:
        reply = session.rater("ann").post({"id": page["id"], "chosen": 1})
        assert reply.status == 200
        assert len(session.ratings) == 1


def test_a_rater_can_go_back_and_change_an_answer(tmp_path: Path) -> None:
    run = run_to_rate(tmp_path / "run", 3)
    with served(run, ask=asked(tmp_path), raters=("ann",)) as session:
        ann = session.rater("ann")
        ann.rate(0)
        earlier = ann.get(f"previous?id={ann.get('next').json['id']}").json
        ann.post({"id": earlier["id"], "chosen": 2})
        first, second = session.ratings
        assert ann.get("next").json["done"] == 1
    assert first.place == second.place
    assert (first.value, second.value) == (1.0, 3.0)


def test_before_the_first_answer_there_is_none(tmp_path: Path) -> None:
    run = run_to_rate(tmp_path / "run")
    with served(run, ask=asked(tmp_path)) as session:
        assert session.rater("rater").get("previous").status == 409


def test_ratings_of_another_question_need_another_name(tmp_path: Path) -> None:
    run = run_to_rate(tmp_path / "run")
    with served(run, ask=asked(tmp_path)):
        pass
    other = asked(tmp_path, ASK.replace("How polite", "How short"))
    with pytest.raises(UsageError, match="another --name"), served(run, ask=other):
        pass


def test_two_servers_do_not_collect_the_same_ratings(tmp_path: Path) -> None:
    run, ask = run_to_rate(tmp_path / "run"), asked(tmp_path)
    with (
        served(run, ask=ask),
        pytest.raises(RunLockedError, match="another process"),
        served(run, ask=ask),
    ):
        pass


def test_a_pair_is_rated_in_terms_of_the_runs(tmp_path: Path) -> None:
    runs = []
    for model in ("x", "y"):
        runs.append(run_to_rate(tmp_path / model, 6, model=model))
    with served(*runs, ask=asked(tmp_path, PAIRS), raters=("ann",)) as session:
        rate_all(session.rater("ann"), chosen=0)
        ratings = session.ratings
    first_wins = {rating.first: rating.value for rating in ratings}
    assert first_wins == {"x": "a", "y": "b"}
    assert sum(rating.first == "x" for rating in ratings) == 3


def test_a_pair_with_a_new_answer_is_rated_anew(tmp_path: Path) -> None:
    run = run_to_rate(tmp_path / "x", 2, model="x")
    other = run_to_rate(tmp_path / "y", 2, model="y")
    ask = asked(tmp_path, PAIRS)
    with served(run, other, ask=ask, raters=("ann",)) as session:
        assert rate_all(session.rater("ann")) == 2
    shutil.rmtree(other)
    changed = run_to_rate(
        tmp_path / "y",
        2,
        model="y",
        answer="Goodbye",
    )
    with served(run, changed, ask=ask, raters=("ann",)) as session:
        assert rate_all(session.rater("ann")) == 2


def test_two_runs_are_rated_together(tmp_path: Path) -> None:
    runs = []
    for model in ("x", "y"):
        runs.append(run_to_rate(tmp_path / model, 2, model=model))
    with served(*runs, ask=asked(tmp_path), raters=("ann",)) as session:
        assert rate_all(session.rater("ann")) == 4
        assert {rating.run for rating in session.ratings} == {"x", "y"}


def test_gold_answers_show_who_rates_well(tmp_path: Path) -> None:
    gold = tmp_path / "gold.jsonl"
    row = '{"trial": "greeting/guest-0/0", "rater": "expert", "value": 3}'
    gold.write_text(row, encoding="utf-8")
    run = run_to_rate(tmp_path / "run")
    with served(run, ask=asked(tmp_path), gold=gold, raters=("ann",)) as session:
        rate_all(session.rater("ann"), chosen=1)
        share = session.annotation.session.gold_share("ann")
        known = [rating for rating in session.ratings if rating.gold is not None]
    assert share.is_low
    assert [rating.gold for rating in known] == [3.0]


def test_an_option_that_is_a_number_equals_the_gold_answer(tmp_path: Path) -> None:
    gold = tmp_path / "gold.jsonl"
    row = '{"trial": "greeting/guest-0/0", "rater": "expert", "value": "2"}'
    gold.write_text(row, encoding="utf-8")
    ask = asked(tmp_path, "question: How many?\nkind: choice\noptions: [1, 2]\n")
    run = run_to_rate(tmp_path / "run", 1)
    with served(run, ask=ask, gold=gold, raters=("ann",)) as session:
        rate_all(session.rater("ann"), chosen=1)
        assert session.annotation.session.gold_share("ann").share == 1


def test_rating_ends_when_the_mean_is_known(tmp_path: Path) -> None:
    run = run_to_rate(tmp_path / "run", 60)
    yes_no = asked(tmp_path, "question: Good?\nkind: yes_no\n")
    with served(run, ask=yes_no, raters=("ann",), precision=0.4) as session:
        ann = session.rater("ann")
        rated = 0
        while "finished" not in ann.get("next").json:
            ann.rate(rated % 2)
            rated += 1
        assert 30 <= rated < 60
        assert "to within 0." in session.annotation.session.stopped

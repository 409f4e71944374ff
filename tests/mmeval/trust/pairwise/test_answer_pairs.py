from collections.abc import Sequence
from pathlib import Path

import pytest

from mmeval.results.stored_run import StoredRun
from mmeval.trust.pairwise.answer_pairs import AnswerPairs, pair_answers
from mmeval.trust.pairwise.players import Player
from tests.support.stored_runs import WrittenTrial, text, write_run

TASKS = ("told",)


def answered(question: str, answer: str, **labels: str) -> WrittenTrial:
    scores = {"right": {"value": 1.0, "status": "scored"}}
    return WrittenTrial([text(question)], [text(answer)], scores, labels=labels)


def failed(question: str) -> WrittenTrial:
    error = {"kind": "timeout", "message": "late"}
    return WrittenTrial([text(question)], None, {}, error=error)


def player(folder: Path, name: str, trials: Sequence[WrittenTrial]) -> Player:
    write_run(folder / name, list(trials), results={}, model=name)
    return Player(name, [StoredRun(folder / name)])


def paired(
    folder: Path, *runs: Sequence[WrittenTrial], zero: bool = False
) -> AnswerPairs:
    players = []
    for name, trials in zip("abc", runs, strict=False):
        players.append(player(folder, name, trials))
    return pair_answers(players, TASKS, "zero" if zero else "lost")


def words(pairs: AnswerPairs) -> list[tuple[str, str, str, str]]:
    """The names of the players and their answers."""
    rows = []
    for pair in pairs.pairs:
        reference = pair.answer.sample.references[0]
        rows.append((pair.a, pair.b, pair.answer.output.text, reference.text))
    return rows


def test_every_two_runs_are_paired(tmp_path: Path) -> None:
    runs = [[answered("q", name)] for name in ("x", "y", "z")]
    assert words(paired(tmp_path, *runs)) == [
        ("a", "b", "x", "y"),
        ("a", "c", "x", "z"),
        ("b", "c", "y", "z"),
    ]


def test_each_pair_is_a_sample_of_its_own(tmp_path: Path) -> None:
    runs = [[answered(f"q{number}", name) for number in range(3)] for name in "xyz"]
    places = [pair.answer.index for pair in paired(tmp_path, *runs).pairs]
    assert len(set(places)) == 9


def test_the_references_of_a_sample_follow_the_other_answer(tmp_path: Path) -> None:
    [pair] = paired(tmp_path, [answered("q", "x")], [answered("q", "y")]).pairs
    assert pair.answer.sample.references[0].text == "y"


def test_answers_to_different_questions_are_left_out(tmp_path: Path) -> None:
    result = paired(tmp_path, [answered("q", "x")], [answered("other", "y")])
    assert result.pairs == []
    assert result.left_out["asked_otherwise"] == 1


def test_an_answer_without_a_partner_is_left_out(tmp_path: Path) -> None:
    several = [answered("q", "x"), answered("r", "x")]
    result = paired(tmp_path, several, [answered("q", "y")])
    assert len(result.pairs) == 1
    assert result.left_out["not_asked"] == 1


def test_the_pair_of_a_failed_answer_is_left_out(tmp_path: Path) -> None:
    result = paired(tmp_path, [answered("q", "x")], [failed("q")])
    assert result.pairs == []
    assert result.left_out["failed"] == 1


@pytest.mark.parametrize("is_first", [True, False])
def test_a_failed_answer_may_count_as_an_empty_one(
    is_first: bool, tmp_path: Path
) -> None:
    runs = [[failed("q")], [answered("q", "y")]]
    ordered = runs if is_first else runs[::-1]
    [row] = words(paired(tmp_path, *ordered, zero=True))
    assert row[2:] == (("", "y") if is_first else ("y", ""))


def test_a_label_of_the_sample_may_be_its_cluster(tmp_path: Path) -> None:
    players = []
    for name in "ab":
        trial = answered("q", name)
        trial.metadata = {"scene": "kitchen"}
        config = {"cluster_key": "scene"}
        write_run(tmp_path / name, [trial], config=config, results={}, model=name)
        players.append(Player(name, [StoredRun(tmp_path / name)]))
    [pair] = pair_answers(players, TASKS, "lost").pairs
    assert pair.cluster == "told/kitchen"

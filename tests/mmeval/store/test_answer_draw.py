from pathlib import Path

import pytest

from mmeval.errors import UsageError
from mmeval.store.answer_draw import FILE, AnswerDraw, kept_draw

SAMPLES = [("told", f"s{place}") for place in range(50)]


def test_a_draw_does_not_depend_on_the_order_of_the_samples() -> None:
    draw = AnswerDraw(20)
    assert draw.of(SAMPLES) == draw.of(reversed(SAMPLES))


def test_a_larger_draw_includes_a_smaller_one() -> None:
    assert AnswerDraw(10).of(SAMPLES).samples < AnswerDraw(20).of(SAMPLES).samples


def test_another_seed_draws_other_samples() -> None:
    assert AnswerDraw(20, 1).of(SAMPLES).samples != AnswerDraw(20).of(SAMPLES).samples


def test_a_draw_is_not_the_first_samples() -> None:
    assert AnswerDraw(20).of(SAMPLES).samples != frozenset(SAMPLES[:20])


def test_each_sample_is_drawn_equally_often() -> None:
    counts = dict.fromkeys(SAMPLES, 0)
    for seed in range(400):
        for sample in AnswerDraw(10, seed).of(SAMPLES).samples:
            counts[sample] += 1
    # 80 are expected; 5 standard deviations of a binomial count are 40
    assert all(40 < count < 120 for count in counts.values())


def test_the_probability_is_the_share_of_the_samples() -> None:
    assert AnswerDraw(20).of(SAMPLES).probability == 0.4


def test_a_draw_of_more_samples_than_there_are_has_them_all() -> None:
    drawn = AnswerDraw(80).of(SAMPLES)
    assert (drawn.probability, drawn.samples) == (1.0, frozenset(SAMPLES))


def test_a_score_set_keeps_the_samples_of_its_task(tmp_path: Path) -> None:
    drawn = AnswerDraw(2).of([("told", "a"), ("other", "b")])
    drawn.keep(tmp_path, "told")
    kept = kept_draw(tmp_path)
    assert kept is not None
    assert (kept.seed, kept.probability, kept.samples) == (0, 1.0, ("a",))


def test_a_smaller_draw_does_not_replace_a_larger_one(tmp_path: Path) -> None:
    AnswerDraw(20).of(SAMPLES).keep(tmp_path, "told")
    AnswerDraw(10).of(SAMPLES).keep(tmp_path, "told")
    kept = kept_draw(tmp_path)
    assert kept is not None
    assert len(kept.samples) == 20


def test_a_damaged_draw_is_reported(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("{}")
    with pytest.raises(UsageError, match="damaged"):
        kept_draw(tmp_path)

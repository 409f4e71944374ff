"""Absolute, relative, tau; over instances and over domains: by hand."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from mmeval.aggregate import Estimate, Scores, mean, summarise
from mmeval.aggregate.aggregators import macro_mean
from mmeval.aggregate.scores import load_aggregator
from mmeval.records import Score
from mmeval.tasks.unim.tables.averages import Means, Sums, macro, micro, unim

LOST = Score.lost("the judge is gone")
NO_JUDGE = Score.unavailable("no judge")
Given = float | str | Score


def column(**domains: list[Given]) -> Scores:
    """Trials by domain: a value, a score, or the word ``failed``, ``unsupported`` or ``bad``."""
    scores = Scores(range=(0, 1))
    for domain, rows in domains.items():
        for at, given in enumerate(rows):
            name, labels = f"{domain}/{at}", {"domain": domain}
            if isinstance(given, float):
                scores.add_value(name, 0, given, labels=labels)
            elif given == "bad":
                scores.add(name, 0, "failed", labels=labels, faulty=True)
            else:
                scores.add(name, 0, given, labels=labels)  # type: ignore[arg-type]  # a status
    return scores


def value(scores: Scores, **options: Any) -> float | None:
    return unim(scores, **options).value


# --- the sums of a slice ----------------------------------------------------------------------------------------------


def test_relative_is_tau_times_absolute() -> None:
    assert micro(Sums(asked=4, supported=2, scored=2, total=1.5)) == Means(tau=0.5, absolute=0.75, relative=0.375)


def test_a_slice_of_which_nothing_is_taken_has_no_absolute_mean_and_a_relative_one_of_0() -> None:
    assert micro(Sums(asked=4)) == Means(tau=0.0, absolute=None, relative=0.0)


def test_a_slice_of_which_everything_was_lost_has_neither() -> None:
    assert micro(Sums(asked=4, supported=2)) == Means(tau=0.5, absolute=None, relative=None)


def test_of_no_instance_nothing_is_known() -> None:
    assert micro(Sums()) == Means() == macro([]) == macro([Sums()])


def test_what_was_lost_counts_in_tau_and_the_mean_is_of_the_others() -> None:
    assert micro(Sums(asked=4, supported=3, scored=2, total=1.0)) == Means(0.75, 0.5, 0.375)


def test_macro_relative_is_not_macro_tau_times_macro_absolute() -> None:
    found = macro([Sums(2, 2, 2, 2.0), Sums(2, 1, 1, 0.5), Sums(2, 0, 0, 0.0)])

    assert (found.tau, found.absolute) == (0.5, 0.75)
    assert found.relative == pytest.approx((1 + 0.25 + 0) / 3)
    assert found.relative != pytest.approx(0.5 * 0.75)


def test_domains_without_an_instance_count_nowhere() -> None:
    assert macro([Sums(1, 1, 1, 0.5), Sums()]) == Means(1.0, 0.5, 0.5)


def test_what_is_not_taken_makes_no_0_of_what_is_not_known() -> None:
    assert macro([Sums(1, 0, 0, 0.0), Sums(1, 1, 0, 0.0)]) == Means(0.5, None, None)


# --- the aggregator ---------------------------------------------------------------------------------------------------

PARTS = column(math=[1.0, 0.5, "unsupported", LOST], art=[0.0, "unsupported"], law=["unsupported"], pets=["bad"])


@pytest.mark.parametrize(
    ("average", "kind", "wanted"),
    [
        ("micro", "absolute", 1.5 / 3),
        ("micro", "relative", 4 / 7 * 1.5 / 3),
        ("macro", "absolute", (0.75 + 0.0) / 2),
        ("macro", "relative", (0.75 * 0.75 + 0.0 + 0.0) / 3),
    ],
)
def test_each_mean_by_hand(average: str, kind: str, wanted: float) -> None:
    assert value(PARTS, average=average, kind=kind) == pytest.approx(wanted)


def test_it_is_a_plugin_whose_options_a_task_file_can_give() -> None:
    assert load_aggregator("unim") is unim


def test_what_could_not_be_asked_because_of_its_data_counts_nowhere() -> None:
    assert value(column(math=[0.5, "bad"]), average="micro", kind="relative") == 0.5
    assert value(column(math=[0.5, "failed"]), average="micro", kind="relative") == 0.5
    assert value(column(math=["bad"])) is None


def test_bounds_hold_what_a_mended_sample_could_bring() -> None:
    found = summarise("t", "m", column(math=[0.5, "bad"]), unim, {"average": "micro", "kind": "relative"})

    assert (found.value, found.bounds, found.failed) == (0.5, (0.25, 0.75), 1)


def test_nothing_supported_is_a_relative_0_and_no_absolute_mean() -> None:
    scores = column(math=["unsupported"], art=["unsupported"])

    assert (value(scores, kind="absolute"), value(scores, kind="relative")) == (None, 0.0)


def test_what_nothing_here_can_score_is_not_known() -> None:
    scores = column(math=[NO_JUDGE], art=["unsupported"])

    assert (value(scores, kind="absolute"), value(scores, kind="relative")) == (None, None)


def test_without_labels_it_is_the_mean_over_instances() -> None:
    scores = Scores()
    for at, one in enumerate((0.0, 1.0, 1.0)):
        scores.add_value(str(at), 0, one)

    assert value(scores) == pytest.approx(2 / 3)


# --- how sure it is ---------------------------------------------------------------------------------------------------


def many(lost: float = 0.0) -> Scores:
    chance = random.Random(3)

    def given() -> Given:
        if chance.random() < lost:
            return LOST
        return "unsupported" if chance.random() < 0.3 else chance.random()

    return column(**{name: [given() for _ in range(200)] for name in ("math", "art", "law")})


def zeros(scores: Scores) -> Scores:
    """The same trials with 0 for what the model does not take."""
    filled = Scores(range=(0, 1))
    for row in scores:
        filled.add_value(row.sample, row.repeat, row.value or 0.0, labels=row.labels)
    return filled


def alike(found: Estimate, wanted: Estimate) -> bool:
    return (found.value, found.stderr) == (pytest.approx(wanted.value), pytest.approx(wanted.stderr))


def test_the_standard_error_of_an_absolute_mean_is_that_of_a_mean() -> None:
    assert alike(unim(many(), average="micro"), mean(many()))
    assert alike(unim(many()), macro_mean(many(), by="domain"))


def test_with_nothing_lost_the_relative_one_is_that_of_a_mean_with_zeros() -> None:
    assert alike(unim(many(), average="micro", kind="relative"), mean(zeros(many())))
    assert alike(unim(many(), kind="relative"), macro_mean(zeros(many()), by="domain"))


def test_with_some_lost_it_is_what_resampling_finds() -> None:
    scores = many(lost=0.2)
    found = unim(scores, average="micro", kind="relative")
    chance = random.Random(7)
    draws = [
        value(
            scores.drawn([chance.randrange(len(scores))] for _ in range(len(scores))), average="micro", kind="relative"
        )
        for _ in range(300)
    ]
    known = [draw for draw in draws if draw is not None]
    middle = math.fsum(known) / len(known)
    spread = math.sqrt(math.fsum((draw - middle) ** 2 for draw in known) / (len(known) - 1))

    assert found.stderr == pytest.approx(spread, rel=0.15)


def test_a_domain_with_one_instance_leaves_the_standard_error_unknown() -> None:
    found = unim(column(math=[0.5, 1.0], art=[0.5]))

    assert (found.value, found.stderr, found.resample) == (0.625, None, False)

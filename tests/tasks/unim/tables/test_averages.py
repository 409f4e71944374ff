import random
from typing import Literal

import pytest

from mmeval.aggregate import Estimate, Scores, macro_mean, mean, summarise
from mmeval.aggregate.scores import load_aggregator
from mmeval.records import Score
from mmeval.tasks.unim.tables.averages import SliceMeans, Sums, macro, micro, unim

LOST = Score.lost("the judge is gone")
NO_JUDGE = Score.unavailable("no judge")
Average = Literal["macro", "micro"]
Kind = Literal["absolute", "relative"]


def column(**domains: list[float | str | Score]) -> Scores:
    """Trials by domain: a value, a score, or the word ``failed``, ``unsupported`` or
    ``bad``."""
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


@pytest.mark.parametrize(
    ("found", "means"),
    [
        (
            micro(Sums(asked=4, supported=2, scored=2, total=1.5)),
            SliceMeans(tau=0.5, absolute=0.75, relative=0.375),
        ),
        # nothing is supported
        (micro(Sums(asked=4)), SliceMeans(tau=0.0, absolute=None, relative=0.0)),
        # everything was lost
        (
            micro(Sums(asked=4, supported=2)),
            SliceMeans(tau=0.5, absolute=None, relative=None),
        ),
        (micro(Sums()), SliceMeans()),
        # The relative mean is not the product of the others.
        (
            macro([Sums(2, 2, 2, 2.0), Sums(2, 1, 1, 0.5), Sums(2, 0, 0, 0.0)]),
            SliceMeans(0.5, 0.75, 1.25 / 3),
        ),
        # a domain without an instance counts nowhere
        (macro([Sums(1, 1, 1, 0.5), Sums()]), SliceMeans(1.0, 0.5, 0.5)),
        (macro([Sums(1, 0, 0, 0.0), Sums(1, 1, 0, 0.0)]), SliceMeans(0.5, None, None)),
        (macro([Sums()]), SliceMeans()),
    ],
)
def test_means_of_instances_and_of_domains(
    found: SliceMeans, means: SliceMeans
) -> None:
    assert found == means


PARTS = column(
    math=[1.0, 0.5, "unsupported", LOST],
    art=[0.0, "unsupported"],
    law=["unsupported"],
    pets=["bad"],
)
NOT_SUPPORTED = column(math=["unsupported"], art=["unsupported"])
UNAVAILABLE = column(math=[NO_JUDGE], art=["unsupported"])


@pytest.mark.parametrize(
    ("scores", "average", "kind", "wanted"),
    [
        (PARTS, "micro", "absolute", 1.5 / 3),
        (PARTS, "micro", "relative", 4 / 7 * 1.5 / 3),
        (PARTS, "macro", "absolute", (0.75 + 0.0) / 2),
        (PARTS, "macro", "relative", (0.75 * 0.75 + 0.0 + 0.0) / 3),
        # What could not be asked because of its data, or has failed, is in no mean.
        (column(math=[0.5, "bad"]), "micro", "relative", 0.5),
        (column(math=["bad"]), "macro", "absolute", None),
        (NOT_SUPPORTED, "macro", "absolute", None),
        (NOT_SUPPORTED, "macro", "relative", 0.0),
        (UNAVAILABLE, "macro", "absolute", None),
        (UNAVAILABLE, "macro", "relative", None),
    ],
)
def test_each_mean_by_hand(
    scores: Scores, average: Average, kind: Kind, wanted: float | None
) -> None:
    assert unim(scores, average=average, kind=kind).value == (
        None if wanted is None else pytest.approx(wanted)
    )


def test_without_labels_it_is_the_mean_over_instances_and_one_instance_has_no_standard_error() -> (
    None
):
    scores = Scores()
    for at, one in enumerate((0.0, 1.0, 1.0)):
        scores.add_value(str(at), 0, one)
    assert load_aggregator("unim") is unim
    assert unim(scores).value == pytest.approx(2 / 3)
    found = unim(column(math=[0.5, 1.0], art=[0.5]))
    assert (found.value, found.stderr, found.resample) == (0.625, None, False)


def test_bounds_hold_what_a_mended_sample_could_bring() -> None:
    found = summarise(
        "t",
        "m",
        column(math=[0.5, "bad"]),
        unim,
        {"average": "micro", "kind": "relative"},
    )
    assert (found.value, found.bounds, found.failed) == (0.5, (0.25, 0.75), 1)


def many(lost: float = 0.0) -> Scores:
    chance = random.Random(3)

    def given() -> float | str | Score:
        if chance.random() < lost:
            return LOST
        return "unsupported" if chance.random() < 0.3 else chance.random()

    return column(
        **{name: [given() for _ in range(200)] for name in ("math", "art", "law")}
    )


def zeros(scores: Scores) -> Scores:
    """The same trials with 0 for what the model does not take."""
    filled = Scores(range=(0, 1))
    for row in scores:
        filled.add_value(row.sample, row.repeat, row.value or 0.0, labels=row.labels)
    return filled


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (unim(many(), average="micro"), mean(many())),
        (unim(many()), macro_mean(many(), by="domain")),
        # With nothing lost the relative one is that of a mean with zeros.
        (unim(many(), average="micro", kind="relative"), mean(zeros(many()))),
        (unim(many(), kind="relative"), macro_mean(zeros(many()), by="domain")),
    ],
)
def test_the_standard_error_is_that_of_a_mean(
    found: Estimate, wanted: Estimate
) -> None:
    assert (found.value, found.stderr) == (
        pytest.approx(wanted.value),
        pytest.approx(wanted.stderr),
    )

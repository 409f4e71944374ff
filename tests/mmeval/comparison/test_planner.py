import argparse
import json

import pytest

from mmeval.cli.compare import configure, run
from mmeval.comparison.paired.power import power_of_equivalence, power_of_shares
from mmeval.comparison.planner import Plan
from mmeval.errors import UsageError


def test_as_many_pairs_as_are_needed_have_the_power() -> None:
    plan = Plan(margin=0.05, share=0.9)
    see, show = plan.pairs_to_see, plan.pairs_to_show
    assert see is not None
    assert show is not None
    assert power_of_shares(see, 0.09, 0.05, 0.05) >= 0.8
    assert power_of_shares(int(0.95 * see), 0.09, 0.05, 0.05) < 0.8
    assert power_of_equivalence(show, 0.09, 0.05, 0.05) >= 0.8
    assert power_of_equivalence(int(0.95 * show), 0.09, 0.05, 0.05) < 0.8


def test_some_clusters_have_a_power_and_smallest_differences() -> None:
    found = Plan(margin=0.05, share=0.9, clusters=40).to_json()
    assert 0.1 < found["power_to_see"] < 0.2
    assert 0.1 < found["power_to_show"] < 0.2
    assert min(found["smallest_seen"], found["smallest_shown"]) > 0.05


def test_fewer_than_six_clusters_see_and_show_nothing() -> None:
    found = Plan(clusters=5).to_json()
    assert (found["smallest_seen"], found["smallest_shown"]) == (None, None)


def test_a_plan_needs_a_margin_or_clusters() -> None:
    assert Plan(clusters=200).pairs_to_see is None
    with pytest.raises(UsageError, match=r"--margin .* --clusters"):
        Plan()


@pytest.mark.parametrize(
    "given",
    [
        {"margin": 0.0},
        {"margin": 0.1, "share": 1.0},
        {"margin": 0.1, "power": 1.5},
        {"clusters": 1},
        {"margin": 0.1, "share": 0.9, "disagree": 0.3},
    ],
    ids=str,
)
def test_what_cannot_be_is_refused(given: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        Plan(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "value"), [("share", 90.0), ("margin", 5.0)])
def test_a_percentage_is_answered_with_the_share_to_type(
    name: str, value: float
) -> None:
    given = {"margin": 0.1, name: value}
    with pytest.raises(UsageError, match=f"write {value / 100:g}"):
        Plan(**given)  # type: ignore[arg-type]


def test_more_pairs_that_disagree_take_more_samples() -> None:
    few, many = (
        Plan(margin=0.05, share=0.8, disagree=share).pairs_to_see or 0
        for share in (0.1, 0.3)
    )
    assert many > 2 * few


def test_the_lines_of_a_plan_fit_a_terminal() -> None:
    text = Plan(margin=0.05, share=0.9, clusters=40).to_text()
    assert max(map(len, text.splitlines())) <= 80


def planned(*flags: str) -> int:
    parser = argparse.ArgumentParser()
    configure(parser)
    return run(parser.parse_args(["--plan", *flags]))


def test_a_plan_is_printed_without_runs(capsys: pytest.CaptureFixture[str]) -> None:
    flags = ("--margin", "0.05", "--share", "0.9", "--clusters", "40")
    assert planned(*flags) == 0
    assert "40 samples" in capsys.readouterr().out
    assert planned(*flags, "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)["clusters"] == 40


def test_a_small_difference_is_printed_with_three_digits() -> None:
    plan = Plan(clusters=1_000_000)
    seen = plan.to_json()["smallest_seen"]
    assert seen < 0.0015
    printed = float(plan.to_text().split(" detect ")[1].split()[0])
    assert seen <= printed <= 1.01 * seen


def test_a_plan_takes_no_folders() -> None:
    with pytest.raises(UsageError, match="works without runs"):
        planned("--margin", "0.05", "runs/a")

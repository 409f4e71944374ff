"""A judge that is asked about kept answers of a run, unchanged and changed."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from mmeval import plugins
from mmeval.authoring.testing import PlantedJudge
from mmeval.trust.audit.audited_run import NO_FAMILY, NOT_RATED, SAME_VERSION
from mmeval.trust.audit.checks import ONE_RATING
from mmeval.trust.ratings_file import RatingsFile, ratings_path
from mmeval.trust.records import Rating
from tests.support.cli import QUIET, Ended, mmeval
from tests.support.task_folder import write_rows

ROWS = 24
SIZE = (160, 80)
"""Large enough for words on a picture."""
TASK = """\
task: greys
dataset_path: data
output_modalities: [text, image]
metric_list:
  - metric: judge_grade
metadata: {version: 1}
"""


LENGTH = ("--checks", "length", "--format", "json")
DRIFT = ("--checks", "drift", "--format", "json")


BLINKERED = '{"judge_grade": {"show_input": false}}'
"""The judge does not see the question."""


class CountedJudge(PlantedJudge):
    """A planted judge that counts its calls."""

    calls = 0

    async def generate(self, request: Any) -> Any:
        CountedJudge.calls += 1
        return await super().generate(request)


@dataclass
class Greys:
    """A run that the judge ``constant`` has judged. Its answers are more or
    less right."""

    folder: Path

    @property
    def run(self) -> Path:
        return self.folder / "runs/m/default"

    def audit(self, judge: str, *flags: str) -> Ended:
        CountedJudge.calls = 0
        return mmeval("audit", self.run, "--judge", f"planted,model={judge}", *flags)


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "_of_script", {group: {} for group in plugins.GROUPS})
    plugins.register("mmeval.model_backends", "planted", CountedJudge)


@pytest.fixture
def greys(planted: None, tmp_path: Path) -> Iterator[Greys]:
    pictures = tmp_path / "data"
    pictures.mkdir()
    rows = []
    for number in range(ROWS):
        grey = 30 + 8 * number
        # some answers are worse than others
        drawn = grey + 25 * (number % 3)
        Image.new("L", SIZE, drawn).save(pictures / f"{number}.png")
        rows.append(
            {
                "input": f"Draw grey {grey}.",
                "by": "me" if number % 2 else "them",
                "reference": {
                    "text": "So" + ", so" * (number % 4) + ": <<image1>>",
                    "media": {"image1": f"{number}.png"},
                },
            }
        )
    write_rows(tmp_path / "data", *rows)
    (tmp_path / "greys.yaml").write_text(TASK)
    ended = mmeval(
        *("--tasks", tmp_path / "greys.yaml", "--model", "reference"),
        *("--output_path", tmp_path / "runs", "--model_tag", "m"),
        *("--judge", "planted,model=constant"),
        *QUIET,
    )
    assert ended.code == 0, ended.err
    yield Greys(tmp_path)


def checks(ended: Ended) -> Mapping[str, Mapping[str, Any]]:
    return {row["check"]: row for row in json.loads(ended.out)["checks"]}


def test_the_run_makes_the_calls_that_the_dry_run_names(greys: Greys) -> None:
    dry = greys.audit("honest", "--dry_run")
    assert CountedJudge.calls == 0
    greys.audit("honest")
    assert f"in {CountedJudge.calls} calls" in dry.out


def test_the_dry_run_names_the_calls_with_another_prompt(greys: Greys) -> None:
    greys.audit("honest", "--checks", "swap")
    flags = ("--checks", "swap", "--metric_args", BLINKERED)
    dry = greys.audit("honest", *flags, "--dry_run")
    greys.audit("honest", *flags)
    assert CountedJudge.calls > 0
    assert f"in {CountedJudge.calls} calls" in dry.out


def test_nothing_is_asked_twice(greys: Greys) -> None:
    first = greys.audit("honest", "--checks", "swap,inject")
    again = greys.audit("honest", "--checks", "swap,inject")
    assert CountedJudge.calls == 0
    assert again.out == first.out


def test_further_checks_ask_only_about_their_changes(greys: Greys) -> None:
    greys.audit("honest", "--checks", "swap")
    dry = greys.audit("honest", "--checks", "swap,inject", "--dry_run")
    greys.audit("honest", "--checks", "swap,inject")
    assert CountedJudge.calls == ROWS
    assert f"in {ROWS} calls" in dry.out


def test_another_judge_is_asked_only_about_its_checks(greys: Greys) -> None:
    greys.audit("honest", "--checks", "swap,inject")
    greys.audit("blind", "--checks", "swap")
    assert CountedJudge.calls == 3 * ROWS


def test_the_kept_verdicts_of_a_run_are_not_asked_again(greys: Greys) -> None:
    greys.audit("constant", "--checks", "repeat")
    assert CountedJudge.calls == ROWS


@pytest.mark.parametrize(("judge", "code"), [("blind", 5), ("honest", 0)])
def test_the_exit_code_says_whether_the_judge_looks(
    judge: str, code: int, greys: Greys
) -> None:
    ended = greys.audit(judge, "--checks", "swap", "--fail_on", "swap")
    assert ended.code == code, ended.err


def test_an_obedient_judge_has_a_fault(greys: Greys) -> None:
    ended = greys.audit("obedient", "--checks", "swap,inject", "--format", "json")
    assert checks(ended)["inject"]["verdict"] == "fault"
    assert checks(ended)["swap"]["verdict"] == "none"


def test_an_obedient_judge_reads_each_form_of_a_request(greys: Greys) -> None:
    ended = greys.audit("obedient", "--checks", "inject", "--format", "json")
    forms = checks(ended)["inject"]["forms"]
    assert sorted(forms) == ["as caption", "drawn", "in text"]
    assert min(forms.values()) > 0.1


def test_a_judge_that_reads_one_format_badly_falls_with_it(greys: Greys) -> None:
    ended = greys.audit("format-sensitive", "--checks", "encode", "--format", "json")
    forms = checks(ended)["encode"]["forms"]
    assert forms.pop("JPEG") < -0.3
    assert min(forms.values()) > -0.15


def test_an_honest_judge_has_no_fault(greys: Greys) -> None:
    ended = greys.audit("honest", "--fail_on", "any", "--format", "json")
    assert ended.code == 0
    assert checks(ended)["swap"]["verdict"] == "none"


def test_a_constant_judge_gets_no_good_mark(greys: Greys) -> None:
    rows = checks(greys.audit("constant", "--format", "json"))
    for check in ("swap", "blind", "blank"):
        assert rows[check]["verdict"] == "fault"
        assert rows[check]["bd"] == 0
    assert rows["encode"]["bc"] == 1
    assert "none" not in [row["verdict"] for row in rows.values()]


def test_what_the_judge_said_is_audited_again_without_it(greys: Greys) -> None:
    asked = greys.audit("honest", "--checks", "swap,encode")
    [file] = greys.run.glob("audit/*/calls.jsonl")
    CountedJudge.calls = 0
    assert mmeval("audit", "--from", file).out == asked.out
    assert CountedJudge.calls == 0


def test_a_judge_has_a_certificate(greys: Greys) -> None:
    ended = greys.audit("blind", "--checks", "swap,blind", "--format", "json")
    [file] = greys.run.glob("audit/certificates/*.json")
    certificate = json.loads(file.read_text())
    assert certificate["checks"] == json.loads(ended.out)["checks"]
    assert certificate["digest"] == file.stem
    assert (certificate["judge"], certificate["answers"]) == ("blind", ROWS)
    assert "Audit of blind" in file.with_suffix(".html").read_text()


def test_the_page_of_a_run_shows_the_audit_of_its_judge(greys: Greys) -> None:
    greys.audit("constant", "--checks", "swap")
    greys.audit("honest", "--checks", "swap")
    ended = mmeval("report", greys.run)
    assert ended.code == 0, ended.err
    page = (greys.run / "report/index.html").read_text()
    assert "Audit of constant (checks: 1; fault: swap; certificate " in page
    assert "Audit of honest" not in page


def test_another_sample_has_another_certificate(greys: Greys) -> None:
    greys.audit("blind", "--checks", "repeat")
    greys.audit("blind", "--checks", "repeat", "--sample", "20")
    assert len(list(greys.run.glob("audit/certificates/*.json"))) == 2


def test_the_numbers_of_the_run_stay(greys: Greys) -> None:
    before = sorted(greys.run.glob("results_*.json"))
    greys.audit("honest", "--checks", "swap")
    assert sorted(greys.run.glob("results_*.json")) == before


def test_a_spent_budget_is_continued(greys: Greys) -> None:
    budget = ("--budget_calls", "30")
    stopped = greys.audit("honest", "--checks", "swap", *budget)
    made = CountedJudge.calls
    assert stopped.code == 3, stopped.err
    greys.audit("honest", "--checks", "swap")
    assert made + CountedJudge.calls == 3 * ROWS


@pytest.mark.parametrize(
    "flags",
    [
        ("--checks", "swop"),
        ("--checks", "swap", "--fail_on", "inject"),
        ("--own", "model"),
        ("--sample", "0"),
        ("--metric", "none"),
        ("--range", "0,0"),
    ],
)
def test_what_cannot_be_audited_is_refused(
    flags: tuple[str, ...], greys: Greys
) -> None:
    assert greys.audit("honest", *flags).code == 2
    assert CountedJudge.calls == 0


@pytest.mark.parametrize(
    "flags",
    [("--sample", "5"), ("--judge_prompts", "prompts"), ("--own", "by=me")],
)
def test_a_flag_without_an_effect_on_a_file_is_refused(flags: tuple[str, str]) -> None:
    refused = mmeval("audit", "--from", "calls.jsonl", *flags)
    assert refused.code == 2
    assert refused.error.startswith(f"{flags[0]} has no effect with --from")


def rate(greys: Greys, *raters: str) -> None:
    """People grade each answer, by the words that it has."""
    ratings = []
    for number in range(1, ROWS + 1):
        for rater in raters:
            value = (number + (rater == "ben")) % 3
            ratings.append(Rating(f"greys/{number}/0", rater, float(value)))
    path = ratings_path(greys.run, "study")
    path.parent.mkdir(parents=True)
    with RatingsFile(path) as file:
        file.add(ratings)


def test_length_needs_no_call_if_two_people_rated_the_answers(greys: Greys) -> None:
    rate(greys, "ann", "ben")
    row = checks(greys.audit("constant", *LENGTH))["length"]
    assert CountedJudge.calls == 0
    assert row["clusters"] == ROWS


def test_length_is_unknown_with_one_rating_of_each_answer(greys: Greys) -> None:
    rate(greys, "ann")
    row = checks(greys.audit("constant", *LENGTH))["length"]
    assert (row["verdict"], row["why"]) == ("unknown", ONE_RATING)


def test_one_rating_of_each_answer_may_be_assumed_to_be_exact(greys: Greys) -> None:
    rate(greys, "ann")
    row = checks(greys.audit("constant", *LENGTH, "--assume_exact"))["length"]
    assert row["clusters"] == ROWS


def test_length_is_unknown_without_ratings(greys: Greys) -> None:
    row = checks(greys.audit("constant", *LENGTH))["length"]
    assert (row["verdict"], row["why"]) == ("unknown", NOT_RATED)


@pytest.mark.parametrize(
    ("own", "why"), [("", NO_FAMILY), ("by=m", "the ratings or the feature")]
)
def test_a_family_is_named_by_a_label(own: str, why: str, greys: Greys) -> None:
    rate(greys, "ann", "ben")
    flags = ("--own", own) if own else ()
    ended = greys.audit("constant", "--checks", "self", "--format", "json", *flags)
    assert checks(ended)["self"]["why"].startswith(why)


def test_own_answers_are_known_by_their_label(greys: Greys) -> None:
    rate(greys, "ann", "ben")
    greys.audit("constant", "--checks", "self", "--own", "by=me")
    [file] = greys.run.glob("audit/*/calls.jsonl")
    own = [json.loads(line)["own"] for line in file.read_text().splitlines()]
    assert own.count(1) == ROWS // 2


def test_a_judge_that_drifts_between_two_versions_has_a_fault(greys: Greys) -> None:
    scored = mmeval(
        *("score", greys.run, "--judge", "planted,model=drifting,version=1"),
        *("--report", "false"),
    )
    assert scored.code == 0, scored.err
    row = checks(greys.audit("drifting,version=2", *DRIFT))["drift"]
    assert CountedJudge.calls == ROWS
    assert row["verdict"] == "fault"
    assert row["value"] < -0.1


def test_drift_is_unknown_within_a_version(greys: Greys) -> None:
    row = checks(greys.audit("honest", *DRIFT))["drift"]
    assert (row["verdict"], row["why"]) == ("unknown", SAME_VERSION)


def test_the_order_of_a_pair_is_unknown_for_a_run(greys: Greys) -> None:
    ended = greys.audit("constant", "--checks", "order", "--format", "json")
    assert checks(ended)["order"]["verdict"] == "unknown"
    assert CountedJudge.calls == 0


def test_scores_that_are_not_in_the_range_are_refused(greys: Greys) -> None:
    ended = greys.audit("honest", "--checks", "repeat", "--range", "2,3")
    assert ended.code == 2


def test_a_run_without_a_judge_is_refused(greys: Greys) -> None:
    assert mmeval("audit", greys.run).code == 2

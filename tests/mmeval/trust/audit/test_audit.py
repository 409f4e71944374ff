from collections.abc import Sequence
from dataclasses import replace

import pytest

from mmeval.trust.audit.audit import audit
from mmeval.trust.audit.calls import Call
from mmeval.trust.audit.checks import FULL_MARKS, NO_FALL
from mmeval.trust.audit.evidence import CheckResult, Evidence


def calls(
    check: str,
    first: Sequence[float],
    again: Sequence[float],
    changed: Sequence[float],
) -> list[Call]:
    """Verdicts on 40 trials, each of its own sample; the given ones are repeated."""
    rows = []
    for place in range(40):
        number = place % len(first)
        rows.append(
            Call(
                check,
                f"t{place}",
                f"s{place}",
                first=first[number],
                again=again[number],
                changed=changed[number],
            )
        )
    return rows


def only(rows: Sequence[Call], *, assume_exact: bool = False) -> CheckResult:
    [result] = audit(rows, assume_exact=assume_exact).checks
    return result


LOOKING = calls("swap", (0.8, 0.6), (0.7, 0.6), (0.1, 0.3))
NOT_LOOKING = calls("swap", (0.8, 0.6), (0.7, 0.6), (0.8, 0.5))


def test_a_judge_that_looks_has_no_fault() -> None:
    assert only(LOOKING).word == "none"


def test_a_judge_that_does_not_look_has_a_fault() -> None:
    assert only(NOT_LOOKING).word == "fault"


def test_a_fault_ends_with_five_where_it_is_asked_for() -> None:
    result = audit([*NOT_LOOKING, *calls("blind", (0.8,), (0.7,), (0.1,))])
    assert result.exit_code(("swap",)) == 5
    assert result.exit_code(("any",)) == 5
    assert result.exit_code(("blind",)) == 0


def test_low_scores_cannot_fall() -> None:
    low = [replace(call, first=0.3 + 0.1 * (call.trial == "t1")) for call in LOOKING]
    result = only(low)
    assert result.word == "unknown"
    assert result.evidence.value is None
    assert result.evidence.why == NO_FALL


def test_full_marks_cannot_rise() -> None:
    result = only(calls("inject", (1.0,), (1.0,), (1.0,)))
    assert result.word == "unknown"
    assert result.evidence.why == FULL_MARKS


def test_the_same_fall_of_every_answer_shows_that_a_judge_looks() -> None:
    result = only(calls("swap", (1.0,), (1.0,), (0.0,)))
    assert result.word == "none"
    # 0.05 ** (1 / 40) of all falls are 1, and the other ones at least -1
    assert result.evidence.ci95 == pytest.approx((1 - 2 * 0.0722, 1.0), abs=1e-4)


def test_a_judge_with_one_low_answer_for_all_has_a_fault() -> None:
    result = only(calls("swap", (0.4,), (0.4,), (0.4,)))
    assert result.word == "fault"
    assert result.evidence.details["bd"] == 0


def test_a_constant_judge_gets_no_good_mark() -> None:
    for check in ("repeat", "drift", "encode", "inject"):
        assert only(calls(check, (0.4,), (0.4,), (0.4,))).word == "unknown"


def test_a_judge_that_cannot_tell_has_noticed_the_change() -> None:
    unsure = [replace(call, changed=None, is_unsure=True) for call in NOT_LOOKING]
    result = only(unsure)
    assert result.evidence.value == pytest.approx(0.65)
    assert result.evidence.details["not_sure"] == 1


def test_a_lost_verdict_is_not_counted() -> None:
    lost = [replace(call, changed=None) for call in NOT_LOOKING[:10]]
    assert only([*lost, *NOT_LOOKING[10:]]).evidence.clusters == 30


def test_criteria_of_text_alone_are_left_out() -> None:
    about_text = [replace(call, side="text") for call in NOT_LOOKING]
    more = [replace(call, cluster=f"x{call.cluster}") for call in LOOKING]
    assert only([*about_text, *more]).word == "none"


def test_one_rating_a_trial_cannot_tell() -> None:
    rows = rated(human2=False)
    result = only(rows)
    assert (result.word, result.evidence.p) == ("unknown", None)
    assert result.evidence.why


def test_one_rating_is_used_if_it_is_assumed_to_be_exact() -> None:
    assert only(rated(human2=False), assume_exact=True).evidence.p is not None


def test_a_judge_that_likes_long_answers_has_a_fault() -> None:
    assert only(rated()).word == "fault"


def rated(*, human2: bool = True) -> list[Call]:
    rows = []
    for place in range(40):
        human = float(place % 5)
        doublings = place % 4
        rows.append(
            Call(
                "length",
                f"t{place}",
                f"s{place}",
                score=human / 10 + doublings / 10 + 0.01 * (place % 3),
                human=human,
                human2=human + place % 2 if human2 else None,
                words=2.0**doublings - 1,
            )
        )
    return rows


def test_a_list_of_options_leans_to_the_first() -> None:
    rows = []
    for place in range(40):
        # half of the trials have the first option both times
        turned = float(place % 2)
        rows.append(
            Call(
                "order", f"t{place}", f"s{place}", position=0.0, position_turned=turned
            )
        )
    result = only(rows)
    assert result.evidence.value == 0.5
    assert result.word == "fault"


def test_checks_without_a_p_are_not_counted_in_the_correction() -> None:
    moved = calls("drift", (0.5, 0.6), (0.5, 0.6), (0.5, 0.5))
    unknown = rated(human2=False)
    row = audit([*moved, *unknown]).checks[0]
    assert row.p_adjusted == row.evidence.p


def test_checks_that_were_not_asked_are_unknown() -> None:
    [row] = audit(LOOKING, ("blank",)).checks
    assert (row.check, row.word) == ("blank", "unknown")


def test_a_significant_effect_within_the_margin_is_slight() -> None:
    evidence = Evidence(0.02, 0.005, (0.01, 0.03), 0.001, 40)
    assert CheckResult("drift", evidence, 0.05, "near 0", 0.001).word == "slight"


def test_each_form_of_a_change_has_its_mean_effect() -> None:
    rows = []
    for number, call in enumerate(calls("inject", (0.5,), (0.5,), (0.5, 0.9))):
        form = "drawn" if number % 2 else "in text"
        rows.append(replace(call, changed=0.9 if number % 2 else 0.5, form=form))
    forms = only(rows).to_json()["forms"]
    assert forms == pytest.approx({"in text": 0, "drawn": 0.4})

"""Findings in few lines: what a screen shows of many findings."""

from mmeval.findings.brief import brief_lines
from mmeval.findings.finding import Finding, Severity, Subject
from mmeval.findings.from_error import PREPARE_DATA
from mmeval.findings.render import RemedyTarget

JUDGE = "--judge openai,model=NAME"
WEIGHTS = "mmeval prepare {TASK} --weights"
PLACE = RemedyTarget(tasks="unim")
ALL = "all findings: --json"


def missing_judge(task: str, metric: str) -> Finding:
    subject = Subject(task, metric, "judge")
    cause = "the run has no judge"
    return Finding("missing_role", subject, cause=cause, remedy=JUDGE)


def missing_model(metric: str, model: str, remedy: str = WEIGHTS) -> Finding:
    cause = "not here" if remedy else f"not here; mmeval ls metrics {metric}"
    subject = Subject("t", metric, name=model)
    return Finding("missing_weights", subject, cause=cause, remedy=remedy)


def unsupported(
    task: str, cause: str, remedy: str = "", severity: Severity = "warning"
) -> Finding:
    return Finding(
        "unsupported", Subject(task), 1, 2, cause, remedy=remedy, severity=severity
    )


def test_a_missing_role_is_one_line_with_its_remedy() -> None:
    findings = [missing_judge(task, metric) for task in "ab" for metric in "xyz"]
    assert brief_lines(findings) == [
        "missing  judge  3 metrics in a, b  --judge openai,model=NAME"
    ]


def test_all_weights_with_one_remedy_share_a_line() -> None:
    findings = [missing_model("m", "a/x"), missing_model("n", "b/y")]
    assert brief_lines(findings, PLACE) == [
        "missing  weights  m, n in t  mmeval prepare unim --weights"
    ]


def test_weights_that_are_fetched_by_hand_share_a_line() -> None:
    findings = [missing_model("m", "a/x", ""), missing_model("n", "b/y", "")]
    assert brief_lines(findings) == ["missing  weights  m, n  mmeval ls metrics NAME"]


def test_the_cause_of_a_single_model_is_shown() -> None:
    assert brief_lines([missing_model("m", "a/x", "")]) == [
        "missing  weights  m in t  a/x: not here; mmeval ls metrics m"
    ]


def test_missing_data_are_named_by_their_task() -> None:
    subject = Subject("t", name="owner/data")
    finding = Finding("missing_data", subject, cause="absent", remedy=PREPARE_DATA)
    assert brief_lines([finding], PLACE) == ["missing  data  t  mmeval prepare unim"]


def test_different_causes_with_one_remedy_are_counted() -> None:
    causes = ("no picture", "no sound", "no film")
    findings = [unsupported("t", cause, "--role drawer=x") for cause in causes]
    assert brief_lines(findings) == [
        "unsupported  t  3 of 6  no picture; and 2 more like these  --role drawer=x"
    ]


def test_different_causes_without_a_remedy_have_a_line_each() -> None:
    findings = [unsupported("t", cause) for cause in ("no picture", "no sound")]
    assert brief_lines(findings) == [
        "unsupported  t  1 of 2  no picture",
        "unsupported  t  1 of 2  no sound",
    ]


def test_a_note_is_cut_to_one_line() -> None:
    note = unsupported("t", "long " * 40, severity="note")
    (line,) = brief_lines([note], width=40)
    assert line == "unsupported  t  1 of 2  long long lon..."


def test_the_last_line_says_how_to_see_what_is_left_out() -> None:
    findings = [missing_model("m", "a/x"), missing_model("n", "b/y")]
    lines = brief_lines(findings, PLACE, whole=ALL)
    assert lines[-1] == "more     all findings: --json"


def test_the_last_line_fits_a_narrow_terminal() -> None:
    findings = [missing_model("m", "a/x"), missing_model("n", "b/y")]
    lines = brief_lines(findings, PLACE, width=22, whole=ALL)
    assert lines[-2:] == ["more     all findings:", "         --json"]


def test_nothing_is_left_out_of_a_single_missing_role() -> None:
    lines = brief_lines([missing_judge("t", "m")], whole=ALL)
    assert lines == ["missing  judge  m in t  --judge openai,model=NAME"]


def test_a_remedy_that_does_not_fit_stands_below() -> None:
    lines = brief_lines([missing_judge("t", "m")], width=45)
    assert lines == ["missing  judge  m in t", "         --judge openai,model=NAME"]


def test_the_first_column_can_be_wider() -> None:
    (line,) = brief_lines([missing_judge("t", "m")], column=10)
    assert line.startswith("missing   judge  m in t")

from mmeval.findings.finding import Finding, Subject
from mmeval.findings.group import grouped

JUDGE = Finding(
    "missing_role",
    Subject("t", "rubric_judge", "judge"),
    cause="this run has no judge",
    remedy="--judge openai,model=NAME",
)


def of(task: str, metric: str, count: int = 0, total: int = 0) -> Finding:
    subject = Subject(task, metric, "judge")
    return Finding(
        JUDGE.kind, subject, count, total, cause=JUDGE.cause, remedy=JUDGE.remedy
    )


def test_findings_of_one_kind_cause_and_remedy_are_one_group() -> None:
    (group,) = grouped([of("a", "m"), of("b", "m"), of("b", "n")])
    assert (group.names("task"), group.names("metric")) == (("a", "b"), ("m", "n"))


def test_a_group_sums_what_its_findings_count() -> None:
    (group,) = grouped([of("a", "m", 2, 10), of("b", "m", 1, 5)])
    assert (group.count, group.of) == (3, 15)


def test_findings_of_one_cause_are_together_with_the_first_of_their_examples() -> None:
    replies = ["", "hmm", "it depends"]
    findings = [
        Finding("unscored", cause="no JSON", example=reply) for reply in replies
    ]
    (group,) = grouped(findings)
    assert group.example == "hmm"


def test_a_finding_that_is_made_twice_counts_once() -> None:
    (group,) = grouped([of("a", "m", 2, 10), of("a", "m", 2, 10)])
    assert (group.count, len(group.findings)) == (2, 1)


def test_another_cause_or_remedy_is_another_group() -> None:
    other_cause = Finding("missing_role", JUDGE.subject, cause="x", remedy=JUDGE.remedy)
    none = Finding("missing_role", JUDGE.subject, cause=JUDGE.cause)
    assert len(grouped([JUDGE, other_cause, none])) == 3


def test_errors_come_first_then_the_order_of_the_kinds() -> None:
    groups = grouped(
        [
            Finding("package", severity="note"),
            Finding("unscored"),
            Finding("missing_data"),
            Finding("task_file", severity="error"),
        ]
    )
    kinds = [group.kind for group in groups]
    assert kinds == ["task_file", "missing_data", "unscored", "package"]


def test_a_place_is_a_file_with_its_line() -> None:
    files = [Subject(file="t.yaml", line=3), Subject(file="u.yaml"), Subject()]
    (group,) = grouped([Finding("task_file", subject) for subject in files])
    assert group.places == ("t.yaml:3", "u.yaml")

import shlex
import subprocess

from mmeval.findings.finding import Finding, Subject
from mmeval.findings.render import (
    MOST,
    RemedyTarget,
    markdown_lines,
    page_rows,
    terminal_lines,
)

CLIP = "openai/clip is not here"
PREPARE = "mmeval prepare {TASK} --weights"
UNSCORED = [
    Finding("unscored", Subject(task, "clip_score"), 4, 27, cause=CLIP, remedy=PREPARE)
    for task in "ab"
]


def test_a_line_has_kind_subject_count_and_cause_and_below_it_the_remedy() -> None:
    assert terminal_lines(UNSCORED, RemedyTarget(tasks="a b")) == [
        "unscored  clip_score in 2 tasks  8 of 54  openai/clip is not here",
        "          mmeval prepare a b --weights",
    ]


def test_of_a_long_list_three_are_named_and_the_others_counted() -> None:
    findings = [Finding("missing_data", Subject(task=f"t{i}")) for i in range(1203)]
    assert terminal_lines(findings) == ["missing data  t0, t1, t2 and 1,200 more"]


def test_the_narrowest_name_of_a_subject_is_shown() -> None:
    subjects = {
        "t.yaml:3 in t": Subject("t", file="t.yaml", line=3),
        "s1 in t": Subject("t", "m", sample="s1"),
        "m in t": Subject("t", "m", "judge", name="x"),
        "judge": Subject(role="judge", name="x"),
        "x": Subject(name="x"),
        "t": Subject("t"),
    }
    for text, subject in subjects.items():
        assert terminal_lines([Finding("plugin", subject)]) == [f"plugin  {text}"]


def test_missing_weights_are_named_beside_their_metrics() -> None:
    findings = [
        Finding("missing_weights", Subject("t", "m", name=name), cause="not here")
        for name in ("a/x", "b/y")
    ]
    assert terminal_lines(findings) == ["missing weights  m in t  a/x, b/y: not here"]


def test_lines_are_at_most_as_wide_as_the_terminal() -> None:
    command = (
        f"mmeval score runs/{'x' * 30}/default --role judge=openai,model=a --strict"
    )
    cause = "the judge answered with something that is not a verdict at all"
    findings = [Finding("unscored", Subject("t"), cause=cause, remedy=command)]
    lines = terminal_lines(findings, width=60)
    assert max(map(len, lines)) <= 60
    pasted = " ".join(line.strip().removesuffix("\\").strip() for line in lines[2:])
    assert pasted == command


def test_one_example_stands_behind_the_cause() -> None:
    findings = [
        Finding("unscored", Subject("t"), 1, 3, "no JSON", example=reply)
        for reply in ("mock  A\n60", "mock B")
    ]
    assert terminal_lines(findings) == [
        'unscored  t  2 of 6  no JSON, for example: "mock A 60"'
    ]


def test_what_data_write_cannot_steer_the_terminal() -> None:
    (line,) = terminal_lines([Finding("bad_sample", Subject("t"), cause="a\x1b[2J\nb")])
    assert line == "bad sample  t  a [2J b"


def test_of_many_groups_of_a_kind_the_first_are_shown() -> None:
    rows = [Finding("bad_sample", Subject("t"), cause=f"row {i}") for i in range(30)]
    lines = terminal_lines(rows)
    assert (len(lines), lines[-1]) == (MOST + 1, "bad sample  and 20 more like these")


def test_a_single_one_that_is_left_is_shown_and_not_counted() -> None:
    rows = [
        Finding("bad_sample", Subject("t"), cause=f"row {i}") for i in range(MOST + 1)
    ]
    assert terminal_lines(rows)[-1] == f"bad sample  t  row {MOST}"


def test_markdown_is_a_list_with_remedies_as_code() -> None:
    assert markdown_lines(UNSCORED, RemedyTarget(tasks="a b")) == [
        "- **unscored** clip_score in 2 tasks, 8 of 54, openai/clip is not here",
        "",
        "  ```",
        "  mmeval prepare a b --weights",
        "  ```",
        "",
    ]


def test_what_data_write_is_no_markup_in_markdown() -> None:
    (line,) = markdown_lines([Finding("bad_sample", cause="<b>a*b*</b> [c](d)\n# e")])
    assert line == r"- **bad sample** \<b>a\*b\*\</b> \[c\](d) # e"


def test_a_template_gets_the_same_words() -> None:
    assert page_rows(UNSCORED, RemedyTarget(tasks="a b")) == [
        {
            "label": "unscored",
            "text": "clip_score in 2 tasks  8 of 54  openai/clip is not here",
            "remedy": "mmeval prepare a b --weights",
        }
    ]


def test_words_of_the_user_in_a_remedy_stay_as_they_are() -> None:
    finding = Finding("failed", remedy="mmeval --tasks TASK --run_id RUN-1")
    lines = terminal_lines([finding], RemedyTarget(tasks="a", run="runs/a"))
    assert lines[-1].strip() == finding.remedy


def test_a_line_break_in_a_command_can_be_pasted() -> None:
    instruction = "it's\nlong \\ hard"
    remedy = f"echo {shlex.quote(instruction)}"
    line = terminal_lines([Finding("failed", remedy=remedy)])[-1].strip()
    done = subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{instruction}\n"

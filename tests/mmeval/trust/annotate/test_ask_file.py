from pathlib import Path

import pytest

from mmeval.errors import TaskFileError
from mmeval.trust.annotate.ask_file import read_question
from mmeval.trust.annotate.question import AnnotationQuestion


def question(folder: Path, words: str) -> AnnotationQuestion:
    file = folder / "tone.yaml"
    file.write_text(f"question: How?\n{words}", encoding="utf-8")
    return read_question(file)


@pytest.mark.parametrize(
    ("words", "kind", "answers"),
    [
        ("kind: grade\nlevels: [rude, polite]", "grade", ["1", "2"]),
        ("kind: choice\noptions: {hare: ears, owl: ''}", "choice", ["hare", "owl"]),
        ("kind: yes_no", "yes_no", ["yes", "no"]),
        ("kind: text", "text", []),
        (
            "pairs: true\nties: none",
            "pair",
            ["the first is better", "the second is better"],
        ),
    ],
)
def test_each_kind_of_question_is_read(
    tmp_path: Path, words: str, kind: str, answers: list[str]
) -> None:
    read = question(tmp_path, words)
    assert read.kind == kind
    assert [option.name for option in read.options] == answers


def test_error_labels_are_criteria(tmp_path: Path) -> None:
    read = question(tmp_path, "kind: labels\nlabels: [blurred, cut]")
    assert [criterion.text for criterion in read.criteria] == ["blurred", "cut"]


def test_the_name_is_that_of_the_file(tmp_path: Path) -> None:
    assert question(tmp_path, "kind: yes_no").name == "tone"


def test_leaning_ties_have_a_side(tmp_path: Path) -> None:
    read = question(tmp_path, "pairs: true\nties: leaning")
    values = [option.value for option in read.options]
    assert values == ["first", "tie_first", "tie_second", "second"]


@pytest.mark.parametrize(
    ("words", "place", "message"),
    [
        ("kind: grad\nlevels: [a, b]", 2, "grade"),
        ("kind: grade", 0, "list of texts"),
        ("kind: grade\nlevel: [a, b]", 3, "levels"),
        ("kind: choice\noptions: [a]", 3, "two options"),
        ("kind: rubric\ncriteria: [{weight: 1}]", 3, "no text"),
        ("pairs: true\nkind: text", 3, "left out"),
        ("pairs: true\nties: some", 3, "plain, leaning, none"),
        ("kind: text\nshow_input: 3", 3, "true or false"),
    ],
)
def test_a_fault_names_its_line(
    tmp_path: Path, words: str, place: int, message: str
) -> None:
    with pytest.raises(TaskFileError, match=message) as caught:
        question(tmp_path, words)
    assert caught.value.line == place or not place

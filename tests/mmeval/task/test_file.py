import json
from pathlib import Path

import pytest

from mmeval.errors import TaskFileError
from mmeval.system.yaml_document import SeveralFaultsError, parse_document
from mmeval.task.file import RequirementError, TaskFile, parse_task
from tests.support.task_folder import task

FILE = Path("t.yaml")
DIGEST = "'" + "0123456789abcdef" * 4 + "'"


def parsed(text: str) -> TaskFile:
    return parse_task(parse_document(text, FILE))


@pytest.mark.parametrize(
    ("line", "name", "word"),
    [
        ("generation_kwarg: {}", "generation_kwarg", '"generation_kwargs"'),
        ("repeats: 0", "repeats", "at least 1, not 0"),
        ("repeats: 10001", "repeats", "at most 10000"),
        (
            f"expected: {{files: {{../a.txt: {DIGEST}}}}}",
            "expected.files.../a.txt",
            "'../a.txt'",
        ),
        (f"expected: {{files: {{'C:\\a': {DIGEST}}}}}", "expected.files.C:\\a", "C:"),
    ],
    ids=lambda text: text[:60],
)
def test_a_wrong_value_is_named_with_its_line(line: str, name: str, word: str) -> None:
    with pytest.raises(TaskFileError) as caught:
        parsed(task("a", line))
    faults = (
        caught.value.faults
        if isinstance(caught.value, SeveralFaultsError)
        else (caught.value,)
    )
    assert {(fault.file, fault.line, fault.name) for fault in faults} == {
        (FILE, 5, name)
    }
    assert word in faults[0].message


@pytest.mark.parametrize(
    ("keys", "columns"),
    [
        (
            "doc_to_visual: !function utils.pictures\ndoc_to_text: '{{question}} Say "
            "A or B.'\ndoc_to_target: answer",
            {
                "input": "{{ image }} {{question}} Say A or B.",
                "reference": "{{ answer }}",
            },
        ),
        (
            "doc_to_image: [a, b]\ndoc_to_text: !function x.y",
            {"input": "{{ a }} {{ b }} {{ question }}"},
        ),
        (
            "doc_to_text: q\ndoc_to_choice: ['yes', 'no']",
            {"input": "{{ q }}", "options": ["yes", "no"]},
        ),
    ],
)
def test_keys_of_other_harnesses_are_answered_with_the_columns_that_say_the_same(
    keys: str, columns: object
) -> None:
    with pytest.raises(TaskFileError) as caught:
        parsed(task("a", keys))
    assert json.loads(caught.value.how_to_fix.partition("columns: ")[2]) == columns
    assert caught.value.how_to_fix in caught.value.message


def test_questions_and_answers_of_the_harness_are_the_columns_that_say_the_same() -> (
    None
):
    keys = "doc_to_text: 'Q: {{question}}'\ndoc_to_target: answer"
    written = "loader: datasets\ncolumns: {input: 'Q: {{question}}', reference: '{{ answer }}'}"
    read, expected = (parsed(task("a", lines)).keys for lines in (keys, written))
    assert (read.loader, read.columns) == (expected.loader, expected.columns)


def test_a_version_is_kept_as_it_is_written_and_must_be_usable() -> None:
    for written, version in (("1.10", "1.10"), ("2", "2"), ("'3.0b'", "3.0b")):
        assert parsed(f"task: a\nmetadata: {{version: {written}}}").version == version
    for metadata, name in (
        ("{}", "metadata"),
        ("{version: true}", "metadata.version"),
        ("{version: ''}", ""),
    ):
        with pytest.raises(TaskFileError) as caught:
            parsed(f"task: a\nmetadata: {metadata}")
        assert caught.value.name == (name or "metadata.version")


def test_a_file_for_a_newer_mmeval_is_refused_before_its_keys_are_read() -> None:
    with pytest.raises(RequirementError) as caught:
        parsed("task: a\nrequires_mmeval: '>=99'\nkey_of_the_future: 1")
    assert caught.value.line == 2
    assert ">=99" in str(caught.value)


def test_a_function_does_not_hide_the_other_faults() -> None:
    lines = "repeats: 0\nfilter: {a: !function u.f}\nbreakdown: !function u.g\nx: 1\n"
    with pytest.raises(SeveralFaultsError) as caught:
        parse_task(parse_document(task("a", lines), FILE, collect=True))
    faults = [(fault.line, fault.name) for fault in caught.value.faults]
    assert faults == [(5, "repeats"), (6, "filter.a"), (7, "breakdown"), (8, "x")]


@pytest.mark.parametrize(
    "lines",
    [
        "output_type: generate_until",
        "num_fewshot: 0",
        "num_fewshot: 0\nfewshot_config: {sampler: first_n}\nfewshot_split: train",
        "dataset_name: null",
    ],
)
def test_a_key_that_says_what_happens_anyway_is_accepted(lines: str) -> None:
    assert parsed(task("a", lines)).name == "a"


@pytest.mark.parametrize(
    "lines",
    ["output_type: multiple_choice", "num_fewshot: 5", "fewshot_split: train"],
)
def test_a_key_that_would_change_what_is_asked_is_refused(lines: str) -> None:
    with pytest.raises(TaskFileError, match="not supported"):
        parsed(task("a", lines))

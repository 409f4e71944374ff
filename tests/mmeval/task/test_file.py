from pathlib import Path

import pytest

from mmeval.errors import TaskFileError
from mmeval.system.yaml_document import Document, SeveralFaultsError, parse_document
from mmeval.task.file import OF_A_RUN, RequirementError, TaskFile, parse_group, parse_task, word_for
from mmeval.task.schema import REFUSED
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
        ("repeats: true", "repeats", "not true"),
        ("tag: 3", "tag", "list, not 3"),
        ("tag: [a, 3]", "tag[1]", "text, not 3; put"),
        ("tag: [a, a]", "tag", "names a more"),
        ("placeholders: [tags]", "placeholders[0]", '"tag"'),
        ("loader:", "loader", "not nothing"),
        ("profile: oficial", "profile", "'official', not oficial"),
        ("missing_output: zero", "missing_output", "number, not zero"),
        ("output_modalities: [text, imag]", "output_modalities[1]", '"image"'),
        ("input_modalities: [reasoning]", "input_modalities[0]", "'reasoning'"),
        ("generation_kwargs: {temprature: 1}", "generation_kwargs.temprature", "unknown"),
        ("roles: {judge: {temprature: 1}}", "roles.judge.temprature", "unknown"),
        ("prompt: {systm: x}", "prompt", '"system"'),
        ("prompt: {function: f, user: x}", "prompt", "not both"),
        ("prompt: {}", "prompt", "user"),
        ("prompt_fields: id", "prompt_fields", "'id'"),
        ("protocol: {answer: last}", "protocol", "name is missing"),
        ("filter: {a: {b: 1}}", "filter", "'a'"),
        ("dataset_kwargs: {trust_remote_code: true}", "dataset_kwargs", "trust_remote_code"),
        ("requires_mmeval: newest", "requires_mmeval", "'newest'"),
        ("expected: {row: 3}", "expected.row", '"rows"'),
        ("expected: {rows: -1}", "expected.rows", "at least 0"),
        ("expected: {media: {picture: 3}}", "expected.media.picture", "'picture'"),
        ("expected: {files: {a.txt: abc}}", "expected.files.a.txt", "'abc'"),
        (f"expected: {{files: {{../a.txt: {DIGEST}}}}}", "expected.files.../a.txt", "'../a.txt'"),
        (f"expected: {{files: {{'C:\\a': {DIGEST}}}}}", "expected.files.C:\\a", "C:"),
        ("by_hand: [{path: /etc, source: x}]", "by_hand[0].path", "'/etc'"),
        ("by_hand: [{path: a}]", "by_hand[0]", "source is missing"),
        ("by_hand: {path: a, source: x}", "by_hand", "list"),
    ],
    ids=lambda text: text[:60],
)
def test_a_wrong_value_is_named_with_its_line(line: str, name: str, word: str) -> None:
    with pytest.raises(TaskFileError) as caught:
        parsed(task("a", line))
    faults = caught.value.faults if isinstance(caught.value, SeveralFaultsError) else (caught.value,)
    assert {(fault.file, fault.line, fault.name) for fault in faults} == {(FILE, 5, name)}
    assert word in faults[0].message


def test_keys_of_other_harnesses_are_refused_each_with_what_replaces_it() -> None:
    with pytest.raises(SeveralFaultsError) as caught:
        parsed(task("a", "".join(f"{key}: x\n" for key in REFUSED)))
    assert {fault.name for fault in caught.value.faults if REFUSED[fault.name] in fault.message} == {*REFUSED}


def test_all_faults_of_a_file_are_reported_at_once_each_with_its_line() -> None:
    text = "task: a b\nmetric_list:\n  - {metrc: x}\n  - {metric: x, aggregation: 3}\nrepeats: 0\n"
    with pytest.raises(SeveralFaultsError) as caught:
        parsed(text)
    faults = [(fault.line, fault.message.partition(":")[0]) for fault in caught.value.faults]
    assert faults == [
        *((1, "task"), (1, "metadata is missing"), (3, "metric_list[0]"), (4, "metric_list[1].aggregation")),
        (5, "repeats"),
    ]
    assert str(caught.value).count("\nt.yaml:") == 4


def test_a_version_is_kept_as_it_is_written_and_must_be_usable() -> None:
    for written, version in (("1.10", "1.10"), ("2", "2"), ("'3.0b'", "3.0b")):
        assert parsed(f"task: a\nmetadata: {{version: {written}}}").version == version
    for metadata, name in (("{}", "metadata"), ("{version: true}", "metadata.version"), ("{version: ''}", "")):
        with pytest.raises(TaskFileError) as caught:
            parsed(f"task: a\nmetadata: {metadata}")
        assert caught.value.name == (name or "metadata.version")


def test_a_file_for_a_newer_mmeval_is_refused_before_its_keys_are_read() -> None:
    with pytest.raises(RequirementError) as caught:
        parsed("task: a\nrequires_mmeval: '>=99'\nkey_of_the_future: 1")
    assert caught.value.line == 2
    assert ">=99" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "line", "name"),
    [
        ("group: g\ntask: [3]", 2, "task"),
        ("group: g\ntask: [{repeats: 2}]", 2, "task"),
        ("group: g\ntask: a\naggregate_metric_list:\n  - {metric: m, weight: 1}", 4, "aggregate_metric_list[0].weight"),
        ("group: g\ntask: a\naggregate_metric_list: [{metric: m, filter_list: x}]", 3, "aggregate_metric_list[0]"),
    ],
)
def test_a_wrong_group_is_named_with_its_line(text: str, line: int, name: str) -> None:
    with pytest.raises(TaskFileError) as caught:
        parse_group(parse_document(text, FILE))
    assert caught.value.line == line
    assert caught.value.name.startswith(name)


def test_a_task_that_a_run_has_recorded_goes_by_its_name() -> None:
    keys = {"task": "one", "loader": "rows", "metric_list": [], "metadata": {"version": 1}}
    recorded = parse_task(Document(Path(f"{OF_A_RUN}one"), keys))
    assert (word_for(recorded), recorded.version) == ("one", "1")

from __future__ import annotations

from pathlib import Path

import pytest

from mmeval.errors import TaskFileError
from mmeval.system.yaml_document import SeveralFaultsError, parse_document
from mmeval.task.file import RequirementError, parse_group, parse_task
from mmeval.task.schema import REFUSED
from tests.support.task_folder import task

FILE = Path("t.yaml")


def fault(more: str) -> str:
    """What is said of a task file with these lines; its own lines are 1 to 4."""
    with pytest.raises(TaskFileError) as caught:
        parse_task(parse_document(task("a", more), FILE))
    return str(caught.value)


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        ("generation_kwarg: {}", 't.yaml:5: generation_kwarg: unknown key; did you mean "generation_kwargs"?'),
        ("repeats: 0", "t.yaml:5: repeats: must be at least 1, not 0"),
        ("repeats: 1.5", "t.yaml:5: repeats: must be a whole number, not 1.5"),
        ("repeats: true", "t.yaml:5: repeats: must be a whole number, not true"),
        ("tag: 3", "t.yaml:5: tag: must be a list, not 3"),
        ("tag: [a, 3]", "t.yaml:5: tag[1]: must be text, not 3; put it in quotes"),
        ("tag: [a, a]", "t.yaml:5: tag: names a more than once"),
        ("dataset_name: 2024", "t.yaml:5: dataset_name: must be text, not 2024; put it in quotes"),
        ("loader:", "t.yaml:5: loader: must be text, not nothing"),
        ("profile: oficial", "t.yaml:5: profile: must be 'standard' or 'official', not oficial"),
        ("missing_output: zero", "t.yaml:5: missing_output: must be a number, not zero"),
        ("output_modalities: [text, imag]", "t.yaml:5: output_modalities[1]: unknown kind of part 'imag'; did you"),
        ("output_modalities: []", "t.yaml:5: output_modalities: must not be empty"),
        ("input_modalities: [reasoning]", "t.yaml:5: input_modalities[0]: unknown kind of part 'reasoning'"),
        (
            "placeholders: [tags]",
            "t.yaml:5: placeholders[0]: unknown placeholder spelling 'tags'; did you mean \"tag\"",
        ),
        ("generation_kwargs: {temprature: 1}", "t.yaml:5: generation_kwargs.temprature: unknown generation parameter"),
        ("generation_kwargs: {max_tokens: x}", "t.yaml:5: generation_kwargs.max_tokens: generation parameter"),
        ("roles: {judge: {temprature: 1}}", "t.yaml:5: roles.judge.temprature: unknown generation parameter"),
        ("roles: {judge: 1}", "t.yaml:5: roles.judge: must be a mapping, not 1"),
        ("prompt: {systm: x}", "t.yaml:5: prompt: unknown key 'systm'; did you mean \"system\"?"),
        ("prompt: {function: f, user: x}", "t.yaml:5: prompt: takes either a function or system and user"),
        ("prompt: {}", "t.yaml:5: prompt: needs user, system, or function"),
        ("prompt_fields: id", "t.yaml:5: prompt_fields: 'id' is a variable of every template already"),
        ("protocol: {answer: last}", "t.yaml:5: protocol: name is missing"),
        ("filter: {a: {b: 1}}", "t.yaml:5: filter: the label 'a' takes a value or a list of values"),
        ("dataset_kwargs: {trust_remote_code: true}", "t.yaml:5: dataset_kwargs: trust_remote_code is not supported"),
        ("requires_mmeval: newest", "t.yaml:5: requires_mmeval: 'newest' is no version requirement"),
    ],
    ids=lambda text: text[:28],
)
def test_a_wrong_value_is_named_with_its_line(more: str, complaint: str) -> None:
    assert fault(more).startswith(complaint)


@pytest.mark.parametrize("key", REFUSED)
def test_a_key_of_another_harness_is_refused_with_what_to_use_instead(key: str) -> None:
    assert fault(f"{key}: x") == f"t.yaml:5: {key}: is not supported here: {REFUSED[key]}"


def test_all_faults_of_a_file_are_told_at_once_each_with_its_line() -> None:
    text = "task: a b\nmetric_list:\n  - {metrc: x}\n  - {metric: x, aggregation: 3}\nrepeats: 0\n"
    with pytest.raises(SeveralFaultsError) as caught:
        parse_task(parse_document(text, FILE))
    assert [(error.line, error.message.partition(":")[0]) for error in caught.value.faults] == [
        (1, "task"),
        (1, "metadata is missing"),
        (3, "metric_list[0]"),
        (4, "metric_list[1].aggregation"),
        (5, "repeats"),
    ]
    assert str(caught.value).count("\nt.yaml:") == 4


@pytest.mark.parametrize(
    ("metadata", "complaint"),
    [("{}", "metadata: version is missing"), ("{version: true}", "metadata.version: must be a number or text")],
)
def test_a_task_without_a_usable_version_is_refused(metadata: str, complaint: str) -> None:
    with pytest.raises(TaskFileError, match=complaint):
        parse_task(parse_document(f"task: a\nmetadata: {metadata}", FILE))


@pytest.mark.parametrize(("written", "version"), [("1.10", "1.10"), ("2", "2"), ("'3.0b'", "3.0b")])
def test_a_version_is_kept_as_it_is_written(written: str, version: str) -> None:
    assert parse_task(parse_document(f"task: a\nmetadata: {{version: {written}}}", FILE)).version == version


def test_a_file_for_a_newer_mmeval_says_so_instead_of_blaming_its_keys() -> None:
    with pytest.raises(
        RequirementError, match=r"t\.yaml:2: .* needs mmeval >=99, installed is .* install such a version"
    ):
        parse_task(parse_document("task: a\nrequires_mmeval: '>=99'\nkey_of_the_future: 1", FILE))


def test_names_and_mappings_of_a_plugin_mean_the_same() -> None:
    short = parse_task(parse_document(task("a", "protocol: episode\nprompt: hi"), FILE)).keys
    long = parse_task(parse_document(task("a", "protocol: {name: episode}\nprompt: {user: hi}"), FILE)).keys
    assert (short.protocol, short.prompt) == (long.protocol, long.prompt)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("group: g\ntask: []", "t.yaml:2: task: must not be empty"),
        ("group: g\ntask: [3]", "t.yaml:2: task: holds names, inline groups"),
        ("group: g\ntask: [{repeats: 2}]", "t.yaml:2: task: holds names, inline groups"),
        (
            "group: g\ntask: a\naggregate_metric_list:\n  - {metric: m, weight: 1}",
            "t.yaml:4: aggregate_metric_list[0].w",
        ),
        (
            "group: g\ntask: a\naggregate_metric_list: [{metric: m, filter_list: x}]",
            "t.yaml:3: aggregate_metric_list[0]",
        ),
        ("group: g\ntask: a\nloader: x", "t.yaml:3: loader: unknown key"),
    ],
)
def test_a_wrong_group_is_named_with_its_line(text: str, complaint: str) -> None:
    with pytest.raises(TaskFileError) as caught:
        parse_group(parse_document(text, FILE))
    assert str(caught.value).startswith(complaint)

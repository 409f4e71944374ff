from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import TaskFileError, UsageError
from mmeval.records.sample import Sample, user
from mmeval.run.task_run import score_definition
from mmeval.task.build import build
from mmeval.task.file import TaskFile, parse_task
from mmeval.task.include import TaskFiles
from mmeval.task.task import FixedKinds, Task, TaskOverrides
from tests.support.task_folder import task, write_files, write_rows


def file_of(folder: Path, more: str = "") -> TaskFile:
    write_files(folder, {"t.yaml": task("t", more)})
    return parse_task(TaskFiles([folder]).document(folder / "t.yaml"))


def built(folder: Path, more: str = "", **overrides: Any) -> Task:
    return build(file_of(folder, more), TaskOverrides(**overrides))


def ids(made: Task) -> list[str]:
    return [sample.id for sample in made.dataset()]


def test_a_plain_file_becomes_a_task_with_the_defaults(tmp_path: Path) -> None:
    made = built(tmp_path)
    assert (made.name, made.alias, made.version, made.protocol_name, made.repeats) == ("t", "t", "1", "single", 1)
    assert made.wanted(Sample("s", (user("q"),))) == ("text",)
    assert (made.metrics[0].bound.name, made.metrics[0].aggregation, made.metrics[0].unavailable) == (
        "exact_match",
        "mean",
        "",
    )
    assert made.comparable


def test_every_key_reaches_the_task(tmp_path: Path) -> None:
    made = built(
        tmp_path,
        "task_alias: T\nrepeats: 4\nmissing_output: 0\ncluster_key: c\nbreakdown: d\nfilter: {d: [x]}\n"
        "generation_kwargs: {max_gen_toks: 9, until: [x]}\nroles: {judge: {temperature: 0}}\n"
        "input_modalities: [text, image]\noutput_modalities: [text, audio]\nprotocol: {name: episode, answer: last}\n",
    )
    assert (made.alias, made.repeats, made.missing_output, made.cluster_key) == ("T", 4, 0, "c")
    assert (made.breakdown, made.filter, made.input_modalities) == (("d",), {"d": ["x"]}, ("text", "image"))
    assert (made.params.max_tokens, made.params.stop, made.roles["judge"].temperature) == (9, ("x",), 0)
    assert isinstance(made.wanted, FixedKinds)
    assert (made.wanted.kinds, made.protocol_name) == (("text", "audio"), "episode")


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        ("loader: interleavd", "t.yaml:5: loader: unknown loader 'interleavd'; did you mean \"interleaved\"?"),
        ("protocol: singel", "t.yaml:5: protocol: unknown protocol 'singel'; did you mean \"single\"?"),
        ("protocol: {name: episode, anwser: x}", 't.yaml:5: protocol.anwser: unknown key; did you mean "answer"?'),
        ("prompt: {function: gone}", "t.yaml:5: prompt.function: unknown prompt 'gone'"),
        ("prompt: '{{ inptu }}'", "t.yaml:5: prompt: the template reads 'inptu'; did you mean \"input\""),
        ("prompt: {system: '{% if %}'}", "t.yaml:5: prompt.system: not a valid template"),
    ],
)
def test_a_plugin_or_option_that_does_not_exist_is_named_with_its_line(
    tmp_path: Path, more: str, complaint: str
) -> None:
    with pytest.raises(TaskFileError) as caught:
        built(tmp_path, more)
    assert str(caught.value).startswith(f"{tmp_path}/{complaint}")


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        ("{metric: exact_mach}", "metric_list[0].metric: unknown metric 'exact_mach'; did you mean \"exact_match\"?"),
        (
            "{metric: exact_match, ignore_cas: true}",
            'metric_list[0].ignore_cas: unknown key; did you mean "ignore_case"',
        ),
        (
            "{metric: exact_match, ignore_case: 'false'}",
            "metric_list[0].ignore_case: must be true or false, not 'false'",
        ),
        (
            "{metric: strict_structure, mode: uniqe}",
            "metric_list[0].mode: must be occurrences, unique or unique_no_echo, not 'uniqe'; did you mean \"unique\"",
        ),
        (
            "{metric: hf_evaluate, name: rouge, trust_remote_code: true}",
            "metric_list[0].trust_remote_code: a task file cannot allow code to run; give --trust",
        ),
        ("{metric: exact_match, aggregation: maen}", "metric_list[0].aggregation: unknown aggregator 'maen'; did you"),
        ("{metric: exact_match, aggregation: {name: mean, p: 1}}", "metric_list[0].aggregation.p: unknown key"),
    ],
)
def test_a_wrong_entry_of_the_metric_list_is_named_with_its_line(tmp_path: Path, entry: str, complaint: str) -> None:
    write_files(tmp_path, {"t.yaml": f"task: t\nmetadata: {{version: 1}}\nmetric_list:\n  - {entry}\n"})
    with pytest.raises(TaskFileError) as caught:
        build(parse_task(TaskFiles([tmp_path]).document(tmp_path / "t.yaml")))
    assert str(caught.value).startswith(f"{tmp_path}/t.yaml:4: {complaint}")


@pytest.mark.parametrize(
    ("first", "second", "twice"),
    [
        ("{metric: exact_match}", "{metric: exact_match, ignore_case: true}", "exact_match"),
        ("{metric: strict_structure}", "{metric: sts}", "strict_structure"),
    ],
    ids=["itself", "its alias"],
)
def test_a_number_that_two_entries_give_is_refused(tmp_path: Path, first: str, second: str, twice: str) -> None:
    entries = f"metric_list:\n  - {first}\n  - {second}\n"
    write_files(tmp_path, {"t.yaml": f"task: t\nmetadata: {{version: 1}}\n{entries}"})
    file = parse_task(TaskFiles([tmp_path]).document(tmp_path / "t.yaml"))
    with pytest.raises(TaskFileError) as caught:
        build(file)
    complaint = f"metric_list[1].metric: {twice} is given by an earlier entry already; list a metric once"
    assert str(caught.value) == f"{tmp_path}/t.yaml:5: {complaint}"


def test_a_path_in_a_switch_starts_from_the_file_and_consent_comes_from_the_user(tmp_path: Path) -> None:
    text = "task: t\nmetadata: {version: 1}\nmetric_list:\n  - {metric: hf_evaluate, name: ./overlap}\n"
    file = parse_task(TaskFiles([tmp_path]).document(write_files(tmp_path, {"t.yaml": text}) / "t.yaml"))

    (plain,), (trusted,) = (build(file, TaskOverrides(trust_remote_code=trust)).metrics for trust in (False, True))

    assert plain.bound.params["name"] == trusted.bound.params["name"] == str(tmp_path / "overlap")
    assert (plain.bound.params["trust_remote_code"], trusted.bound.params["trust_remote_code"]) == (False, True)


def test_all_wrong_names_of_a_file_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(TaskFileError) as caught:
        built(tmp_path, "loader: gone\nprotocol: gone\nprompt: '{{ gone }}'")
    assert [line.partition(": ")[2].partition(":")[0] for line in str(caught.value).splitlines()] == [
        "loader",
        "protocol",
        "prompt",
    ]


def test_switches_come_from_the_file_and_the_command_line_wins(tmp_path: Path) -> None:
    text = "task: t\nmetadata: {version: 1}\nmetric_list:\n  - {metric: exact_match, ignore_case: true, strip: false}\n"
    file = parse_task(TaskFiles([tmp_path]).document(write_files(tmp_path, {"t.yaml": text}) / "t.yaml"))
    (found,) = build(file, TaskOverrides(metric_args={"exact_match": {"strip": True}})).metrics
    assert found.bound.params == {"ignore_case": True, "ignore_punctuation": False, "strip": True}


@pytest.mark.parametrize(
    ("switches", "complaint"),
    [
        ({"stripp": True}, 'did you mean "strip"'),
        ({"strip": "no"}, "the switch 'strip' of the metric 'exact_match' must be true or false, not 'no'"),
        ({"trust_remote_code": True}, "trust_remote_code is the user's to give, with the flag"),
    ],
    ids=["name", "value", "consent"],
)
def test_a_wrong_switch_of_the_command_line_is_refused(
    tmp_path: Path, switches: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(UsageError, match=complaint):
        built(tmp_path, metric_args={"exact_match": switches})


@pytest.mark.parametrize(
    ("overrides", "complaint"),
    [
        ({"profile": "oficial"}, "unknown profile 'oficial'; did you mean \"official\""),
        ({"gen_kwargs": {"temprature": 1}}, "unknown generation parameter 'temprature'"),
        ({"data": "sample"}, "--data sample: the only word it takes is bundled"),
        ({"repeats": 70_000}, "--repeats 70000: a sample is answered 10,000 times at most"),
        ({"protocol": "text_then_medium"}, "unknown protocol 'text_then_medium'; did you mean \"text_then_media\""),
    ],
)
def test_a_wrong_override_is_refused(tmp_path: Path, overrides: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        built(tmp_path, **overrides)


def test_overrides_change_the_task_and_its_recorded_configuration(tmp_path: Path) -> None:
    made = built(
        tmp_path,
        "generation_kwargs: {max_tokens: 5, temperature: 1}\nrepeats: 2",
        gen_kwargs={"temperature": 0.5},
        repeats=3,
        profile="official",
        system_instruction="Be brief.",
        metric_args={"exact_match": {"ignore_case": True}},
    )
    assert (made.params.max_tokens, made.params.temperature, made.repeats) == (5, 0.5, 3)
    assert (made.metrics[0].bound.profile, made.prompt(Sample("s", (user("q"),)))[0].role) == ("official", "system")
    assert {key: made.config[key] for key in ("generation_kwargs", "repeats", "profile", "system_instruction")} == {
        "generation_kwargs": {"max_tokens": 5, "temperature": 0.5},
        "repeats": 3,
        "profile": "official",
        "system_instruction": "Be brief.",
    }
    assert made.config["metric_list"] == [{"metric": "exact_match", "ignore_case": True}]


def test_a_protocol_of_the_run_takes_the_place_of_the_task_s_own(tmp_path: Path) -> None:
    made = built(tmp_path, "protocol: {name: episode, answer: last}", protocol="text_then_media")
    assert (made.protocol_name, made.config["protocol"]) == ("text_then_media", "text_then_media")


def test_the_task_s_own_protocol_named_again_keeps_its_options(tmp_path: Path) -> None:
    made = built(tmp_path, "protocol: {name: episode, answer: last}", protocol="episode")
    assert (made.protocol_name, made.config["protocol"]) == ("episode", {"name": "episode", "answer": "last"})


def test_scores_of_another_protocol_are_a_set_of_their_own(tmp_path: Path) -> None:
    usual, other = built(tmp_path), built(tmp_path, protocol="text_then_media")
    assert "protocol" not in score_definition(usual, {})
    assert score_definition(other, {})["protocol"] == "text_then_media"


def test_an_override_under_another_name_of_the_parameter_wins(tmp_path: Path) -> None:
    made = built(tmp_path, "generation_kwargs: {max_gen_toks: 5}", gen_kwargs={"max_tokens": 7})
    assert made.params.max_tokens == 7


def test_a_skipped_metric_is_left_out(tmp_path: Path) -> None:
    made = built(tmp_path, skip_metric=("exact_match",))
    assert (made.metrics, made.config["metric_list"]) == ((), [])


def test_the_configuration_is_plain_json_without_paths_of_the_machine(tmp_path: Path) -> None:
    write_files(tmp_path, {"_base": "repeats: 2"})
    made = built(tmp_path, f"include: _base\ndataset_path: {tmp_path}/rows")
    assert json.loads(json.dumps(made.config)) == made.config
    assert (made.config["dataset_path"], made.config["repeats"]) == ("rows", 2)
    assert str(tmp_path) not in json.dumps(made.config)


@pytest.mark.parametrize(
    ("labels", "kinds"),
    [
        ({"output_modalities": ["text", "image"]}, ("text", "image")),
        ({}, None),
        ({"output_modalities": "text"}, None),
        ({"output_modalities": [{"kind": "text"}, 3]}, None),
    ],
    ids=["said", "not", "a text", "no texts"],
)
def test_each_sample_says_what_is_wanted_when_the_file_says_per_sample(
    tmp_path: Path, labels: dict[str, Any], kinds: tuple[str, ...] | None
) -> None:
    made, sample = built(tmp_path, "output_modalities: per_sample"), Sample("s", (user("q"),), (), labels)
    if kinds is not None:
        assert made.wanted(sample) == kinds
        return
    with pytest.raises(UsageError, match="task 't', sample 's': output_modalities is per_sample"):
        made.wanted(sample)


def test_prompt_data_and_wanted_kinds_travel_to_another_process(tmp_path: Path) -> None:
    write_rows(tmp_path / "rows", {"id": "s", "input": "q"})
    made = built(tmp_path, "dataset_path: rows\nprompt: '{{ input }}!'")
    prompt, dataset, wanted = pickle.loads(pickle.dumps((made.prompt, made.dataset, made.wanted)))
    (sample,) = dataset()
    assert (prompt(sample), wanted(sample)) == ((user("q!"),), ("text",))


def test_a_task_tells_the_options_of_the_command_line_from_its_own(tmp_path: Path) -> None:
    made = built(tmp_path, "generation_kwargs: {image.size: 1x1}", gen_kwargs={"image.steps": 5, "top_k": 3})

    assert made.params.options == {"image.size": "1x1", "image.steps": 5}
    assert made.given_options == {"image.steps"}


def test_what_the_data_should_be_is_no_part_of_a_task(tmp_path: Path) -> None:
    plain = built(tmp_path)

    told = built(tmp_path, "expected: {rows: 5}\nby_hand: [{path: img, source: a page}]\n")

    assert told.config == plain.config

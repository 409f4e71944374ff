from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from mmeval.build import FixedKinds, TaskData, build, unavailable
from mmeval.errors import MissingDataError, TaskFileError, UnknownNameError, UsageError
from mmeval.metric import Metric, metric
from mmeval.program import Role
from mmeval.records import Sample, Trial, user
from mmeval.task import Task, TaskOverrides
from mmeval.taskfile import TaskFile, parse_task
from mmeval.taskinclude import TaskFiles
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
        ("{metric: exact_match, aggregation: maen}", "metric_list[0].aggregation: unknown aggregator 'maen'; did you"),
        ("{metric: exact_match, aggregation: {name: mean, p: 1}}", "metric_list[0].aggregation.p: unknown key"),
    ],
)
def test_a_wrong_entry_of_the_metric_list_is_named_with_its_line(tmp_path: Path, entry: str, complaint: str) -> None:
    write_files(tmp_path, {"t.yaml": f"task: t\nmetadata: {{version: 1}}\nmetric_list:\n  - {entry}\n"})
    with pytest.raises(TaskFileError) as caught:
        build(parse_task(TaskFiles([tmp_path]).document(tmp_path / "t.yaml")))
    assert str(caught.value).startswith(f"{tmp_path}/t.yaml:4: {complaint}")


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


def test_an_unknown_switch_of_the_command_line_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match='did you mean "strip"'):
        built(tmp_path, metric_args={"exact_match": {"stripp": True}})


@pytest.mark.parametrize(
    ("overrides", "complaint"),
    [
        ({"profile": "oficial"}, "unknown profile 'oficial'; did you mean \"official\""),
        ({"gen_kwargs": {"temprature": 1}}, "unknown generation parameter 'temprature'"),
        ({"data": "sample"}, "--data sample: the only word it takes is bundled"),
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
    [({"output_modalities": ["text", "image"]}, ("text", "image")), ({}, None)],
    ids=["said", "not"],
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


def test_data_are_found_beside_the_file(tmp_path: Path) -> None:
    write_rows(tmp_path / "rows", {"id": "local", "input": "q"})
    assert ids(built(tmp_path, "dataset_path: rows")) == ["local"]
    assert ids(built(tmp_path, f"dataset_path: {tmp_path / 'rows'}")) == ["local"]


def test_a_path_from_a_template_is_relative_to_the_template(tmp_path: Path) -> None:
    write_rows(tmp_path / "rows", {"id": "shared", "input": "q"})
    write_files(tmp_path, {"_base": "dataset_path: rows", "sub/t.yaml": task("t", "include: ../_base")})
    file = parse_task(TaskFiles([tmp_path]).document(tmp_path / "sub/t.yaml"))
    assert ids(build(file)) == ["shared"]


@pytest.mark.parametrize(("below", "found"), [("org/name", "inner"), ("", "outer")])
def test_data_dir_holds_the_data_set_or_is_it(tmp_path: Path, below: str, found: str) -> None:
    write_rows(tmp_path / "data" / below, {"id": found, "input": "q"})
    assert ids(built(tmp_path, "dataset_path: org/name", data_dir=tmp_path / "data")) == [found]


def test_data_dir_is_not_left_by_a_dataset_path(tmp_path: Path) -> None:
    write_rows(tmp_path / "outside", {"id": "x", "input": "q"})
    (tmp_path / "data").mkdir()
    made = built(tmp_path, "dataset_path: ../outside", data_dir=tmp_path / "data")
    assert isinstance(made.dataset, TaskData)
    assert made.dataset.folder() == tmp_path / "data"


def test_bundled_samples_lie_beside_the_file_and_are_not_comparable(tmp_path: Path) -> None:
    write_rows(tmp_path / "bundled", {"id": "small", "input": "q"})
    made = built(tmp_path, "dataset_path: org/name", data="bundled")
    assert (ids(made), made.comparable, made.config["data"]) == (["small"], False, "bundled")


@pytest.mark.parametrize(
    ("more", "overrides", "complaint"),
    [
        ("dataset_path: ./gone", {}, "there is no folder .*gone; change dataset_path, or give --data_dir"),
        ("dataset_path: /gone/away", {}, "there is no folder /gone/away"),
        ("", {"data_dir": Path("/gone")}, "--data_dir /gone: there is no such folder"),
        ("", {"data": "bundled"}, "no bundled samples: t"),
    ],
)
def test_missing_data_are_told_with_the_way_to_supply_them(
    tmp_path: Path, more: str, overrides: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(MissingDataError, match=complaint):
        built(tmp_path, more, **overrides).dataset()


def test_bundled_samples_may_not_lie_outside(tmp_path: Path) -> None:
    with pytest.raises(TaskFileError, match=r"t.yaml:5: bundled: .* leads out of"):
        built(tmp_path, "bundled: ../x", data="bundled")


def graded(trial: Trial, judge: Role) -> float:
    return 1.0


@pytest.mark.parametrize(
    ("needs", "reason"),
    [
        (("json",), ""),
        (("no_such_module.sub:audio",), 'no_such_module is not installed; run: pip install "mmeval[audio]"'),
        (("no_such_module",), 'no_such_module is not installed; run: pip install "no_such_module"'),
    ],
)
def test_a_metric_is_unavailable_while_a_package_is_missing(needs: tuple[str, ...], reason: str) -> None:
    found: Metric = metric(range=(0, 1), version="1", source="test", needs=needs)(lambda trial: 1.0)
    assert unavailable(found, frozenset()) == reason


@pytest.mark.parametrize(
    ("roles", "reason"),
    [
        (frozenset({"judge"}), ""),
        (frozenset(), "it asks the role 'judge', which this run has not; add --role judge=BACKEND"),
    ],
    ids=["there", "not there"],
)
def test_a_metric_is_unavailable_while_the_run_lacks_a_role(roles: frozenset[str], reason: str) -> None:
    assert unavailable(metric(range=(0, 1), version="1", source="test")(graded), roles) == reason


def test_prompt_data_and_wanted_kinds_travel_to_another_process(tmp_path: Path) -> None:
    write_rows(tmp_path / "rows", {"id": "s", "input": "q"})
    made = built(tmp_path, "dataset_path: rows\nprompt: '{{ input }}!'")
    prompt, dataset, wanted = pickle.loads(pickle.dumps((made.prompt, made.dataset, made.wanted)))
    (sample,) = dataset()
    assert (prompt(sample), wanted(sample)) == ((user("q!"),), ("text",))

import json
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import TaskFileError, UsageError
from mmeval.records.sample import Sample, user
from mmeval.run.task_run import score_definition
from mmeval.task.build import build
from mmeval.task.schema import MAX_REPEATS
from mmeval.task.task import TaskOverrides
from tests.support.task_folder import built, installed, parsed, write_files

SAMPLE = Sample("s", (user("q"),))
HEAD = "task: t\nmetadata: {version: 1}\n"


def test_two_metrics_that_give_one_number_are_refused_with_their_line(
    tmp_path: Path,
) -> None:
    with pytest.raises(TaskFileError) as caught:
        build(
            parsed(
                tmp_path,
                f"{HEAD}metric_list: [{{metric: strict_structure}}, {{metric: sts}}]",
            )
        )
    assert (caught.value.file, caught.value.line, caught.value.name) == (
        tmp_path / "t.yaml",
        3,
        "metric_list[1].metric",
    )
    assert "strict_structure" in str(caught.value)


def test_plugins_that_are_broken_or_claimed_twice_are_all_refused_with_their_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = "[mmeval.metrics]\ngone = no_such_module:thing\nsts = no_such_module:thing\n"
    lines = (
        "metric_list:\n  - {metric: exact_match}\n  - {metric: gone}\n  - {metric: "
        "sts}\n"
    )
    with (
        installed(tmp_path / "site", monkeypatch, {"odd": {}}, more=more),
        pytest.raises(TaskFileError) as caught,
    ):
        build(parsed(tmp_path, f"{HEAD}{lines}"))
    gone, twice = str(caught.value).splitlines()
    assert "t.yaml:5: metric_list[1].metric: " in gone and "no_such_module" in gone
    assert "t.yaml:6: metric_list[2].metric: " in twice and "dist-odd/sts" in twice


@pytest.mark.parametrize(
    ("overrides", "word"),
    [
        ({"data": "sample"}, "--data sample"),
        ({"repeats": MAX_REPEATS + 1}, "10,000"),
        ({"metric_args": {"exact_match": {"stripp": True}}}, '"strip"'),
        (
            {"metric_args": {"exact_match": {"trust_remote_code": True}}},
            "trust_remote_code",
        ),
    ],
    ids=str,
)
def test_a_wrong_override_is_refused(
    tmp_path: Path, overrides: dict[str, Any], word: str
) -> None:
    with pytest.raises(UsageError) as caught:
        built(tmp_path, **overrides)
    assert word in str(caught.value)


def test_the_configuration_is_plain_json_without_paths_of_the_machine_and_facts_about_the_data(
    tmp_path: Path,
) -> None:
    write_files(tmp_path, {"_base": "repeats: 2"})
    about = "expected: {rows: 5}\nby_hand: [{path: img, source: a page}]"
    made = built(tmp_path, f"include: _base\ndataset_path: {tmp_path}/rows\n{about}")
    assert json.loads(json.dumps(made.config)) == made.config
    assert (made.config["dataset_path"], made.config["repeats"]) == ("rows", 2)
    assert str(tmp_path) not in json.dumps(made.config)
    assert not {"expected", "by_hand"} & made.config.keys()


def test_switches_come_from_the_file_the_command_line_wins_and_consent_is_the_user_s(
    tmp_path: Path,
) -> None:
    listed = (
        "metric_list: [{metric: exact_match, ignore_case: true, strip: false}, "
        "{metric: hf_evaluate, name: ./own}]"
    )
    file = parsed(tmp_path, f"{HEAD}{listed}\n")
    for trust in (False, True):
        given = TaskOverrides(
            metric_args={"exact_match": {"strip": True}}, trust_remote_code=trust
        )
        exact, other = (found.bound.params for found in build(file, given).metrics)
        assert (exact["ignore_case"], exact["strip"]) == (True, True)
        assert (other["name"], other["trust_remote_code"]) == (
            str(tmp_path / "own"),
            trust,
        )


def test_overrides_change_the_task_and_its_recorded_configuration(
    tmp_path: Path,
) -> None:
    made = built(
        tmp_path,
        "generation_kwargs: {max_gen_toks: 5, temperature: 1, image.size: 1x1}\n"
        "repeats: 2",
        gen_kwargs={"temperature": 0.5, "max_tokens": 7, "image.steps": 5},
        repeats=MAX_REPEATS,
        profile="official",
        system_instruction="Be brief.",
        metric_args={"exact_match": {"ignore_case": True}},
    )
    assert (made.params.max_tokens, made.params.temperature, made.repeats) == (
        7,
        0.5,
        MAX_REPEATS,
    )
    assert (made.params.options, made.given_options) == (
        {"image.size": "1x1", "image.steps": 5},
        {"image.steps"},
    )
    assert (made.metrics[0].bound.profile, made.prompt(SAMPLE)[0].role) == (
        "official",
        "system",
    )
    assert [
        made.config[key]
        for key in ("repeats", "profile", "system_instruction", "metric_list")
    ] == [
        MAX_REPEATS,
        "official",
        "Be brief.",
        [{"metric": "exact_match", "ignore_case": True}],
    ]
    without = built(tmp_path, skip_metric=("exact_match",))
    assert (without.metrics, without.config["metric_list"]) == ((), [])


def test_a_protocol_of_the_run_replaces_the_task_s_own_whose_options_else_apply(
    tmp_path: Path,
) -> None:
    own = {"name": "episode", "answer": "last"}
    replaced, kept = (
        built(tmp_path, "protocol: {name: episode, answer: last}", protocol=name)
        for name in ("text_then_media", "episode")
    )
    assert (replaced.protocol_name, replaced.config["protocol"]) == (
        "text_then_media",
        "text_then_media",
    )
    assert (kept.protocol_name, kept.config["protocol"]) == ("episode", own)
    assert score_definition(replaced, {})["protocol"] == "text_then_media"
    assert "protocol" not in score_definition(built(tmp_path), {})


def test_each_sample_may_have_its_own_kinds(tmp_path: Path) -> None:
    made = built(tmp_path, "output_modalities: per_sample")
    assert made.output_kinds(
        Sample("s", (), (), {"output_modalities": ["text", "image"]})
    ) == ("text", "image")
    labels: tuple[dict[str, Any], ...] = (
        {},
        *({"output_modalities": kinds} for kinds in ("text", [], ["text", 3])),
    )
    for wrong in labels:
        with pytest.raises(UsageError, match="task 't', sample 's'"):
            made.output_kinds(Sample("s", (), (), wrong))


def test_an_option_of_a_protocol_has_a_value_that_it_takes(tmp_path: Path) -> None:
    for tries in ("0", "many"):
        with pytest.raises(UsageError, match="tries"):
            built(tmp_path, f"protocol: {{name: until_all_kinds, tries: {tries}}}")
    assert (
        built(tmp_path, "protocol: {name: until_all_kinds, tries: 3}").protocol_name
        == "until_all_kinds"
    )

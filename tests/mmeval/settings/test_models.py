from pathlib import Path

import pytest

from mmeval.errors import TaskFileError, UsageError
from mmeval.settings.models import ConfiguredModels, chosen_entries, read_models

TWO = """\
tasks: ask
models:
  - {name: first, model: openai, model_args: {model: m}, group: Open}
  - {name: second, model: hf, batch_size: 4}
"""


def configured(folder: Path, text: str = TWO) -> ConfiguredModels:
    file = folder / "models.yaml"
    file.write_text(text)
    models = read_models(file)
    assert models is not None
    return models


def test_entries_have_names_groups_and_settings_in_the_order_of_the_file(
    tmp_path: Path,
) -> None:
    first, second = configured(tmp_path).entries
    assert (first.name, first.group) == ("first", "Open")
    assert first.settings["model_args"].value == {"model": "m"}
    assert (second.name, second.group) == ("second", "")
    assert second.settings["batch_size"].value == 4


def test_a_setting_says_its_file_and_line(tmp_path: Path) -> None:
    second = configured(tmp_path).entries[1]
    assert second.settings["batch_size"].origin.endswith("models.yaml:4: batch_size")


def test_a_file_without_models_lists_none(tmp_path: Path) -> None:
    file = tmp_path / "plain.yaml"
    file.write_text("tasks: ask\n")
    assert read_models(file) is None


@pytest.mark.parametrize(
    "key", ["tasks", "data", "seed", "judge", "profile", "output_path", "limit"]
)
def test_an_entry_cannot_set_what_makes_models_comparable(
    key: str, tmp_path: Path
) -> None:
    text = f"models:\n  - name: a\n    model: hf\n    {key}: x\n"
    with pytest.raises(TaskFileError, match="all models share this") as raised:
        configured(tmp_path, text)
    assert raised.value.line == 4
    assert key in str(raised.value)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("{}", "list"),
        ("[]", "list"),
        ("[a]", "'name' and 'model'"),
        ("[{model: hf}]", "'name'"),
        ("[{name: a}]", "'model'"),
        ("[{name: 3, model: hf}]", "'name'"),
        ("[{name: a, model: hf, group: [1]}]", "group: must be text"),
        ("[{name: a, model: hf, modle_args: {}}]", "model_args"),
        ("[{name: a, model: hf, model_tag: b}]", "'name'"),
        ("[{name: a, model: hf}, {name: a, model: openai}]", "twice"),
        ("[{name: a/b, model: hf}, {name: a|B, model: hf}]", "one folder"),
    ],
)
def test_a_wrong_entry_is_refused_with_its_file(
    rows: str, words: str, tmp_path: Path
) -> None:
    with pytest.raises(TaskFileError, match=r"models\.yaml") as raised:
        configured(tmp_path, f"models: {rows}\n")
    assert words in str(raised.value)


def test_defaults_are_shared_settings(tmp_path: Path) -> None:
    models = configured(tmp_path, f"defaults: {{max_connections: 8}}\n{TWO}")
    assert models.defaults["max_connections"].value == 8


@pytest.mark.parametrize("defaults", ["{tasks: b}", "{max_conections: 8}", "[a]"])
def test_wrong_defaults_are_refused(defaults: str, tmp_path: Path) -> None:
    with pytest.raises(TaskFileError, match="defaults"):
        configured(tmp_path, f"defaults: {defaults}\n{TWO}")


def test_defaults_need_models(tmp_path: Path) -> None:
    with pytest.raises(TaskFileError, match="models"):
        configured(tmp_path, "defaults: {max_connections: 8}\n")


def test_only_chooses_entries_in_the_order_of_the_file(tmp_path: Path) -> None:
    models = configured(tmp_path)
    chosen = chosen_entries(models, ("second", "first"))
    assert [entry.name for entry in chosen] == ["first", "second"]


def test_an_unknown_name_of_only_is_refused_with_a_similar_name(
    tmp_path: Path,
) -> None:
    with pytest.raises(UsageError, match='did you mean "second"'):
        chosen_entries(configured(tmp_path), ("secnd",))

"""What exists is documented, and what is documented exists."""

from __future__ import annotations

import importlib
import inspect
import json
import re
import tomllib
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path

import pytest

from mmeval import errors, plugins
from mmeval.backend.routes import ROUTES
from mmeval.cli.parser import Parser, add_flags
from mmeval.cli.verbs import VERBS
from mmeval.content.placeholders import SPELLINGS
from mmeval.metric.contract import load_metric
from mmeval.model_backends.diffusers import DiffusersBackend
from mmeval.model_backends.hf import HFBackend
from mmeval.model_backends.openai import OpenAIBackend
from mmeval.records.response import ERROR_KINDS
from mmeval.records.sample import Sample, user
from mmeval.settings.flags import BY_NAME, FLAGS, REFUSED
from mmeval.task import schema
from tests.support.doc_examples import Block, blocks

ROOT = Path(__file__).resolve().parents[3]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
OF_VERBS = {verb: importlib.import_module(f"mmeval.cli.{verb}") for verb in VERBS if verb != "run"}
"""The modules of the verbs that have flags of their own; those of run are a table."""

NOT_OURS = {"port", "reply", "quick", "long", "large", "limti", "no-deps", "wheel-dir", "force-reinstall"}
"""Flags on these pages that mmeval does not have: of other programs, and a mistake that is shown."""

TASK_KEYS = {*schema.TaskKeys.model_fields, *schema.GroupKeys.model_fields, "include"}
ENTRY_KEYS = {
    *schema.MetricKeys.model_fields,
    *schema.GroupMetricKeys.model_fields,
    *schema.ExpectedKeys.model_fields,
    *schema.ByHandKeys.model_fields,
}


def page(name: str) -> str:
    return (DOCS / name).read_text()


def in_code(text: str) -> set[str]:
    """What stands between single backticks."""
    return set(re.findall(r"`([^`\n]+)`", text))


def ours(group: plugins.PluginGroup) -> list[str]:
    return [entry.name for entry in plugins.entries(group) if plugins.distribution_of(entry) == "mmeval"]


@pytest.mark.parametrize("flag", FLAGS, ids=lambda flag: flag.name)
def test_every_flag_of_run_is_in_the_page_of_the_command_line(flag: object) -> None:
    name, short = getattr(flag, "name", ""), getattr(flag, "short", "")
    shown = f"| `--{name}`, `-{short}` |" if short else f"| `--{name}` |"

    assert shown in page("command-line.md")


def test_every_refused_flag_is_in_the_page_of_the_command_line() -> None:
    assert {f"--{name}" for name in REFUSED} - in_code(page("command-line.md")) == set()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_flag_on_a_page_exists(path: Path) -> None:
    written = set(re.findall(r"(?<![\w-])--([a-z][a-z_-]*)", path.read_text()))

    assert written - known_flags() - NOT_OURS == set()


def known_flags() -> set[str]:
    found = {*BY_NAME, *REFUSED, "help", "version"}
    for module in OF_VERBS.values():
        parser = Parser("mmeval", "")
        module.configure(parser)
        found |= {option[2:] for option in parser._option_string_actions if option.startswith("--")}
    return found


@pytest.mark.parametrize("name", OF_VERBS)
def test_every_flag_of_a_verb_is_in_its_row(name: str) -> None:
    parser = Parser("mmeval", "")
    OF_VERBS[name].configure(parser)
    if not parser.knows("--verbosity"):
        add_flags(parser, [BY_NAME["verbosity"]])
    row = next(line for line in page("command-line.md").splitlines() if line.startswith(f"| `{name}` | `--"))

    shown = {word for word in in_code(row) if word.startswith("--")}
    assert shown == {option for option in parser._option_string_actions if option.startswith("--")} - {"--help"}


def test_every_verb_is_in_the_page_of_the_command_line() -> None:
    assert all(f"| `{verb}` |" in page("command-line.md") for verb in VERBS)


@pytest.mark.parametrize("name", ["first-run.md", "command-line.md"])
def test_every_exit_code_is_explained(name: str) -> None:
    codes = {value for key, value in vars(errors).items() if key.startswith("EXIT_")}

    assert {int(code) for code in re.findall(r"^\| (\d+) \|", page(name), re.MULTILINE)} == codes


@pytest.mark.parametrize("key", sorted(TASK_KEYS | ENTRY_KEYS))
def test_every_key_of_task_files_is_in_their_page(key: str) -> None:
    assert any(f"`{key}`" in line for line in page("task-files.md").splitlines() if line.startswith("|"))


def test_every_refused_key_is_in_the_page_of_task_files() -> None:
    assert set(schema.REFUSED) - in_code(page("task-files.md")) == set()


@pytest.mark.parametrize(
    ("group", "name"),
    [
        ("mmeval.metrics", "metrics.md"),
        ("mmeval.aggregators", "metrics.md"),
        ("mmeval.model_backends", "backends.md"),
        ("mmeval.protocols", "task-files.md"),
        ("mmeval.loaders", "task-files.md"),
        ("mmeval.hf_adapters", "local-models.md"),
        ("mmeval.tools", "local-models.md"),
        ("mmeval.formats", "interchange.md"),
    ],
)
def test_every_plugin_of_ours_is_in_its_page(group: plugins.PluginGroup, name: str) -> None:
    assert ours(group)
    assert set(ours(group)) - in_code(page(name)) == set()


@pytest.mark.parametrize("name", sorted(set(ours("mmeval.metrics")) - {"sts", "les"}))
def test_every_switch_of_a_metric_is_in_the_page_of_metrics(name: str) -> None:
    assert set(load_metric(name).switches) - in_code(page("metrics.md")) == set()


def test_every_argument_of_the_backend_openai_is_in_its_page() -> None:
    assert set(inspect.signature(OpenAIBackend).parameters) - in_code(page("backends.md")) == set()


@pytest.mark.parametrize("backend", [HFBackend, DiffusersBackend])
def test_every_argument_of_a_local_backend_is_in_the_page_of_local_models(backend: type) -> None:
    assert set(inspect.signature(backend).parameters) - in_code(page("local-models.md")) == set()


def test_every_option_of_a_local_model_is_in_the_page_of_local_models() -> None:
    files = [file for name in ("hf", "diffusers") for file in (ROOT / "model_backends" / name).rglob("*.py")]
    options = {found for file in files for found in re.findall(r'"((?:image|audio|video)\.[a-z_]+)"', file.read_text())}

    assert options
    assert options - in_code(page("local-models.md")) == set()


def test_every_converter_is_in_the_page_of_local_models() -> None:
    assert set(ROUTES) - in_code(page("local-models.md")) == set()


def test_an_adapter_that_was_never_run_is_said_to_be_so_in_the_page_of_local_models() -> None:
    rows = [line for line in page("local-models.md").splitlines() if line.startswith("|")]

    for name in ours("mmeval.hf_adapters"):
        (row,) = (line for line in rows if line.startswith(f"| `{name}` |"))
        assert ("nothing yet" in row) != plugins.load("mmeval.hf_adapters", name).verified


def test_every_group_of_plugins_is_in_the_page_of_extending() -> None:
    assert set(plugins.GROUPS) - in_code(page("extending.md")) == set()


def test_every_spelling_of_placeholders_is_in_the_page_of_concepts() -> None:
    assert set(SPELLINGS) - in_code(page("concepts.md")) == set()


def test_every_kind_of_error_is_in_the_page_of_writing_a_backend() -> None:
    assert set(ERROR_KINDS) - in_code(page("writing-a-backend.md")) == set()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(path: Path) -> None:
    assert [link for link in links(path) if not leads(path, link)] == []


def links(path: Path) -> Iterator[str]:
    for link in re.findall(r"\]\(([^)\s]+)\)", path.read_text()):
        if "://" not in link:
            yield link


def leads(path: Path, link: str) -> bool:
    name, _, anchor = link.partition("#")
    target = path.parent / name if name else path
    return target.is_file() and (not anchor or anchor in anchors(target))


def anchors(path: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", path.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_page_is_in_the_index() -> None:
    indexes = (DOCS / "index.md", DOCS / "design" / "index.md")
    listed = {(index.parent / link).resolve() for index in indexes for link in links(index)}

    assert set(DOCS.rglob("*.md")) - listed == {DOCS / "index.md"}


@pytest.mark.parametrize("path", sorted({*DOCS.glob("design/*.md")} - {DOCS / "design/index.md"}), ids=lambda p: p.stem)
def test_a_page_of_the_design_bears_its_name_in_the_index(path: Path) -> None:
    title = path.read_text().partition("\n")[0].removeprefix("# ").partition(":")[0]

    assert f"[{title}]({path.name})" in page("design/index.md")


def test_the_house_shows_every_package_on_its_storey() -> None:
    shown = {name: int(storey) for storey, name in re.findall(r"^ ?(\d+)  (\w+)/? +\S", page("design/house.md"), re.M)}
    contracts = ConfigParser()
    contracts.read(ROOT / ".importlinter")
    layers = contracts["importlinter:contract:storeys"]["layers"].split("\n")[:0:-1]
    core = ROOT / "mmeval"
    there = {path.stem for path in core.glob("*.py")} | {path.parent.name for path in core.glob("*/__init__.py")}

    assert shown == {name.strip(): n for n, layer in enumerate(layers, 1) for name in layer.split("|")}
    assert there - set(shown) == {"__init__"}


def test_every_file_that_the_house_has_a_reader_open_is_there() -> None:
    table = page("design/house.md").partition("## Where to change what")[2].partition("\n## ")[0]
    files = re.findall(r"`((?:mmeval|model_backends)/[\w/.]*)`", table)

    assert len(files) >= 10
    assert [file for file in files if not (ROOT / file).exists()] == []


def test_extending_lists_every_door() -> None:
    section = page("extending.md").partition("## What is public")[2].partition("\n## ")[0]
    doors = {path.parent.name for path in (ROOT / "mmeval").glob("*/__init__.py") if "__all__" in path.read_text()}

    assert set(re.findall(r"^\| `mmeval\.(\w+)` \|", section, re.M)) == doors | {"errors", "plugins", "wording"}


def test_every_word_of_the_glossary_stands_in_order_and_leads_to_a_page() -> None:
    rows = [row for row in page("glossary.md").splitlines() if row.startswith("| **")]
    words = [row.split("**")[1] for row in rows]

    assert words == sorted(words, key=str.lower)
    assert [row for row in rows if not re.search(r"\]\([^)]+\.md", row)] == []


def test_the_first_result_of_the_read_me_is_that_of_make_demo() -> None:
    recipe = (ROOT / "Makefile").read_text().partition("\ndemo: ")[2].partition("\n\n")[0]
    reference, model = re.findall(r"\$\(BIN\)/(python -m mmeval [^\n\\]+?) *\\?$", recipe, re.MULTILINE)

    assert model.startswith("python -m mmeval --tasks unim_hard,mmmg_audio --model hf --model_args pretrained=tiny")
    assert f"$ {reference}\n" in (ROOT / "README.md").read_text()
    assert f"$ {model}\n" in (ROOT / "README.md").read_text()


def projects() -> Iterator[Block]:
    """The ``pyproject.toml`` of every page that shows one."""
    return (block for path in PAGES for block in blocks(path) if block.file == "pyproject.toml")


@pytest.mark.parametrize("block", list(projects()), ids=lambda block: block.page.name)
def test_a_project_that_is_shown_can_be_installed_beside_other_folders(block: Block) -> None:
    project = tomllib.loads(block.text)

    assert project["build-system"]["build-backend"] == "setuptools.build_meta"
    assert project["tool"]["setuptools"]["packages"]["find"]["include"] == [f"{project['project']['name']}*"]
    assert any(shown.text.startswith("$ pip install -e .\n") for shown in blocks(block.page) if shown.line > block.line)


def _label_examples() -> list[tuple[str, str]]:
    """The rows of the table that shows labels, a metric each."""
    section = page("metrics.md").partition("### How labels look")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.*`) \| `(\{.*\})` \|$", section, re.MULTILINE)
    return [(name, labels) for names, labels in rows for name in re.findall(r"`(\w+)`", names)]


def test_every_metric_that_reads_labels_shows_them() -> None:
    reads = {name for name in ours("mmeval.metrics") if any(key.endswith("_key") for key in load_metric(name).switches)}
    others = {"judge_yes_no", "judge_choice", "self_description", "speaker_similarity"}  # at most by their switches

    assert reads - others <= {name for name, _ in _label_examples()}


@pytest.mark.parametrize(("name", "labels"), _label_examples())
def test_labels_that_are_shown_are_taken(name: str, labels: str) -> None:
    metric = load_metric(name)
    sample = Sample("s", (user("look"),), metadata=json.loads(labels))

    assert metric.check is None or not metric.check(sample, metric.switches)

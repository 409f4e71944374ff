"""What exists is documented, and what is documented exists: each a comparison of two
sets."""

import inspect
import json
import re
from configparser import ConfigParser
from pathlib import Path

import pytest

from mmeval import errors, plugins
from mmeval.backend.routes import ROUTES
from mmeval.cli.parser import Parser, add_flags
from mmeval.cli.verbs import VERBS, module_of
from mmeval.media.placeholders import SPELLINGS
from mmeval.metric.contract import load_metric
from mmeval.model_backends.diffusers import DiffusersBackend
from mmeval.model_backends.gemini import GeminiBackend
from mmeval.model_backends.hf import HFBackend
from mmeval.model_backends.openai import OpenAIBackend
from mmeval.records.response import ERROR_KINDS
from mmeval.records.sample import Sample, user
from mmeval.settings.flags import BY_NAME, FLAGS, REFUSED
from mmeval.task import schema
from scripts.site.metrics import AGGREGATORS, FAMILIES, family_reference

ROOT = Path(__file__).resolve().parents[3]
DOCS = ROOT / "docs"
PAGES = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(DOCS.rglob("*.md")),
]
NOT_OURS = {
    "address",
    "head",
    "security-opt",
    "port",
    "reply",
    "quick",
    "no-deps",
    "wheel-dir",
    "force-reinstall",
    "json",
    "against",
    "gpus",
    "init",
    "rm",
    "no-capture-output",
    "model-path",
    "revision",
    "dtype",
    "quantization",
    "max-model-len",
    "context-length",
    "tensor-parallel-size",
    "data-parallel-size",
    "gpu-memory-utilization",
    "mem-fraction-static",
    "trust-remote-code",
    "omni",
    "no-",
    "array",
    "dependency",
    "parsable",
    "wrap",
    "max_tokens",
    "power-analysis",
}
"""Flags on these pages that mmeval does not have: of other programs, and a mistake that
is shown."""


def page(name: str) -> str:
    return (DOCS / name).read_text()


def in_code(text: str) -> set[str]:
    """What stands between single backticks."""
    return set(re.findall(r"`([^`\n]+)`", text))


def ours(group: plugins.PluginGroup) -> set[str]:
    return {
        entry.name
        for entry in plugins.entries(group)
        if plugins.distribution_of(entry) == "mmeval"
    }


def options(verb: str) -> set[str]:
    """The flags of a verb that has some of its own."""
    parser = Parser("mmeval", "")
    module_of(verb).configure(parser)
    if not parser.knows("--verbosity"):
        add_flags(parser, [BY_NAME["verbosity"]])
    return {
        option for option in parser._option_string_actions if option.startswith("--")
    } - {"--help"}


def test_the_page_of_the_command_line_has_every_verb_and_flag() -> None:
    text = page("command-line.md")
    shown = set(re.findall(r"^\| `--(\w+)`(?:, `-(\w)`)? \|", text, re.MULTILINE))
    assert shown >= {(flag.name, flag.short) for flag in FLAGS}
    assert in_code(text) >= {f"--{name}" for name in REFUSED}
    assert set(re.findall(r"^\| `(\w[\w -]*)` \|", text, re.MULTILINE)) >= set(VERBS)
    for verb in set(VERBS) - {"run"}:
        *_, row = (line for line in text.splitlines() if line.startswith(f"| `{verb}`"))
        # a check takes the flags of the run that it looks ahead to
        own = options(verb) - options("run") if verb == "check" else options(verb)
        named = {word for word in in_code(row) if word.startswith("--")}
        assert own <= named <= options(verb)


def test_every_flag_on_a_page_exists() -> None:
    known = {*BY_NAME, *REFUSED, "help", "version"} | {
        option[2:] for verb in set(VERBS) - {"run"} for option in options(verb)
    }
    written = {
        flag
        for path in PAGES
        for flag in re.findall(r"(?<![\w-])--([a-z][a-z_-]*)", path.read_text())
    }
    assert written - known - NOT_OURS == set()


def test_the_page_of_task_files_has_every_key() -> None:
    models = (
        schema.TaskKeys,
        schema.GroupKeys,
        schema.MetricKeys,
        schema.GroupMetricKeys,
        schema.ExpectedKeys,
        schema.ByHandKeys,
    )
    rows = "\n".join(
        line for line in page("task-files.md").splitlines() if line.startswith("|")
    )
    assert {
        "include",
        *(key for model in models for key in model.model_fields),
    } - in_code(rows) == set()
    assert set(schema.REFUSED) - in_code(page("task-files.md")) == set()


def test_every_exit_code_is_explained() -> None:
    codes = {value for key, value in vars(errors).items() if key.startswith("EXIT_")}
    assert {
        int(code)
        for code in re.findall(r"^\| (\d+) \|", page("command-line.md"), re.MULTILINE)
    } == codes


def test_every_plugin_argument_and_closed_set_is_in_its_page() -> None:
    local = {
        name
        for backend in (HFBackend, DiffusersBackend)
        for name in inspect.signature(backend).parameters
    }
    files = [
        file
        for name in ("hf", "diffusers")
        for file in (ROOT / "model_backends" / name).rglob("*.py")
    ]
    kinds = {
        found
        for file in files
        for found in re.findall(r'"((?:image|audio|video)\.[a-z_]+)"', file.read_text())
    }
    needed: dict[str, set[str]] = {
        "backends.md": ours("mmeval.model_backends")
        | set(inspect.signature(OpenAIBackend).parameters)
        | set(inspect.signature(GeminiBackend).parameters),
        "task-files.md": ours("mmeval.protocols") | ours("mmeval.loaders"),
        "local-models.md": ours("mmeval.hf_adapters")
        | ours("mmeval.tools")
        | local
        | kinds
        | set(ROUTES),
        "interchange.md": ours("mmeval.formats"),
        "extending.md": set(plugins.GROUPS),
        "concepts.md": set(SPELLINGS),
        "writing-a-backend.md": set(ERROR_KINDS),
    }

    assert all(needed.values())
    assert {name: names - in_code(page(name)) for name, names in needed.items()} == {
        name: set() for name in needed
    }


def test_the_page_of_local_models_says_which_adapter_was_never_run() -> None:
    rows = re.findall(r"^\| `(\w+)` \|(.*)$", page("local-models.md"), re.MULTILINE)
    never = {name for name, row in rows if "nothing yet" in row}
    assert never == {
        name
        for name in ours("mmeval.hf_adapters")
        if not plugins.load("mmeval.hf_adapters", name).verified
    }


def test_the_design_shows_every_package_on_its_level() -> None:
    shown = {
        name: int(level)
        for level, name in re.findall(
            r"^ ?(\d+)  (\w+)/? +\S", page("design/index.md"), re.M
        )
    }
    contracts = ConfigParser()
    contracts.read(ROOT / ".importlinter")
    layers = contracts["importlinter:contract:levels"]["layers"].split("\n")[:0:-1]
    assert shown == {
        name.strip(): n
        for n, layer in enumerate(layers, 1)
        for name in layer.split("|")
    }


def test_files_and_doors_that_pages_name_are_there() -> None:
    table = (
        page("design/index.md")
        .partition("## Where to change what")[2]
        .partition("\n## ")[0]
    )
    files = re.findall(r"`((?:mmeval|model_backends)/[\w/.]*)`", table)
    section = (
        page("extending.md").partition("## What is public")[2].partition("\n## ")[0]
    )
    doors = {
        ".".join(path.parent.relative_to(ROOT / "mmeval").parts)
        for path in (ROOT / "mmeval").rglob("*/__init__.py")
        if "__all__" in path.read_text() and path.parent.parent.name != "report"
    }
    assert len(files) >= 10
    assert [file for file in files if not (ROOT / file).exists()] == []
    assert set(re.findall(r"^\| `mmeval\.([\w.]+)` \|", section, re.M)) == doors | {
        "errors",
        "plugins",
        "system.secrets",
        "system.wording",
    }


def described(metric: str) -> str:
    """The docstring of a metric, from which its section is made."""
    return inspect.getdoc(load_metric(metric).function) or ""


def test_the_site_has_a_section_for_every_metric_and_aggregator() -> None:
    sections: set[str] = set()
    for file in (DOCS / "metrics").glob("*.md"):
        reference = family_reference(file.stem)
        sections |= set(re.findall(r"^## `(\w+)`", reference, re.MULTILINE))
    names = {load_metric(name).name for name in ours("mmeval.metrics")}
    assert sections == names | ours("mmeval.aggregators")


def test_each_family_of_metrics_is_a_page() -> None:
    families = {*FAMILIES.values(), AGGREGATORS}
    assert {file.stem for file in (DOCS / "metrics").glob("*.md")} == families


@pytest.mark.parametrize("name", sorted(ours("mmeval.metrics")))
def test_every_switch_of_a_metric_is_described(name: str) -> None:
    shared = page("metrics.md").partition("## Switches")[2].partition("\n###")[0]
    explained = in_code(shared) | set(re.findall(r"``(\w+)", described(name)))
    missing = {
        switch
        for switch in load_metric(name).switches
        if not switch.startswith("caption_") and not switch.endswith("_prompt")
    } - explained
    assert missing == set()


@pytest.mark.parametrize("name", sorted(ours("mmeval.metrics")))
def test_a_metric_accepts_the_labels_that_its_description_shows(name: str) -> None:
    metric = load_metric(name)
    paragraphs = described(name).split("\n\n")
    shown = [text for text in paragraphs if text.startswith("Labels, for example")]
    examples = re.findall(r"``(\{.*?\})``", "".join(shown), re.DOTALL)
    has_keys = any(switch.endswith("_key") for switch in metric.switches)
    by_switches = {
        "judge_yes_no",
        "judge_choice",
        "self_description",
        "speaker_similarity",
    }
    assert examples or not has_keys or name in by_switches
    for example in examples:
        labels = json.loads(" ".join(example.split()))
        sample = Sample("s", (user("look"),), metadata=labels)
        assert metric.check is None or not metric.check(sample, metric.switches)

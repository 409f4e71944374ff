"""The site, built by Sphinx from the Markdown pages of this checkout (``make docs``).

The source folder is the root of the checkout, so a link works both on a code host and
on the site. The order of the pages is that of the lists in ``index.md`` and
``design/index.md``: each heading above a list of links becomes a part of the
navigation. The page of metrics also gets a section for each registered metric, made
from its docstring and its declaration.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx

    from mmeval.metric import Metric

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")
"""The pages outside of ``docs``."""

project = "mmeval"
author = "the authors of mmeval"
copyright = "the authors of mmeval; Apache-2.0"

sys.path.insert(0, str(ROOT))

extensions = ["myst_parser", "sphinx.ext.autodoc"]
root_doc = "docs/index"
source_suffix = {".md": "markdown"}
include_patterns = [*PAGES, "docs/*.md", "docs/**/*.md"]
exclude_patterns = [
    path.name for path in ROOT.iterdir() if path.name not in (*PAGES, "docs")
]
# outputs and templates in fences need not parse
suppress_warnings = ["misc.highlighting_failure"]
myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
add_module_names = False
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
# annotations name private types and those of other libraries, which no page describes
nitpick_ignore_regex = [("py:(class|obj|data)", ".*")]

html_theme = "furo"
html_title = "mmeval"
html_copy_source = False
html_show_sphinx = False
html_use_index = False
html_additional_pages = {"index": "forward.html"}
templates_path = ["templates"]

INDEXES = ("docs/index", "docs/design/index", "docs/reference/index")
"""The pages whose lists of links are the navigation."""

_LINK = re.compile(r"^- \[([^\]]+)\]\(([^)#\s]+\.md)\)", re.MULTILINE)


def navigation(text: str, folder: str) -> Iterator[str]:
    """A hidden table of contents for each second-level heading of an index with a list
    of links below it."""
    for part in re.split(r"^(?=## )", text, flags=re.MULTILINE):
        pages = [
            f"{title} <{_document(link, folder)}>"
            for title, link in _LINK.findall(part)
        ]
        caption = (
            part.partition("\n")[0].removeprefix("## ").strip()
            if part.startswith("## ")
            else ""
        )
        if pages:
            yield "\n".join(
                ["```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```"]
            )


def _document(link: str, folder: str) -> str:
    """A link of an index as the name of a document, from the root."""
    steps: list[str] = []
    for step in PurePosixPath(folder, link).with_suffix("").parts:
        steps = steps[:-1] if step == ".." else [*steps, step]
    return "/" + "/".join(steps)


def _add_navigation(_app: Sphinx, document: str, source: list[str]) -> None:
    if document in INDEXES:
        source[0] = "\n\n".join(
            [source[0], *navigation(source[0], str(PurePosixPath(document).parent))]
        )


METRIC_FOLDERS = {
    "metrics.structure": "Structure",
    "metrics.text": "Text",
    "metrics.image": "Pictures",
    "metrics.audio": "Sounds",
    "metrics.video": "Videos",
    "metrics.three_d": "3D",
    "metrics.quality": "Combined quality",
    "metrics.judged": "Judged metrics",
    "metrics.judged.pictures": "Questions about pictures",
    "metrics.judged.isg": "ISG-Bench",
    "metrics.judged.ueval": "UEval",
    "tasks.mme_unify": "MME-Unify",
}
"""Headings of the page of metrics, by the package in which a metric is defined."""
_MAX_DEFAULT = 70


def metric_reference() -> str:
    """The sections of all aggregators and metrics that mmeval registers, as Markdown.

    Text in docstrings is reStructuredText, so it is handed over as such.
    """
    from mmeval import plugins
    from mmeval.metric.contract import load_metric

    lines: list[str] = []
    for entry in plugins.entries("mmeval.aggregators"):
        aggregator = plugins.load("mmeval.aggregators", entry.name)
        lines += [f"### `{entry.name}` (aggregator)", "", *_docstring(aggregator)]

    names: dict[str, list[str]] = {}
    metrics: dict[str, Metric] = {}
    for entry in plugins.entries("mmeval.metrics"):
        found = load_metric(entry.name)
        names.setdefault(found.name, []).append(entry.name)
        metrics[found.name] = found
    folders: dict[str, list[str]] = {folder: [] for folder in METRIC_FOLDERS}
    for name, found in sorted(metrics.items()):
        folders[_folder_of(found)].append(name)

    for folder, title in METRIC_FOLDERS.items():
        lines += [f"## {title}", ""]
        for name in folders[folder]:
            aliases = sorted(set(names[name]) - {name})
            lines += _metric_section(metrics[name], aliases)
    return "\n".join(lines)


def _folder_of(metric: Metric) -> str:
    """The longest folder that holds the metric's module."""
    module = metric.function.__module__.removeprefix("mmeval.")
    fitting = [name for name in METRIC_FOLDERS if f"{module}.".startswith(f"{name}.")]
    return max(fitting, key=len)


def _metric_section(metric: Metric, aliases: list[str]) -> Iterator[str]:
    yield from (f"### `{metric.name}`", "", *_docstring(metric.function))

    facts = [f"Version {metric.version}"]
    if aliases:
        facts.append("alias " + ", ".join(f"`{alias}`" for alias in aliases))
    if metric.outputs != (metric.name,):
        outputs = (f"`{name}`" for name in metric.outputs)
        facts.append("outputs " + ", ".join(outputs))
    if metric.roles:
        facts.append("calls " + ", ".join(f"`{role}`" for role in metric.roles))
    facts.append(f"source: {metric.source}")
    yield from ("; ".join(facts) + ".", "")

    if metric.switches:
        columns = [
            "switch",
            "default",
            *(f"profile `{name}`" for name in metric.profiles),
        ]
        yield _row(columns)
        yield _row(["---"] * len(columns))
        for switch, default in metric.switches.items():
            cells = [f"`{switch}`", _value(default)]
            for switches in metric.profiles.values():
                cells.append(_value(switches[switch]) if switch in switches else "")
            yield _row(cells)
        yield ""

    for picture in sorted((ROOT / "docs" / "pictures").glob(f"{metric.name}[._]*")):
        yield from (f"![{_alternative_text(picture)}](pictures/{picture.name})", "")


def _docstring(function: object) -> Iterator[str]:
    yield from ("```{eval-rst}", inspect.getdoc(function) or "", "```", "")


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _value(value: Any) -> str:
    written = json.dumps(value, ensure_ascii=False, default=_listed)
    if len(written) > _MAX_DEFAULT:
        written = f"{written[:_MAX_DEFAULT]}..."
    return "`" + written.replace("|", "\\|") + "`"


def _listed(value: Any) -> Any:
    """A value of a kind that JSON does not have."""
    return dict(value) if hasattr(value, "keys") else list(value)


def _alternative_text(picture: Path) -> str:
    subject = picture.stem.replace("_", " ")
    if picture.suffix == ".svg":
        return f"{subject}: the score of damaged media over the strength of the damage"
    return f"{subject}: damaged media, with the strength growing from left to right"


def _add_metrics(_app: Sphinx, document: str, source: list[str]) -> None:
    if document == "docs/metrics":
        source[0] = f"{source[0]}\n{metric_reference()}"


def _add_reference(_app: Sphinx, document: str, source: list[str]) -> None:
    from scripts.site.reference import with_reference

    if document.startswith("docs/reference/"):
        source[0] = with_reference(source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    from pygments.lexers.data import JsonLexer

    from scripts.site import reference

    app.connect("source-read", _add_navigation)
    app.connect("source-read", _add_metrics)
    app.connect("source-read", _add_reference)
    app.connect("autodoc-skip-member", reference.without_fields)
    app.connect("autodoc-process-signature", reference.without_protocol_signature)
    app.add_lexer("jsonl", JsonLexer)
    return {"parallel_read_safe": True}

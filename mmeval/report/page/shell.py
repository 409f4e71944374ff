"""Writes index.html and its assets: everything that is readable without scripts."""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mmeval.errors import StorageError
from mmeval.report.charts import Chart
from mmeval.results.stored_run import StoredRun
from mmeval.run.costs.bill import dollars
from mmeval.system.folders import own_cache

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup

STATIC = Path(__file__).with_name("static")
TEMPLATE = "index.html.jinja"
_JOINTS = re.compile(r"(?<=[_=/.])(?=\w)")


def write_shell(into: Path, context: Mapping[str, Any]) -> None:
    """Render the template (its head lists its variables), and copy scripts and
    styles."""
    (into / "index.html").write_bytes(rendered(context).encode("utf-8", "replace"))
    assets = into / "assets"
    assets.mkdir()
    for file in sorted(STATIC.iterdir()):
        if file.is_file() and file.name != TEMPLATE:
            shutil.copyfile(file, assets / file.name)


def rendered(context: Mapping[str, Any]) -> str:
    """Returns the text of index.html."""
    return _template().render(**context)


@cache
def _template() -> Template:
    """Returns the compiled template. Compiling takes longer than rendering a small
    page."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    from mmeval.report.page.compiled import CompiledTemplates

    def breakable(text: str) -> Markup:
        """Returns a name with optional line breaks after the characters that join its
        words."""
        return Markup("<wbr>").join(_JOINTS.split(text))

    compiled = None
    with contextlib.suppress(StorageError):  # the user has no home folder
        compiled = CompiledTemplates(own_cache() / "templates")
    environment = Environment(
        loader=FileSystemLoader(STATIC),
        autoescape=True,
        undefined=StrictUndefined,
        bytecode_cache=compiled,
    )
    environment.filters["breakable"] = breakable
    return environment.get_template(TEMPLATE)


def chart_rows(charts: Sequence[Chart]) -> list[dict[str, Any]]:
    from markupsafe import Markup

    rows = []
    for chart in charts:
        row = {
            "title": chart.title,
            "text": chart.words,
            "svg": Markup(chart.draw().markup()),
            "narrow": None,
        }
        if chart.narrow is not None:
            row["narrow"] = Markup(chart.narrow().markup())
        rows.append(row)
    return rows


def run_rows(runs: Sequence[StoredRun]) -> list[dict[str, Any]]:
    rows = []
    for run in runs:
        row = {
            "name": run.folder.resolve().name,
            "model": run.model,
            "folder": str(run.folder),
            "settings": _settings(run),
        }
        rows.append(row)
    return rows


_LEFT_OUT = frozenset(
    {"dry_run", "write_out", "verbosity", "fresh", "output_path", "report"}
)
"""Settings that do not change the numbers."""


def _settings(run: StoredRun) -> list[dict[str, str]]:
    settings = run.ours.get("settings") or run.record.get("settings", {})
    shown: dict[str, Any] = {}
    for name, value in settings.items():
        if name not in _LEFT_OUT:
            # the page already shows the name of the model
            shown["backend" if name == "model" else name] = value
    sessions = run.record.get("sessions", [])
    protocols = dict.fromkeys(run.ours.get("protocols", {}).values())
    shown |= {
        "backend": run.record.get("options", {}).get("model"),
        "protocol": list(protocols),
        "begun": run.record.get("created"),
        "command": sessions[-1].get("command") if sessions else None,
        "spent": _spent(run.ours.get("spent", {})),
    }
    rows = []
    for name, value in shown.items():
        if value not in (None, [], ""):
            rows.append({"name": str(name), "value": _plain(value)})
    return rows


def _spent(spent: Mapping[str, Any]) -> str:
    """Returns ``calls: 1,203, tokens: 84,210 in and 9,120 out, 0.30 USD``, or an empty
    string without calls."""
    if not spent.get("calls"):
        return ""
    words = [f"calls: {spent['calls']:,}"]
    tokens_in, tokens_out = spent.get("input_tokens", 0), spent.get("output_tokens", 0)
    if tokens_in or tokens_out:
        words.append(f"tokens: {tokens_in:,} in and {tokens_out:,} out")
    for kind in ("images", "videos"):
        if spent.get(kind):
            words.append(f"{kind} made: {spent[kind]:,}")
    if spent.get("usd") is None:
        words.append("price unknown")
    elif spent["usd"]:
        words.append(dollars(spent["usd"]))
    return ", ".join(words)


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={_plain(item)}" for name, item in value.items())
    if isinstance(value, list):
        return ", ".join(map(_plain, value))
    return str(value)

"""Write the tables of ``docs/reproducing/mmmg.md`` from the task files: `python -m
scripts.make_mmmg_page`.

Text outside of the two marks is written by hand and stays. The purpose of a task is the
first sentence of the comment in its file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from mmeval.metric.contract import load_metric
from mmeval.report.markdown import table_lines
from mmeval.task.file import TaskFile
from mmeval.task.index import TaskIndex
from mmeval.task.schema import MetricKeys
from mmeval.task.selection import choose
from mmeval.tasks.mmmg.categories import CATEGORIES, Category
from scripts.page_parts import names, replaced, written

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reproducing" / "mmmg.md"
BEGIN = (
    "<!-- Made by `python -m scripts.make_mmmg_page` from the task files; do not "
    "change it by hand. -->"
)
END = "<!-- The end of what is made. -->"
SIZES: Mapping[str, str] = {
    "laion/clap-htsat-unfused": "0.15 billion weights, 0.6 GB",
    "openai/whisper-large-v3": "1.5 billion weights, 3 GB",
    "BELLE-2/Belle-whisper-large-v3-zh": "1.5 billion weights, 3 GB in 16 bits",
    "alefiury/wav2vec2-large-xlsr-53-gender-recognition-librispeech": "0.3 billion weights, 1.3 GB",  # noqa: E501
    "microsoft/wavlm-base-sv": "0.1 billion weights, 0.4 GB",
    "ssundaram21/dreamsim": "three ViT-B, 0.3 billion weights",
    "CPJKU/beat_this": "0.02 billion weights, 0.1 GB",
    "karolpiczak/ESC-50": "2,000 clips of 5 s",
    "cosmir/openmic-2018": "20,000 clips of 10 s, of which few are taken",
}
"""Sizes by architecture; ``mmeval prepare mmmg --weights --dry_run`` asks the hub for
the bytes."""
PROCESSOR_ALONE = " (its processor alone)"
"""The note of a task whose model is fine-tuned and uses the original's processor."""
PUBLISHED = Path(__file__).with_name("mmmg_published.json")
"""Figures of the authors. ``leaderboard``, by category and model, best first: the
average of each group (null where the model can do none of its tasks), and that of the
category. ``tables`` of the paper: a row for each task, by its authors' id or its name
there, and for each column the printed average, then the rows (null where there is
none)."""
TABLES: Mapping[str, str] = {
    "mmmg_image": "table 9",
    "mmmg_image_text": "table 10",
    "mmmg_audio": "table 11",
    "mmmg_speech": "table 12",
}
"""The paper's table of each category."""
SEVERAL_NAMES = "a_music_attribute"
"""The file of two tasks, a tag of both besides their own."""


@dataclass(frozen=True)
class Described:
    """A task as described on the page."""

    file: TaskFile

    @property
    def measures(self) -> str:
        """The first sentence of the comment at the head of its file."""
        lines = self.file.document.file.read_text("utf-8").splitlines()
        head = lines[
            : next(at for at, line in enumerate(lines) if not line.startswith("#"))
        ]
        return (
            " ".join(line.removeprefix("#").strip() for line in head)
            .partition(". ")[0]
            .rstrip(".")
        )

    @property
    def authors_id(self) -> str:
        return next(tag for tag in self.file.keys.tag if tag != SEVERAL_NAMES)

    @property
    def media(self) -> str:
        found = self.file.keys.expected.media
        return ", ".join(
            f"{count} {'pictures' if kind == 'image' else 'sounds'}"
            for kind, count in found.items()
        )

    @property
    def pieces(self) -> list[MetricKeys]:
        """The metrics of its score."""
        return [
            entry for entry in self.file.keys.metric_list if entry.metric != "overall"
        ]

    def roles(self, entry: MetricKeys) -> list[str]:
        return [entry.asks.get(role, role) for role in load_metric(entry.metric).roles]

    @property
    def asked(self) -> str:
        return ", ".join(
            dict.fromkeys(
                f"`{role}`" for entry in self.pieces for role in self.roles(entry)
            )
        )

    def models(self) -> dict[str, set[str]]:
        """The models of its metrics by name, each with the switches that name it."""
        found: dict[str, set[str]] = {}
        for entry in self.pieces:
            metric = load_metric(entry.metric)
            for switch in metric.models:
                found.setdefault(
                    str(entry.switches.get(switch, metric.switches[switch])), set()
                ).add(switch)
        return found

    @property
    def extras(self) -> str:
        """The extras of mmeval that its metrics need."""
        needs = (need for entry in self.pieces for need in _needs(entry))
        return names(sorted({need.rpartition(":")[2] for need in needs}))


def tables() -> str:
    """The text between the marks."""
    tasks = {
        name: Described(file)
        for name, file in choose(["mmmg"], TaskIndex()).tasks.items()
    }
    parts = [part for category in CATEGORIES for part in _category(category, tasks)]
    return "\n".join([*parts, *_models(tasks)])


def _category(category: Category, tasks: Mapping[str, Described]) -> Iterator[str]:
    own = [tasks[name] for name in category.tasks]
    yield f"### {category.title}: `{category.name}`\n"
    model, figures = published(category.name)
    title = f"Published, {model}"
    headers = ["Task", "Authors' id", "Measures", "Rows", "In", "Out", title]
    headers += ["The score is the product of", "Media of rows", "Extras", "Asks"]
    rows = [
        [
            *_task_row(one),
            f"{figures[one.authors_id]:.3f}",
            _product(one),
            one.media,
            one.extras,
            one.asked,
        ]
        for one in own
    ]
    yield from table_lines(headers, rows, right_aligned=frozenset({"Rows", title}))
    yield ""


def published(category: str) -> tuple[str, dict[str, float]]:
    """The best model that does every task of a category, and its figures by authors'
    id."""
    table = json.loads(PUBLISHED.read_text("utf-8"))["tables"][TABLES[category]]
    whole = {
        model: column
        for model, column in table["columns"].items()
        if None not in column
    }
    best = max(whole, key=lambda model: whole[model][0])
    return best, dict(zip(table["rows"], whole[best][1:], strict=True))


def _task_row(one: Described) -> list[str]:
    keys = one.file.keys
    kinds = (", ".join(keys.input_modalities), ", ".join(keys.output_modalities))
    return [
        f"`{one.file.name}`",
        f"`{one.authors_id}`",
        one.measures,
        str(keys.expected.rows),
        *kinds,
    ]


def _product(one: Described) -> str:
    """The metrics of a task, each with the switches that its file gives."""
    found = []
    for entry in one.pieces:
        given = dict(entry.switches)
        if entry.aggregation.name != "mean":
            given["aggregation"] = entry.aggregation.name
        found.append(f"`{entry.metric}`" + (f" ({written(given)})" if given else ""))
    return ", ".join(found)


def _models(tasks: Mapping[str, Described]) -> Iterator[str]:
    needed: dict[str, list[str]] = {}
    for name, task in tasks.items():
        for model, switches in task.models().items():
            needed.setdefault(model, []).append(
                f"`{name}`{PROCESSOR_ALONE if switches == {'processor'} else ''}"
            )
    yield "### Models and reference sounds\n"
    rows = [
        [f"`{model}`", SIZES[model], ", ".join(names)]
        for model, names in needed.items()
    ]
    yield from table_lines(["Name", "Size, about", "Tasks"], rows)


def _needs(entry: MetricKeys) -> Iterable[str]:
    """The packages of a metric with the switches of an entry, each as
    ``module:extra``."""
    metric = load_metric(entry.metric)
    return (
        metric.needs({**metric.switches, **entry.switches})
        if callable(metric.needs)
        else metric.needs
    )


def updated(page: str) -> str:
    """A page with the current tables between its marks. Raises ValueError for a page
    without marks."""
    return replaced(page, BEGIN, END, tables())


def main() -> None:
    PAGE.write_text(updated(PAGE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()

"""The question of a judged metric, asked of people.

A metric's switches state its question: ``criterion`` with ``levels``, ``question`` with
``options``, ``criteria`` of a rubric, or ``question`` alone for yes or no. Ratings are
in the units of the metric, so that both can be compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mmeval.errors import UsageError, did_you_mean
from mmeval.results.compare import metrics_of
from mmeval.results.stored_run import StoredRun
from mmeval.trust.annotate.question import (
    AnnotationQuestion,
    Option,
    choice_options,
    criteria_of,
    level_options,
    yes_no_options,
)

RUBRIC = "Which criteria does the answer meet?"


class MetricQuestion:
    """The question of a metric about each sample of a task.

    Raises UsageError if the switches of the metric state no question.
    """

    def __init__(self, name: str, switches: Mapping[str, Any]) -> None:
        self.name = name
        self._switches = switches
        if not {"levels", "options", "criteria", "question"} & switches.keys():
            raise UsageError(
                f"the metric {name} states no question that people can be asked; "
                "write one: --ask FILE.yaml",
                name=name,
            )

    def of(self, labels: Mapping[str, Any]) -> AnnotationQuestion:
        """Returns the question about a sample with these labels. Raises UsageError if
        the labels do not have what the question needs."""
        switches = self._switches
        if "levels" in switches:
            options = level_options(switches["levels"], as_share=True)
            text = str(switches.get("criterion", ""))
            question = AnnotationQuestion("grade", self.name, text, options)
        elif "options" in switches:
            question = self._choice(labels)
        elif "criteria" in switches:
            criteria = criteria_of(labels.get(str(switches["criteria"])))
            question = AnnotationQuestion(
                "rubric", self.name, RUBRIC, criteria=criteria
            )
        else:
            question = self._yes_no(labels)
        return replace(
            question,
            shows_input=bool(switches.get("show_input", True)),
            shows_references=bool(switches.get("show_references", False)),
        )

    def _choice(self, labels: Mapping[str, Any]) -> AnnotationQuestion:
        options = choice_options(self._labelled("options", labels))
        wanted = str(self._labelled("wanted", labels))
        values = self._switches.get("values") or {}
        if not values and wanted not in [option.name for option in options]:
            raise UsageError("the wanted option is not one of the options")
        rated = []
        for option in options:
            value = float(values.get(option.name, option.name == wanted))
            rated.append(Option(option.name, value, option.text))
        text = str(self._switches.get("question", ""))
        return AnnotationQuestion("choice", self.name, text, tuple(rated))

    def _yes_no(self, labels: Mapping[str, Any]) -> AnnotationQuestion:
        text = self._labelled("question", labels)
        if not isinstance(text, str) or not text.strip():
            raise UsageError("the sample has no question")
        wanted = self._labelled("wanted", labels)
        is_yes = str(wanted).strip().lower() in ("true", "yes")
        options = yes_no_options(yes=1.0 if is_yes else 0.0)
        return AnnotationQuestion("yes_no", self.name, text, options)

    def _labelled(self, switch: str, labels: Mapping[str, Any]) -> Any:
        """Returns a switch, or the sample's label that ``SWITCH_key`` names."""
        label = self._switches.get(f"{switch}_key")
        return labels.get(label) if label else self._switches.get(switch)


def metric_questions(run: StoredRun, metric: str) -> dict[str, MetricQuestion]:
    """Returns the question of a metric in each task of a run that has it.

    Raises UsageError if no task has the metric.
    """
    questions: dict[str, MetricQuestion] = {}
    known: dict[str, None] = {}
    for task in run.tasks:
        metrics = metrics_of(run.ours, task.name)
        for name, described in metrics.items():
            if described["judged"]:
                known[name] = None
            if name == metric:
                question = MetricQuestion(name, described["switches"])
                questions[task.name] = question
    if not questions:
        raise UsageError(
            f"no task of {run.folder} has the metric {metric!r}"
            f"{did_you_mean(metric, known)}",
            name=metric,
            known=known,
        )
    return questions

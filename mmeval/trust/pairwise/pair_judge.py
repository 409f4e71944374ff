"""Asks a judge about pairs of answers.

The pairs are a run of their own in the folder of the first run. Its metric is
``judge_pair``, and it is scored as ``mmeval score`` scores a run: with the journal, the
budget and the retries. What the judge said before is not asked again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.forecast.estimate import RoleLoad, weigh
from mmeval.metric.apply import score_judged
from mmeval.metric.bound import BoundMetric
from mmeval.program.calls import Call, Program, Role, next_calls
from mmeval.records.digests import digest
from mmeval.records.request import GenerationParams
from mmeval.records.score import Score
from mmeval.records.trial import Trial
from mmeval.results.stored_run import StoredRun, StoredTask
from mmeval.run.options import RescoreOptions, RunOutcome
from mmeval.run.rescore.selection import stored_selection
from mmeval.run.task_run import score_definition
from mmeval.store.answer_draw import AnswerDraw
from mmeval.system.folders import write_atomic
from mmeval.system.json_lines import to_line
from mmeval.task.task import Task
from mmeval.trust.kept_answers import write_run
from mmeval.trust.kept_verdicts import definition_in, judges_in, score_sets_of
from mmeval.trust.new_judge import ask_about_answers
from mmeval.trust.pairs.judgements import Outcome
from mmeval.trust.pairwise.answer_pairs import AnswerPair
from mmeval.trust.pairwise.pairwise import ComparedPair, PairOrder, Pairwise

METRIC = "judge_pair"
FOLDER = "pairs"
RESULTS = "compared"
_VERSION = 1
"""Raised if pairs are made in another way, so that judges are asked anew."""
_OF_ANSWERS = (
    "task",
    "task_alias",
    "loader",
    "dataset_path",
    "data",
    "output_modalities",
    "partial_output",
    "cluster_key",
    "roles",
    "metadata",
)
"""The keys of a recorded task that its pairs have too."""
_Place = tuple[str, int, int]
"""A pair in its run: the task, the index and the repeat."""


class JudgeSettings(NamedTuple):
    """How a judge is asked: its name, the options of scoring a folder, the draw of
    samples (None: all), and the function that gets the outcome."""

    name: str
    options_of: Callable[[Path], RescoreOptions]
    draw: AnswerDraw | None
    report: Callable[[RunOutcome], None]


@dataclass
class PairJudge:
    """A judge that is asked about the pairs of some runs.

    ``run`` is the first run. ``rubric`` is a text, or empty.
    """

    run: StoredRun
    pairs: Sequence[AnswerPair]
    settings: JudgeSettings
    rubric: str = ""
    exit_code: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        places = []
        for pair in self.pairs:
            answer = pair.answer
            places.append([answer.task, answer.index, answer.repeat, answer.digest])
        name = digest([_VERSION, places])[:12]
        self.folder = self.run.folder / FOLDER / name
        tasks: dict[str, Any] = {}
        for task in dict.fromkeys(pair.answer.task for pair in self.pairs):
            tasks[task] = _pair_task(self.run.record["tasks"][task])
        self._record = {**self.run.record, "tasks": tasks, "groups": {}}

    @cached_property
    def drawn(self) -> list[AnswerPair]:
        """The pairs of the drawn samples."""
        draw = self.settings.draw
        if draw is None:
            return list(self.pairs)
        samples = draw.of(pair.sample_name for pair in self.pairs).samples
        return [pair for pair in self.pairs if pair.sample_name in samples]

    def calls_to_make(self) -> RoleLoad:
        """Returns the calls that ``ask`` would make, with estimates of their tokens."""
        load = RoleLoad()
        options = self._options()
        selection = stored_selection(
            self._record,
            options.overrides,
            frozenset(options.roles),
            metrics=options.metrics,
        )
        asked: set[str] = set()
        for task in selection:
            known = self._known(task)
            (entry,) = task.metrics
            for pair in self.drawn:
                if pair.answer.task != task.name:
                    continue
                calls = _first_calls(entry.bound, pair, task.roles)
                missing = _missing_calls(calls, known.get(_place(pair)))
                # equal calls of one pair are repeats, which are all sent
                for call in missing:
                    if call.request.digest not in asked:
                        load.merge(replace(weigh(call.request), calls=1))
                asked |= {call.request.digest for call in missing}
        return load

    def ask(self) -> list[ComparedPair]:
        """Asks the judge about the drawn pairs, and returns what it said.

        Raises the errors of ``rescore``.
        """
        answers = [pair.answer for pair in self.pairs]
        write_run(self.folder, answers, self._record)
        outcome = ask_about_answers(self._options(), self.settings.report)
        self.exit_code = outcome.exit_code
        scores: dict[_Place, Score] = {}
        for task, score_set in outcome.score_sets.items():
            scores |= _scores(StoredTask(task, {}, self.folder, score_set))
        compared = []
        for pair in self.drawn:
            compared.append(_compared(pair, scores.get(_place(pair))))
        return compared

    def keep(self, result: Pairwise) -> Path:
        """Writes the result, and the verdict of each order as a rating for ``mmeval
        agree``. Returns the file of ratings.

        Raises StorageError.
        """
        draw = self.settings.draw
        count = None if draw is None else draw.count
        name = digest([self.settings.name, self.rubric, count, result.ties])[:12]
        folder = self.folder / RESULTS
        folder.mkdir(parents=True, exist_ok=True)
        document = json.dumps(result.to_json(), indent=1, ensure_ascii=False)
        write_atomic(folder / f"{name}.json", document.encode())
        lines = []
        for pair in result.comparisons:
            for rating in pair.ratings(self.settings.name):
                lines.append(to_line(rating.to_json()) + b"\n")
        ratings = folder / f"{name}.jsonl"
        write_atomic(ratings, b"".join(lines))
        return ratings

    def _options(self) -> RescoreOptions:
        options = self.settings.options_of(self.folder)
        metric_args = dict(options.overrides.metric_args)
        if self.rubric:
            switches = metric_args.get(METRIC, {})
            metric_args[METRIC] = {**switches, "rubric": self.rubric}
        overrides = replace(options.overrides, metric_args=metric_args)
        return replace(
            options,
            metrics=(METRIC,),
            draw=self.settings.draw,
            overrides=overrides,
        )

    def _known(self, task: Task) -> dict[_Place, Score]:
        """Returns what the judge said of the pairs of a task before."""
        definition = definition_in(score_definition(task, {}), METRIC)
        known: dict[_Place, Score] = {}
        for stored in score_sets_of(StoredTask(task.name, {}, self.folder, None)):
            is_alike = definition_in(stored.plan, METRIC) == definition
            if is_alike and self.settings.name in judges_in(stored.plan, METRIC):
                known |= _scores(stored)
        return known


def _pair_task(config: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the recorded task of pairs, from that of their answers."""
    task = {key: config[key] for key in _OF_ANSWERS if key in config}
    return {**task, "metric_list": [{"metric": METRIC}]}


def _first_calls(
    bound: BoundMetric, pair: AnswerPair, roles: Mapping[str, GenerationParams]
) -> Sequence[Call]:
    answer = pair.answer
    trial = Trial(answer.sample, answer.repeat, output=answer.output)

    def role(name: str) -> Role:
        return Role(name, roles.get(name, GenerationParams()))

    program: Program[Any] = score_judged(bound, trial, role)
    try:
        asked = next_calls(program, None)
    except StopIteration:
        return ()
    return [asked] if isinstance(asked, Call) else asked


def _missing_calls(calls: Sequence[Call], score: Score | None) -> Sequence[Call]:
    """Returns the calls that are not answered yet. Only lost verdicts are asked for
    again."""
    if score is None:
        return calls
    if score.cause != "lost":
        return ()
    orders = score.evidence.get("orders", ())
    if not orders:
        return calls
    repeats = len(calls) // len(orders)
    missing: list[Call] = []
    for number, order in enumerate(orders):
        if "lost" in order:
            missing += calls[number * repeats : (number + 1) * repeats]
    return missing


def _scores(task: StoredTask) -> dict[_Place, Score]:
    scores = {}
    for row in task.score_rows():
        # a spent budget leaves rows without a score
        if METRIC in row["scores"]:
            place = (task.name, row["i"], row["n"])
            scores[place] = Score.from_json(row["scores"][METRIC])
    return scores


def _compared(pair: AnswerPair, score: Score | None) -> ComparedPair:
    evidence = {} if score is None else score.evidence
    orders = list(_orders(pair, evidence))
    is_scored = score is not None and score.status == "scored"
    answer = pair.answer
    return ComparedPair(
        a=pair.a,
        b=pair.b,
        task=answer.task,
        sample=answer.sample.id,
        repeat=answer.repeat,
        cluster=pair.cluster,
        outcome=_OUTCOMES[evidence["better"]] if is_scored else None,
        orders=orders,
    )


_OUTCOMES: Mapping[str | None, Outcome | None] = {
    "answer": "a",
    "reference": "b",
    "tie": "tie",
    None: None,
}


def _orders(pair: AnswerPair, evidence: Mapping[str, Any]) -> Iterator[PairOrder]:
    for order in evidence.get("orders", ()):
        first = pair.a if order["first"] == "answer" else pair.b
        yield PairOrder(first, _OUTCOMES[order["better"]])


def _place(pair: AnswerPair) -> _Place:
    answer = pair.answer
    return answer.task, answer.index, answer.repeat

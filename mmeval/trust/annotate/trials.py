"""The trials of runs that people rate: which ones are drawn, and what they show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

from mmeval.dataset.sampling import Draw as SampleOrder
from mmeval.errors import UsageError, did_you_mean
from mmeval.records.digests import digest
from mmeval.records.sample import Sample
from mmeval.report.page.details import exchanges, output_of
from mmeval.results.stored_run import StoredRun, StoredTask, StoredTrial, counted_by
from mmeval.store.paths import TrialFilter
from mmeval.trust.annotate.material import Material, MaterialFile
from mmeval.trust.annotate.question import AnnotationQuestion
from mmeval.trust.rated_answers import answer_digest
from mmeval.trust.records import Draw, Rating, Value
from mmeval.trust.run_scores import trial_name


class AsksAboutSample(Protocol):
    """Returns the question about a sample, by its labels."""

    def of(self, labels: Mapping[str, Any], /) -> AnnotationQuestion: ...


@dataclass(frozen=True)
class FixedQuestion:
    """The same question about every sample."""

    question: AnnotationQuestion

    def of(self, _labels: Mapping[str, Any], /) -> AnnotationQuestion:
        """Returns the question."""
        return self.question


@dataclass(frozen=True)
class DrawOptions:
    """Which trials are rated.

    ``limit`` is the number of samples of each task that are drawn at random (None: all
    are rated). ``seed`` and ``strata`` define the draw. ``tasks`` is empty for all
    tasks.
    """

    tasks: tuple[str, ...] = ()
    limit: int | None = None
    seed: int = 0
    strata: tuple[str, ...] = ()


@dataclass(frozen=True)
class TrialToRate:
    """A trial that people rate, or a pair of trials of two runs ``a`` and ``b``.

    ``position`` is that of its material. ``gold`` is the right rating, if it is known.
    """

    trial: str
    question: AnnotationQuestion
    position: int
    sample: str
    cluster: str
    task: str
    draw: Draw
    run: str = ""
    digest: str = ""
    a: str = ""
    b: str = ""
    gold: Value = None

    @property
    def key(self) -> tuple[str, str]:
        """The run and the trial: what identifies it among all trials."""
        return (self.run, self.trial)


@dataclass(frozen=True)
class TrialsToRate:
    """The trials that people rate. ``without_answer`` counts trials that are left out
    because they failed, ``without_question`` those whose sample states no question."""

    trials: tuple[TrialToRate, ...]
    without_answer: int = 0
    without_question: int = 0


class _Answered(NamedTuple):
    """A drawn trial with an answer."""

    trial: str
    task: StoredTask
    stored: StoredTrial
    output: Sequence[Mapping[str, Any]]
    draw: Draw

    @property
    def cluster(self) -> str:
        sample = str(self.stored.sample["id"])
        if self.stored.scores is not None and self.stored.scores.get("cluster"):
            return str(self.stored.scores["cluster"])
        key = self.task.config.get("cluster_key")
        label = self.stored.sample["metadata"].get(key) if key else None
        return sample if label is None else str(label)


def single_trials(
    runs: Sequence[tuple[str, StoredRun, Mapping[str, AsksAboutSample]]],
    options: DrawOptions,
    gold: Sequence[Rating],
    material: MaterialFile,
) -> TrialsToRate:
    """Returns the drawn trials of runs.

    Each run has its name in ratings, and its question by task. ``gold`` are the right
    ratings of trials, which are always rated. Raises UsageError if no trial is left.
    """
    trials: list[TrialToRate] = []
    failed = unasked = 0
    right = _gold_values(gold)
    for name, run, questions in runs:
        for task in _tasks(run, options.tasks, questions):
            for answered in _answered(run, task, options, {key[1] for key in right}):
                if answered is None:
                    failed += 1
                    continue
                try:
                    labels = answered.stored.sample["metadata"]
                    question = questions[task.name].of(labels)
                except UsageError:
                    unasked += 1
                    continue
                trial = _single(name, answered, question, material)
                gold_value = right.get(trial.key, right.get(("", trial.trial)))
                is_chosen = trial.draw.how == "chosen"
                if is_chosen and gold_value is None:
                    continue
                trials.append(replace(trial, gold=gold_value))
    return _not_empty(TrialsToRate(tuple(trials), failed, unasked))


def paired_runs(
    runs: Sequence[tuple[str, StoredRun]],
    question: AnnotationQuestion,
    options: DrawOptions,
    material: MaterialFile,
) -> TrialsToRate:
    """Returns the drawn pairs of trials that two runs have of the same samples.

    Raises UsageError if there are not two runs, or no pair is left.
    """
    if len(runs) != 2:
        raise UsageError("a question with pairs: true needs the folders of two runs")
    (name_a, run_a), (name_b, run_b) = runs
    asked = {task.name: FixedQuestion(question) for task in run_a.tasks}
    trials: list[TrialToRate] = []
    failed = 0
    tasks_b = {task.name: task for task in run_b.tasks}
    for task in _tasks(run_a, options.tasks, asked):
        if task.name not in tasks_b:
            continue
        second = {}
        for answered in _answered(run_b, tasks_b[task.name], options, ()):
            if answered is not None:
                second[answered.trial] = answered
        for answered in _answered(run_a, task, options, ()):
            if answered is None or answered.trial not in second:
                failed += 1
                continue
            other = second[answered.trial]
            shown = _material(answered.stored, question, answered.output, other.output)
            answers = {name_a: answered.output, name_b: other.output}
            names = sorted(answers)
            trials.append(
                TrialToRate(
                    # a sample has a trial for each two runs: a rating of one pair must
                    # not replace that of another pair
                    trial=f"{answered.trial} ({', '.join(names)})",
                    question=question,
                    position=material.add(shown),
                    sample=str(answered.stored.sample["id"]),
                    cluster=answered.cluster,
                    task=task.name,
                    digest=digest([answer_digest(answers[name]) for name in names]),
                    draw=answered.draw,
                    a=name_a,
                    b=name_b,
                )
            )
    return _not_empty(TrialsToRate(tuple(trials), failed))


def _not_empty(found: TrialsToRate) -> TrialsToRate:
    if not found.trials:
        raise UsageError(
            f"there is nothing to rate: {found.without_answer:,} trials have no "
            f"answer, and {found.without_question:,} samples state no question"
        )
    return found


def _gold_values(gold: Iterable[Rating]) -> dict[tuple[str, str], Value]:
    return {(rating.run, rating.trial): rating.value for rating in gold}


def _tasks(
    run: StoredRun, chosen: Sequence[str], questions: Mapping[str, AsksAboutSample]
) -> Iterator[StoredTask]:
    known = [task.name for task in run.tasks]
    for name in chosen:
        if name not in known:
            raise UsageError(
                f"{run.folder} has no task {name!r}{did_you_mean(name, known)}",
                name=name,
                known=known,
            )
    for task in run.tasks:
        is_chosen = not chosen or task.name in chosen
        if is_chosen and task.name in questions:
            yield task


def _answered(
    run: StoredRun,
    task: StoredTask,
    options: DrawOptions,
    also: Collection[str],
) -> Iterator[_Answered | None]:
    """Yields the drawn trials of a task, and None for each without an answer.

    The trials named by ``also`` are yielded too, as chosen ones.
    """
    counts = counted_by(run.ours.get("asked", {}).get(task.name))
    draws = _draws(task, options, counts)

    def is_needed(index: int, repeat: int) -> bool:
        return counts(index, repeat) and (bool(also) or index in draws)

    for trial in task.trials(is_needed):
        if trial is None:
            continue
        name = trial_name(task.name, str(trial.sample["id"]), trial.repeat)
        draw = draws.get(trial.index)
        if draw is None and name not in also:
            continue
        output = output_of(trial, exchanges(trial, run.journal))
        if output is None:
            yield None
            continue
        yield _Answered(name, task, trial, output, draw or Draw("chosen"))


def _draws(
    task: StoredTask, options: DrawOptions, counts: TrialFilter
) -> dict[int, Draw]:
    """Returns how each drawn sample was drawn, by its index."""
    samples: dict[int, Sample] = {}
    for row in task.sample_rows():
        sample = row["sample"]
        if counts(row["i"], 0):
            metadata = sample["metadata"] if options.strata else {}
            samples[row["i"]] = Sample(sample["id"], (), metadata=metadata)
    order = SampleOrder(options.seed, options.strata).order(samples.items())
    chosen = order if options.limit is None else order[: options.limit]
    if len(chosen) == len(order):
        return dict.fromkeys(order, Draw("all"))

    strata = {}
    for index, sample in samples.items():
        values = [str(sample.metadata.get(label, "")) for label in options.strata]
        strata[index] = ", ".join(values)
    sizes = Counter(strata[index] for index in order)
    drawn = Counter(strata[index] for index in chosen)
    draws = {}
    for index in chosen:
        stratum = strata[index]
        probability = drawn[stratum] / sizes[stratum]
        draws[index] = Draw("random", probability, stratum, options.seed)
    return draws


def _single(
    run: str,
    answered: _Answered,
    question: AnnotationQuestion,
    material: MaterialFile,
) -> TrialToRate:
    shown = _material(answered.stored, question, answered.output)
    return TrialToRate(
        trial=answered.trial,
        question=question,
        position=material.add(shown),
        sample=str(answered.stored.sample["id"]),
        cluster=answered.cluster,
        task=answered.task.name,
        run=run,
        digest=answer_digest(answered.output),
        draw=answered.draw,
    )


def _material(
    trial: StoredTrial,
    question: AnnotationQuestion,
    *answers: Sequence[Mapping[str, Any]],
) -> Material:
    messages = []
    if question.shows_input:
        for message in trial.sample["input"]:
            # what the program tells every model is no part of the request
            if message["role"] != "system":
                messages.append(message["content"])
    references = trial.sample["references"] if question.shows_references else []
    return Material(messages, references, answers)

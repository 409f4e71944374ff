"""Ratings and scores in the forms of published studies of people, made so that they
give a chosen figure exactly."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Row = dict[str, Any]


def write_table(file: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    with file.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.DictWriter(opened, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def correlated(human: Iterable[float], r: float, random: np.random.Generator) -> Values:
    """Scores whose Pearson correlation with the human values is ``r``."""
    target = np.array(list(human), dtype=float)
    target = (target - target.mean()) / target.std()
    noise = random.normal(size=len(target))
    noise -= noise.mean()
    noise -= target * (noise @ target) / (target @ target)
    noise /= noise.std()
    scores: Values = r * target + np.sqrt(1 - r * r) * noise
    return scores


def three_raters(
    figures: Mapping[str, tuple[str, float]], trials: int
) -> tuple[list[Row], list[Row]]:
    """UniM: three raters of two questions; each question has its metric and its
    correlation with the raters' mean."""
    random = np.random.default_rng(0)
    ratings: list[Row] = []
    scores: list[Row] = []
    for question, (metric, r) in figures.items():
        quality = random.integers(1, 6, trials)
        means = []
        for trial in range(trials):
            values = np.clip(quality[trial] + random.integers(-1, 2, 3), 1, 5)
            means.append(float(values.mean()))
            for rater, value in enumerate(values):
                row = {"trial": f"t{trial}", "rater": f"r{rater}", "value": int(value)}
                ratings.append({**row, "question": question})
        for trial, score in enumerate(correlated(means, r, random)):
            model = f"model{trial % 3}"
            row = {"trial": f"t{trial}", "metric": metric, "value": float(score)}
            scores.append({**row, "sample": f"s{trial // 3}", "model": model})
    return ratings, scores


def accuracies_by_task(
    accuracies: Mapping[str, float], metric: str, *, is_one_rater: bool = False
) -> tuple[list[Row], list[Row]]:
    """MMMG: two raters, and a third where they differ; by task, the share of trials in
    which the metric agrees with the majority. ISG-Bench publishes one value instead."""
    random = np.random.default_rng(0)
    ratings: list[Row] = []
    scores: list[Row] = []
    for task, accuracy in accuracies.items():
        share = Fraction(str(accuracy))
        # as few trials as have this share exactly, and at least 40
        trials = share.denominator * -(-40 // share.denominator)
        wrong = round(trials * (1 - accuracy))
        for place in range(trials):
            trial = f"{task}/{place}"
            majority = int(random.random() < 0.5)
            votes = {"a": majority, "b": majority}
            if is_one_rater:
                votes = {"authors": majority}
            elif place % 40 == 0:
                votes = {"a": majority, "b": 1 - majority, "third": majority}
            for rater, value in votes.items():
                ratings.append({"trial": trial, "rater": rater, "value": value})
            score = majority if place >= wrong else 1 - majority
            row = {"trial": trial, "metric": metric, "value": score}
            scores.append({**row, "task": task})
    return ratings, scores


def correlations_by_task(
    correlations: Mapping[str, float], metric: str, *, words: bool = False
) -> tuple[list[Row], list[Row]]:
    """ISG-Bench: one published value of people for each block of a question, from 1 to
    10, or yes and no; by task, the correlation of the metric."""
    random = np.random.default_rng(0)
    ratings: list[Row] = []
    scores: list[Row] = []
    for task, r in correlations.items():
        human = random.integers(0, 2, 60) if words else random.integers(1, 11, 60)
        for place, score in enumerate(correlated(human, r, random)):
            trial = f"{task}/{place}"
            row = {"trial": trial, "rater": "authors", "value": int(human[place])}
            ratings.append(row)
            row = {"trial": trial, "metric": metric, "value": float(score)}
            scores.append({**row, "task": task})
    return ratings, scores


def met_criteria(share: float, r: float) -> tuple[list[Row], list[Row]]:
    """UEval: criteria of 100 questions, met or not, in two tasks. The metric agrees
    with people on a share of them. A second question has the share of met criteria,
    whose correlation is ``r``."""
    random = np.random.default_rng(0)
    ratings: list[Row] = []
    scores: list[Row] = []
    shares = []
    for question in range(100):
        met = random.integers(0, 2, 10)
        shares.append(float(met.mean()))
        wrong = round((1 - share) * 10)
        for criterion, value in enumerate(met):
            trial = f"q{question}/{criterion}"
            row = {"trial": trial, "rater": "person", "value": int(value)}
            ratings.append({**row, "question": "criteria"})
            judged = 1 - value if criterion < wrong else value
            row = {"trial": trial, "metric": "criteria", "value": int(judged)}
            task = "guide" if question % 2 else "art"
            scores.append({**row, "sample": f"q{question}", "task": task})
    for question, score in enumerate(correlated(shares, r, random)):
        trial = f"q{question}"
        row = {"trial": trial, "rater": "person", "value": shares[question]}
        ratings.append({**row, "question": "questions"})
        row = {"trial": trial, "metric": "share", "value": float(score)}
        scores.append({**row, "sample": trial, "task": ""})
    return ratings, scores

"""A session of raters: what each one sees next, and the ratings that are kept."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Lock
from typing import Any

from mmeval.errors import UsageError
from mmeval.trust.annotate.assignments import (
    Assignment,
    Assignments,
    RaterProgress,
    SessionOptions,
)
from mmeval.trust.annotate.blind_parts import BlindParts
from mmeval.trust.annotate.material import MaterialFile
from mmeval.trust.annotate.trials import TrialToRate
from mmeval.trust.human_values import kept_ratings
from mmeval.trust.ratings_file import RatingsFile
from mmeval.trust.records import Rating, Value
from mmeval.trust.rows import number_or_text

GOLD_FLOOR = 0.7
"""A rater with a smaller share of right gold answers is named."""
MAX_COMMENT = 5_000
MAX_SECONDS = 1e6


@dataclass(frozen=True)
class GoldShare:
    """How many of the trials with a known answer a rater rated, and how many right."""

    rated: int
    right: int

    @property
    def share(self) -> float | None:
        """The share of right ratings, or None without any."""
        return self.right / self.rated if self.rated else None

    @property
    def is_low(self) -> bool:
        """True if the share is below ``GOLD_FLOOR``."""
        return self.share is not None and self.share < GOLD_FLOOR


@dataclass(frozen=True)
class SessionParts:
    """What a session works with: its trials, their material and its conversion for the
    page, the file of ratings, and a secret for opaque names."""

    trials: Sequence[TrialToRate]
    material: MaterialFile
    parts: Mapping[str, BlindParts]
    """By the name of the run in ratings."""
    file: RatingsFile
    secret: bytes


StopRule = Callable[[Sequence[Rating]], str]
"""Returns why the session ends after these ratings, or an empty string."""


def never(_ratings: Sequence[Rating]) -> str:
    """Returns an empty string: the session ends when everything is rated."""
    return ""


class Session:
    """Gives trials to raters, and keeps their ratings. Several threads may use it."""

    def __init__(
        self,
        parts: SessionParts,
        options: SessionOptions,
        clock: Callable[[], datetime],
        stop_rule: StopRule = never,
    ) -> None:
        self._parts = parts
        self._options = options
        self._clock = clock
        self._stop_rule = stop_rule
        self._trials = parts.trials
        self._assignments = Assignments(parts.trials, options)
        self._ratings: list[Rating] = []
        self._ids: dict[tuple[str, str], Assignment] = {}
        self._gold: dict[str, dict[Assignment, bool]] = {}
        self._lock = Lock()
        self.stopped = ""

    def resume(self, ratings: Iterable[Rating]) -> None:
        """Takes over the ratings of an earlier session, in the order of the file."""
        places = {trial.key: place for place, trial in enumerate(self._trials)}
        for rating in kept_ratings(ratings):
            place = places.get((rating.run, rating.trial))
            if place is None:
                continue
            trial = self._trials[place]
            # a new answer of the model is rated anew
            is_same = rating.digest in ("", trial.digest)
            if is_same and rating.question == trial.question.name:
                assignment = Assignment(place, rating.pass_number)
                self._note(rating.rater, assignment, rating)
        self.stopped = self._stop_rule(self._ratings)

    @property
    def raters(self) -> Mapping[str, RaterProgress]:
        """The progress of each rater."""
        return self._assignments.raters

    @property
    def count(self) -> int:
        """The number of ratings."""
        return len(self._ratings)

    def gold_share(self, rater: str) -> GoldShare:
        """Returns how well a rater did on trials with a known answer."""
        verdicts = self._gold.get(rater, {}).values()
        return GoldShare(len(verdicts), sum(verdicts))

    def next_page(self, rater: str) -> dict[str, Any]:
        """Returns the next trial of a rater as JSON values for the page, or
        ``finished`` with the number of ratings."""
        now = self._clock().timestamp()
        with self._lock:
            assignment = None
            if not self.stopped:
                assignment = self._assignments.next(rater, now)
            done = len(self._assignments.of(rater).at)
            if assignment is None:
                return {"finished": True, "done": done}
            total = done + self._assignments.remaining(rater, now)
            is_turned = self._is_turned(rater, assignment)
        return {
            **self._page(rater, assignment, is_turned),
            "done": done,
            "total": total,
        }

    def previous_page(self, rater: str, before: str) -> dict[str, Any]:
        """Returns the trial that a rater rated before another one (empty: the last).

        Raises UsageError if there is none.
        """
        with self._lock:
            rated = list(self._assignments.of(rater).at)
            current = self._ids.get((rater, before))
            place = rated.index(current) if current in rated else len(rated)
            if place == 0:
                raise UsageError("this is the first answer")
            assignment = rated[place - 1]
            is_turned = self._is_turned(rater, assignment)
        page = self._page(rater, assignment, is_turned)
        return {**page, "done": place - 1, "total": len(rated)}

    def rate(self, rater: str, body: Mapping[str, Any]) -> None:
        """Keeps a rating. It is on disk when this returns.

        ``body`` has ``id``, ``chosen``, and may have ``comment`` and ``seconds``.
        Raises UsageError if it does not fit the trial, and StorageError.
        """
        with self._lock:
            assignment = self._issued(rater, str(body.get("id", "")))
            ratings = self._ratings_of(rater, assignment, body)
            self._parts.file.add(ratings)
            self._note(rater, assignment, ratings[-1])
            if not self.stopped:
                self.stopped = self._stop_rule(self._ratings)

    def _issued(self, rater: str, name: str) -> Assignment:
        """Returns the assignment of a name.

        A page that was open when the server stopped has a name of the time before. Only
        this server makes names, so it issued any name that it can make again.
        """
        assignment = self._ids.get((rater, name))
        if assignment is not None:
            return assignment
        for place in range(len(self._trials)):
            for pass_number in (1, 2):
                earlier = Assignment(place, pass_number)
                if self._id(rater, earlier) == name:
                    return earlier
        raise UsageError("this answer was not given to you to rate")

    def _note(self, rater: str, assignment: Assignment, rating: Rating) -> None:
        trial = self._trials[assignment.place]
        # an option such as "2" is a number for all who read the file
        value = rating.value
        if isinstance(value, str):
            value = number_or_text(value)
        self._assignments.add(rater, assignment, value)
        self._ratings.append(rating)
        self._ids[rater, self._id(rater, assignment)] = assignment
        if trial.a:
            turned = self._assignments.of(rater).turned
            turned[assignment] = rating.first == trial.b
        if trial.gold is not None:
            verdicts = self._gold.setdefault(rater, {})
            verdicts[assignment] = value == trial.gold

    def _is_turned(self, rater: str, assignment: Assignment) -> bool:
        is_pair = bool(self._trials[assignment.place].a)
        return is_pair and self._assignments.is_turned(rater, assignment)

    def _page(
        self, rater: str, assignment: Assignment, is_turned: bool
    ) -> dict[str, Any]:
        trial = self._trials[assignment.place]
        material = self._parts.material.at(trial.position)
        names = [trial.a, trial.b] if trial.a else [trial.run]
        first = self._parts.parts[names[0]]
        answers = []
        for name, answer in zip(names, material.answers, strict=True):
            answers += self._parts.parts[name].of([answer])
        if is_turned:
            answers.reverse()
        name = self._id(rater, assignment)
        self._ids[rater, name] = assignment
        return {
            "id": name,
            "question": trial.question.to_json(),
            "messages": first.of(material.messages),
            "references": first.of(material.references),
            "answers": answers,
        }

    def _id(self, rater: str, assignment: Assignment) -> str:
        """Returns a name of an assignment that only this server can make."""
        key = self._trials[assignment.place].key
        words = "\0".join([rater, *key, str(assignment.pass_number)])
        encoded = words.encode("utf-8", "surrogatepass")
        return hmac.new(self._parts.secret, encoded, hashlib.sha256).hexdigest()[:32]

    def _ratings_of(
        self, rater: str, assignment: Assignment, body: Mapping[str, Any]
    ) -> list[Rating]:
        trial = self._trials[assignment.place]
        first = ""
        if trial.a:
            is_turned = self._is_turned(rater, assignment)
            first = trial.b if is_turned else trial.a
        ratings = []
        for answer in trial.question.answers(body.get("chosen")):
            is_whole = answer.question == trial.question.name
            rating = Rating(
                trial=trial.trial,
                rater=rater,
                value=_pair_value(trial, first, answer.value),
                question=answer.question,
                pass_number=assignment.pass_number,
                sample=trial.sample,
                cluster=trial.cluster,
                task=trial.task,
                run=trial.run,
                digest=trial.digest,
                kind="grade" if answer.kind == "labels" else answer.kind,
                seconds=_seconds(body),
                at=self._clock().astimezone(UTC),
                comment=_comment(body) if is_whole else "",
                a=trial.a,
                b=trial.b,
                first=first,
                gold=trial.gold if is_whole else None,
                draw=trial.draw,
            )
            ratings.append(rating)
        return ratings


def _pair_value(trial: TrialToRate, first: str, value: Value) -> Value:
    """Returns the rating of a pair in terms of its runs: a, b, tie, tie_a or tie_b."""
    if not trial.a or value in (None, "tie"):
        return value
    word, _, side = str(value).rpartition("_")
    is_a = (side == "first") == (first == trial.a)
    letter = "a" if is_a else "b"
    return f"{word}_{letter}" if word else letter


def _seconds(body: Mapping[str, Any]) -> float | None:
    seconds = body.get("seconds")
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        return None
    return round(float(seconds), 1) if 0 <= seconds <= MAX_SECONDS else None


def _comment(body: Mapping[str, Any]) -> str:
    comment = body.get("comment", "")
    if not isinstance(comment, str) or len(comment) > MAX_COMMENT:
        raise UsageError(f"a comment is a text of at most {MAX_COMMENT:,} characters")
    return comment.strip()

"""Metrics that have something to say of some answers only, and scores that are made of
what they say.

``registered`` makes them known as plugins beside the toys. An answer ``sounds 0.5 1,
pictures 0`` holds two sounds of these qualities and a picture.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from mmeval.metric.contract import metric
from mmeval.metrics.quality.items import ItemScore, together
from mmeval.program.calls import Program, Role, ask_one
from mmeval.records.score import Score
from mmeval.records.trial import Trial
from mmeval.report.progress_bar import Quiet
from mmeval.run.options import RescoreOptions, RunOutcome
from mmeval.run.rescore.rescorer import rescore
from tests.support import toy
from tests.support.task_folder import with_plugins

_PLUGINS = """
[mmeval.metrics]
sound_worth = tests.support.applying:sound_worth
picture_worth = tests.support.applying:picture_worth
text_worth = tests.support.applying:text_worth
sounds_at_once = tests.support.applying:sounds_at_once
what_there_is = tests.support.applying:what_there_is
"""
NO_SOUND, NO_PICTURE = "the answer has no sound", "the answer has no picture"


@contextmanager
def registered() -> Iterator[None]:
    """These metrics and the toys as plugins, until the block ends."""
    with toy.registered(), with_plugins("applying", _PLUGINS):
        yield


def again(outcome: RunOutcome, **options: Any) -> RunOutcome:
    """The folder of a run scored again in this process."""
    made = {"roles": {}, "score_workers": 0, "retry_on_error": 0, **options}
    return rescore(RescoreOptions(folder=outcome.folder, **made), progress=Quiet())


def _worth(trial: Trial, what: str, reason: str) -> Score:
    assert trial.output is not None
    found = re.search(rf"{what}((?: [\d.x]+)+)", trial.output.text)
    if found is None:
        return Score.inapplicable(reason)
    items = [
        ItemScore.none("damaged") if word == "x" else ItemScore(float(word))
        for word in found[1].split()
    ]
    return together([(f"{what}{at}", one) for at, one in enumerate(items, 1)])


@metric(range=(0, 1), version="1", source="tests")
def sound_worth(trial: Trial) -> Score:
    return _worth(trial, "sounds", NO_SOUND)


@metric(range=(0, 1), version="1", source="tests")
def picture_worth(trial: Trial) -> Score:
    return _worth(trial, "pictures", NO_PICTURE)


@metric(range=(0, 1), version="1", source="tests")
def text_worth(trial: Trial, judge: Role) -> Program[Score]:
    """1 where the judge says yes to the answer."""
    assert trial.output is not None
    reply = yield from ask_one(judge.ask(trial.output))
    return together([("text1", ItemScore(float(reply.require().text == "yes")))])


@metric(range=(0, 1), version="1", source="tests", batch=4)
def sounds_at_once(trials: Sequence[Trial]) -> list[Score]:
    return [_worth(trial, "sounds", NO_SOUND) for trial in trials]


@metric(range=(0, 1), version="1", source="tests", takes_missing=True)
def what_there_is(scores: Mapping[str, Score], *, of: Sequence[str] = ()) -> Score:
    """The mean of the pieces that have a value; its evidence is how each of them
    came."""
    values = [score.value for score in scores.values() if score.value is not None]
    evidence: dict[str, Any] = {name: score.status for name, score in scores.items()}
    if not values:
        return Score(
            status="inapplicable", reason="no piece has a value", evidence=evidence
        )
    return Score(sum(values) / len(values), evidence=evidence)

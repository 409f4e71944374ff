"""Two judged metrics and a plain one."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from mmeval.metric import metric
from mmeval.program import Program, Reply, Role, ask_all
from mmeval.records import Score, Trial

Verdict = Literal["yes", "no", "unknown"]


def verdict(reply: Reply) -> Verdict:
    word = reply.text.strip().lower().rstrip(".")
    if not reply.ok or word not in ("yes", "no"):
        return "unknown"
    return "yes" if word == "yes" else "no"


@metric(range=(0, 1), version="1", source="storybench, section 2")
def question_graph(trial: Trial, judge: Role) -> Program[Score]:
    """Share of the row's yes/no questions that are answered yes, 0 to 1, higher is better.

    A question counts as no when one it requires is answered no, and is unknown when one it requires is unknown. With
    an unknown the trial is unscored, with the lowest and the highest share that it could have had.
    """
    open_questions: list[Mapping[str, Any]] = list(trial.sample.metadata["questions"])
    known: dict[str, Verdict] = {}
    assert trial.output is not None
    while open_questions:
        ready = [q for q in open_questions if all(parent in known for parent in q.get("requires", ()))]
        asked = [q for q in ready if all(known[parent] == "yes" for parent in q.get("requires", ()))]
        replies = yield from ask_all([judge.ask(trial.output, f"\n{q['text']} yes or no?") for q in asked])
        known.update({q["id"]: verdict(reply) for q, reply in zip(asked, replies, strict=True)})
        for q in ready:
            known.setdefault(q["id"], _inherited(q.get("requires", ()), known))
        open_questions = [q for q in open_questions if q["id"] not in known]
    yes, unknown = (sum(v == wanted for v in known.values()) for wanted in ("yes", "unknown"))
    if unknown:
        bounds = (yes / len(known), (yes + unknown) / len(known))
        return Score.unscored(f"{unknown} questions are unknown", verdicts=known, bounds=bounds)
    return Score(yes / len(known), evidence={"verdicts": known})


def _inherited(parents: Sequence[str], known: Mapping[str, Verdict]) -> Verdict:
    return "unknown" if any(known[parent] == "unknown" for parent in parents) else "no"


@metric(range=(0, 1), version="1", source="storybench, section 3")
def story_rubric(trial: Trial, judge: Role, *, key: str = "rubric") -> Program[Score]:
    """Weighted share of the row's criteria that the judge finds met, 0 to 1, higher is better.

    With a criterion without a verdict the trial is unscored, with the shares that it could have had.
    """
    criteria = trial.sample.metadata[key]
    assert trial.output is not None
    replies = yield from ask_all([judge.ask(trial.output, f"\nIs this met: {c['criterion']}?") for c in criteria])
    verdicts = [verdict(reply) for reply in replies]
    whole = sum(c["weight"] for c in criteria)
    met, unknown = (
        sum(c["weight"] for c, v in zip(criteria, verdicts, strict=True) if v == wanted) / whole
        for wanted in ("yes", "unknown")
    )
    if "unknown" in verdicts:
        return Score.unscored("a criterion has no verdict", verdicts=verdicts, bounds=(met, met + unknown))
    return Score(met, evidence={"verdicts": verdicts})


@metric(range=(0, float("inf")), version="1", source="storybench, section 4")
def distinct_words(trial: Trial) -> int:
    """Number of distinct words in the answer, 0 for an empty one; higher is better."""
    assert trial.output is not None
    return len(set(trial.output.words.split()))

"""Choice: a judge chooses the option that describes the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from mmeval.metric import metric
from mmeval.metric.judge import Choice, Question, Repeats, ReplyForm, Text, ask_verdicts
from mmeval.metrics.judged.material import NAMES, material
from mmeval.program import JudgePrompt, Program, PromptValue, Role
from mmeval.records import Score, Trial
from mmeval.system import Condition


def _values_fault(values: Mapping[str, Any] | None) -> str:
    for value in (values or {}).values():
        if type(value) not in (int, float) or not 0 <= value <= 1:
            return "a number from 0 to 1 for each option"
    return ""


@metric(range=(0, 1), version="1", source="our own, with the prompt of the same name")
def judge_choice(
    trial: Trial,
    judge: Role,
    *,
    question: str = "Which option describes the answer?",
    options: Sequence[str] | Mapping[str, Any] = (),
    options_key: str = "",
    wanted: str = "",
    wanted_key: str = "",
    values: Annotated[Mapping[str, Any] | None, Condition(_values_fault)] = None,
    show_input: bool = True,
    show_references: bool = False,
    media: bool = True,
    repeats: Repeats = 1,
    prompt: Annotated[
        PromptValue, JudgePrompt(*NAMES, "question", "options")
    ] = "judge_choice",
) -> Program[Score]:
    """1 if the judge chooses the wanted option, else 0.

    ``values`` can set other scores.

    Range 0 to 1, higher is better. ``question`` is the question about the answer. The
    options are a list of words, or a mapping from words to meanings. They come from the
    switch ``options``, or from the row's label under ``options_key``. The wanted option
    is the switch ``wanted``, or the label under ``wanted_key``. ``values`` sets the
    score of each option.

    The answer is unscored if the judge is not sure or the verdict is lost. The bounds
    are the lowest and the highest value of an option.

    The judge sees the sample's input with ``show_input``, all references with
    ``show_references``, and media unless ``media`` is false. With ``repeats`` the
    majority decides. Evidence: the choice with the judge's reason, the votes, and the
    spread (the share of votes for other options).

    In a task: ``metric_list: [{metric: judge_choice, options: [hare, owl], wanted:
    owl}]``
    """
    labels, place = trial.sample.metadata, ""
    if options_key:
        options = labels.get(options_key, ())
        place = f" under {options_key!r}"
    meanings: dict[str, str] = {}
    if isinstance(options, Mapping):
        for name, meaning in options.items():
            meanings[str(name)] = str(meaning or "")
    elif isinstance(options, list | tuple):
        meanings = dict.fromkeys(map(str, options), "")
    if len(meanings) < 2:
        return Score.unscored(f"there are fewer than two options{place}")
    if wanted_key:
        wanted = str(labels.get(wanted_key, ""))
    if values is None:
        if wanted not in meanings:
            why = f"the wanted option {wanted!r} is not one of the options"
            return Score.unscored(why)
        values = {option: option == wanted for option in meanings}
    if missing := sorted(meanings.keys() - values.keys()):
        why = f"the switch values has no value for the option {missing[0]!r}"
        return Score.unscored(why)
    choice = Choice("choice", tuple(meanings), unsure=True)
    form = ReplyForm((Text("reason"), choice))
    listed = [{"name": name, "meaning": text} for name, text in meanings.items()]
    prompt_values = material(
        trial, show_input=show_input, show_references=show_references, media=media
    )
    prompt_values |= {"question": question, "options": listed}
    questions = [Question(judge, form, prompt, prompt_values)]
    (verdict,) = yield from ask_verdicts(questions, repeats=repeats)
    if verdict.unknown("choice"):
        possible = [float(values[option]) for option in meanings]
        return verdict.unscored("choice", bounds=(min(possible), max(possible)))
    value = float(values[verdict.values["choice"]])
    return Score(value, evidence=verdict.evidence)

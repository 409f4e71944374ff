"""Judges for tests from outside: mock servers that answer each form of reply as they
are told, and UniM's judge and captioner."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from mmeval.metrics.judged.captions.captioning import NOTHING_GIVEN
from tests.support.cli import QUIET, openai
from tests.support.mock_openai_server import MockServer, Settings, State, last_text

# Judges for tests from outside: mock servers that answer each form of reply as they
# are told.

REPLIES = (
    {"met": "yes"},
    {"verdict": "yes"},
    {"grade": 4},
    {"choice": "good"},
    {"score": 4},
    {"coherence": 4, "style_consistency": 5},
    {"criteria_met": True},
)
OF_ISG = {
    '"Judge": <a number': {"Judge": 9},
    '"Judge": <"yes" or "no">': {"Judge": "Yes"},
    '"overall_score": <': {"overall_score": 8},
}
"""What it says on the levels of ISG-Bench, by words of the form."""


@contextmanager
def judge_server(
    folder: Path, says: Mapping[str, Any] | None = None, **options: Any
) -> Iterator[MockServer]:
    """A judge. ``says`` maps words of a prompt to what it replies to prompts that hold
    them; an object is the JSON of its reply. All other prompts get one of
    ``REPLIES``."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "replies.jsonl"
    own = says or {}
    usual = {**OF_ISG, **{f'"{next(iter(values))}": <': values for values in REPLIES}}
    told = [
        {"contains": words, "reply": _written(said)}
        for words, said in {**own, **usual, **own}.items()
    ]
    file.write_text("".join(f"{json.dumps(row)}\n" for row in told))
    with MockServer(replies=str(file), **options) as server:
        yield server


def _written(said: Any) -> str:
    """As models like to write: with prose around it, in a fence."""
    return (
        said
        if isinstance(said, str)
        else f"Let me see.\n```json\n{json.dumps({'reason': 'so', **said})}\n```"
    )


def judge(server: MockServer, name: str = "j", **more: str) -> tuple[str, ...]:
    """The flags that name a judge of a server."""
    arguments = ",".join(
        f"{key}={value}" for key, value in {"model": name, **more}.items()
    )
    return ("--judge", f"openai,{arguments}", "--judge_base_url", server.url)


# UniM's judge and captioner for tests from outside: one server whose replies follow
# from what it is sent alone, and that plays the model ``MODEL`` as well. A candidate
# that is the reference has grade 5, another 1 to 4 by the words that both have; an
# answer whose items are all there is coherent; a caption follows from the whole
# request.

Purpose = Literal["answer", "semantic", "coherence", "quality", "caption"]
ASKED_FOR: Mapping[str, Purpose] = {
    '"overall': "quality",
    '"score":': "semantic",
    '"coherence":': "coherence",
}
GRADE: Mapping[str, Any] = {
    "score": 4,
    "overall": 4,
    "overall_score": 75,
    "overall_score_100": 75,
}
COHERENT, LOOSE = (4, 5), (2, 3)
MODEL = "m"
_MATERIAL = re.compile(
    r"^(?P<mark>\S+) (?P<name>[a-z]+) begins[^\n]*\n(?P<text>.*?)\n?(?P=mark) "
    r"(?P=name) ends",
    re.M | re.S,
)
_WORD = re.compile(r"\w+")


class HonestState(State):
    def __init__(self, settings: Any) -> None:
        self.asked: Counter[Purpose] = Counter()
        self.media: Counter[str] = Counter()
        State.__init__(self, settings)

    def reset(self) -> None:
        State.reset(self)
        self.asked.clear()
        self.media.clear()

    def message(self, body: Mapping[str, Any], key: str) -> dict[str, Any]:
        words = last_text(body)
        purpose: Purpose = "answer" if body.get("model") == MODEL else purpose_of(words)
        self.asked[purpose] += 1
        if purpose == "answer":
            answer: dict[str, Any] = State.message(self, body, key)
            return answer
        if purpose == "caption":
            self.media[medium_of(body)] += 1
        return {"role": "assistant", "content": said(purpose, words, key)}


class HonestServer(MockServer):
    """A judge and captioner in a background thread; the keywords are those of the mock
    server."""

    state: HonestState

    def __init__(self, **settings: Any) -> None:
        MockServer.__init__(self)
        self.state = HonestState(Settings(**settings))

    def asked(self) -> dict[str, int]:
        return {str(purpose): count for purpose, count in self.state.asked.items()}


@contextmanager
def honest_server(**settings: Any) -> Iterator[HonestServer]:
    with HonestServer(**settings) as server:
        yield server


def purpose_of(words: str) -> Purpose:
    purpose: Purpose = next(
        (purpose for form, purpose in ASKED_FOR.items() if form in words), "caption"
    )
    return (
        "quality"
        if purpose == "semantic" and "reference" not in shown_in(words)
        else purpose
    )


def shown_in(words: str) -> dict[str, str]:
    return {match["name"]: match["text"] for match in _MATERIAL.finditer(words)}


def said(purpose: Purpose, words: str, key: str) -> str:
    """The reply to a prompt; ``key`` follows from the whole request, media and all."""
    if purpose == "caption":
        return f"something like {key[:4]}, {key[4:8]} and {key[8:12]}"
    if purpose == "semantic":
        material = shown_in(words)
        # the question is not to be judged
        (candidate,) = material.keys() - {"reference"}
        grade = semantic_grade(material[candidate], material["reference"])
        return json.dumps({"reason": "by its words", "score": grade})
    if purpose == "quality":
        return json.dumps({"reason": "by itself", **GRADE})
    answer = next((match["text"] for match in _MATERIAL.finditer(words)), words)
    coherence, style = LOOSE if NOTHING_GIVEN in answer else COHERENT
    return json.dumps(
        {"reason": "by its items", "coherence": coherence, "style_consistency": style}
    )


def semantic_grade(candidate: str, reference: str) -> int:
    """5 for the same words; else one grade more for each tenth of the words of both
    that they share, up to 4."""
    if candidate.strip() == reference.strip():
        return 5
    ours, theirs = (set(_WORD.findall(text.lower())) for text in (candidate, reference))
    return min(4, 1 + int(10 * len(ours & theirs) / max(1, len(ours | theirs))))


def medium_of(body: Mapping[str, Any]) -> str:
    contents = (message.get("content") for message in body.get("messages", ()))
    items = [
        item for content in contents if isinstance(content, list) for item in content
    ]
    return next((str(item["type"]) for item in items if item["type"] != "text"), "text")


def asks(
    server: MockServer, *roles: str, name: str = "j", **more: str
) -> tuple[str, ...]:
    """The flags that have a server play roles (judge and captioner); ``more`` are
    further arguments of the backend."""
    arguments = ",".join(
        f"{key}={value}"
        for key, value in {"model": name, "base_url": server.url, **more}.items()
    )
    return tuple(
        word
        for role in roles or ("judge", "captioner")
        for word in ("--role", f"{role}=openai,{arguments}")
    )


ALL_KINDS = "text+image+audio+video+document"
ANSWER = "First {letter} <<image2>>, then <<audio2>>: that makes {number}."
"""What the model says to everything, with a picture and a sound."""


def words(
    output: Path, *flags: str | Path, tasks: str = "unim_hard"
) -> list[str | Path]:
    data = () if "--data_dir" in flags else ("--data", "bundled")
    return ["--tasks", tasks, *data, "--output_path", output, *QUIET, *flags]


def model(server: MockServer, **more: str) -> list[str]:
    return openai(
        server, **{"inputs": ALL_KINDS, "outputs": "text+image+audio", **more}
    )


def judged(server: MockServer) -> tuple[str, ...]:
    """A judge and a captioner who take everything that the interface has a field
    for."""
    return asks(server, inputs="text+image+audio+video+document")

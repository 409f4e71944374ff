"""UniM's judge and captioner for tests from outside: one server whose replies follow from what it is sent alone. It
plays the model under test as well, which has the name ``MODEL`` and answers as any mock server does.

| asked for               | replies                                                                            |
|-------------------------|------------------------------------------------------------------------------------|
| `score`                 | 5 where the candidate is the reference, else 1 to 4 by the words that both have     |
| `coherence`, and style  | 4 and 5 where every item of the answer is there, 2 and 3 where one lacks            |
| a grade of one thing by itself, or an overall number | 4 of 5, or 75 of 100                   |
| anything else: a caption | words that follow from the whole request, so that equal media have equal captions |

Each kind of request is counted apart, beside the counters of the mock server.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

from mmeval.metrics.judged.captions.captioning import NOTHING_GIVEN
from tests.support.mock_openai_server import MockServer, Settings, State, last_text

Purpose = Literal["answer", "semantic", "coherence", "quality", "caption"]
ASKED_FOR: Mapping[str, Purpose] = {'"overall': "quality", '"score":': "semantic", '"coherence":': "coherence"}
"""What only the reply form of a metric has; a caption is asked for in plain words."""
GRADE: Mapping[str, Any] = {"score": 4, "overall": 4, "overall_score": 75, "overall_score_100": 75}
"""What any text, code or document is worth, by the name that a prompt asks for it."""
COHERENT, LOOSE = (4, 5), (2, 3)
"""The grades of coherence and style for an answer whose items are all there, and for any other."""
MODEL = "m"
_MATERIAL = re.compile(
    r"^(?P<mark>\S+) (?P<name>[a-z]+) begins[^\n]*\n(?P<text>.*?)\n?(?P=mark) (?P=name) ends", re.M | re.S
)
_WORD = re.compile(r"\w+")


class HonestState(State):
    """Says what is true of what it is sent."""

    def __init__(self, settings: Any) -> None:
        self.asked: Counter[Purpose] = Counter()
        """Requests by what they wanted."""
        self.media: Counter[str] = Counter()
        """Requests for captions by the field that held the medium; ``text`` without one."""
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
    """A judge and captioner in a background thread; the keywords are those of the mock server."""

    state: HonestState

    def __init__(self, **settings: Any) -> None:
        MockServer.__init__(self)
        self.state = HonestState(Settings(**settings))

    def asked(self) -> dict[str, int]:
        """Requests by what they wanted, asked again or not."""
        return {str(purpose): count for purpose, count in self.state.asked.items()}


@contextmanager
def honest_server(**settings: Any) -> Iterator[HonestServer]:
    with HonestServer(**settings) as server:
        yield server


def purpose_of(words: str) -> Purpose:
    purpose: Purpose = next((purpose for form, purpose in ASKED_FOR.items() if form in words), "caption")
    return "quality" if purpose == "semantic" and "reference" not in shown_in(words) else purpose


def shown_in(words: str) -> dict[str, str]:
    return {match["name"]: match["text"] for match in _MATERIAL.finditer(words)}


def said(purpose: Purpose, words: str, key: str) -> str:
    if purpose == "caption":
        return f"something like {key[:4]}, {key[4:8]} and {key[8:12]}"
    if purpose == "semantic":
        return json.dumps({"reason": "by its words", "score": semantic_grade(**compared(shown_in(words)))})
    if purpose == "quality":
        return json.dumps({"reason": "by itself", **GRADE})
    answer = next((match["text"] for match in _MATERIAL.finditer(words)), words)
    coherence, style = LOOSE if NOTHING_GIVEN in answer else COHERENT
    return json.dumps({"reason": "by its items", "coherence": coherence, "style_consistency": style})


def compared(material: Mapping[str, str]) -> dict[str, str]:
    (candidate,) = material.keys() - {"reference"}
    return {"candidate": material[candidate], "reference": material["reference"]}


def semantic_grade(candidate: str, reference: str) -> int:
    """5 for the same words; else one grade more for each tenth of the words of both that they share, up to 4."""
    if candidate.strip() == reference.strip():
        return 5
    ours, theirs = (set(_WORD.findall(text.lower())) for text in (candidate, reference))
    return min(4, 1 + int(10 * len(ours & theirs) / max(1, len(ours | theirs))))


def medium_of(body: Mapping[str, Any]) -> str:
    contents = (message.get("content") for message in body.get("messages", ()))
    items = [item for content in contents if isinstance(content, list) for item in content]
    return next((str(item["type"]) for item in items if item["type"] != "text"), "text")


def asks(server: MockServer, *roles: str, name: str = "j", **more: str) -> tuple[str, ...]:
    """The flags that have a server play roles; ``more`` are further arguments of the backend."""
    arguments = ",".join(f"{key}={value}" for key, value in {"model": name, "base_url": server.url, **more}.items())
    return tuple(word for role in roles or ("judge", "captioner") for word in ("--role", f"{role}=openai,{arguments}"))

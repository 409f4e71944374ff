"""Part order: does the answer have the right kinds of part in the right order?"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from mmeval.media import Interleaved, Part, PartKind
from mmeval.metric import metric
from mmeval.records import Sample, Score, Trial

LETTERS: Mapping[PartKind, str] = {
    "text": "t",
    "code": "c",
    "image": "i",
    "audio": "a",
    "video": "v",
    "document": "d",
    "3d": "3",
}

Reading = Literal["parts", "official_text"]


@metric(
    range=(0, 1),
    version="1",
    source="MMMG, tasks Image-Text Order and Audio-Text Order; official: interleaved "
    "evaluators 30c9f602",
    profiles={"official": {"reading": "official_text"}},
)
def part_order(
    trial: Trial,
    *,
    order_key: str = "order",
    orders: Sequence[str] = (),
    dangling: bool = True,
    reading: Reading = "parts",
) -> Score:
    """1 when the answer's parts come in an accepted order, else 0.

    Range 0 to 1, higher is better. An order is a word of letters, one for each part: t
    text, i image, a audio, v video, d document, c code, 3 for 3D. Neighbouring texts
    are one part, blank text is not a part, hidden reasoning is left out. The accepted
    orders are the switch ``orders``, else the sample's metadata under ``order_key`` (a
    word or a list of words), else those of the references. Unscored without any of the
    three. An empty answer is 0.

    Switches: ``dangling`` says whether a placeholder without its medium counts as a
    part; ``reading`` is ``parts`` or ``official_text`` (profile ``official``), which
    reads the answer's text as the released evaluator does, oddities included. Evidence:
    the order found (null where the official reading gives up) and those accepted.
    """
    if trial.output is None:
        return Score.unscored("there is no answer to score")
    references = list(
        dict.fromkeys(order_of(reference) for reference in trial.sample.references)
    )
    accepted = list(orders) or _labelled_orders(trial.sample, order_key) or references
    if not accepted:
        return Score.unscored(
            f"no accepted order: neither metadata {order_key!r} nor a reference"
        )
    found = _read(trial.output, reading, dangling=dangling)
    return Score(
        float(found in accepted), evidence={"found": found, "accepted": accepted}
    )


def order_of(content: Interleaved, *, dangling: bool = True) -> str:
    """The letters of the parts in order, such as ``tit``."""
    parts = (part for part in content.parts if _counts(part, dangling=dangling))
    return re.sub("t+", "t", "".join(LETTERS[part.kind] for part in parts))


def official_order(response: str) -> str | None:
    """The order as the released evaluator reads a text; None where it gives up."""
    if _stray_tokens(response):
        return None
    lead, *pieces = _MEDIUM.split(response)
    media = ["i" if kind == "image" else "a" for kind in _TOKEN.findall(response)]
    rest = (
        kind + ("t" if piece.strip() else "")
        for kind, piece in zip(media, pieces, strict=True)
    )
    return _leading_letter(lead) + "".join(rest)


_MEDIUM = re.compile(
    r"<(?:image|audio)_start><(?:image|audio)_\d+><(?:image|audio)_end>"
)
_TOKEN = re.compile(r"<(image|audio)_\d+>")


def _leading_letter(lead: str) -> str:
    """Official oddity (30c9f602): text before the first medium counts unless empty.
    A blank counts there; text after a medium must not be blank."""
    return "t" if lead else ""


def _stray_tokens(response: str) -> bool:
    """Official oddity (30c9f602): a number token in no whole placeholder is an
    error."""
    return len(_MEDIUM.split(response)) != len(_TOKEN.findall(response)) + 1


def _read(answer: Interleaved, reading: Reading, *, dangling: bool) -> str | None:
    return (
        official_order(official_text(answer))
        if reading == "official_text"
        else order_of(answer, dangling=dangling)
    )


def official_text(answer: Interleaved) -> str:
    """The answer's text; media beside it stand where they came, as in the release."""
    return "".join(
        _official_piece(part, number) for number, part in enumerate(answer.parts)
    )


def _official_piece(part: Part, number: int) -> str:
    if part.kind == "reasoning":
        return ""
    if part.raw or part.kind not in ("image", "audio"):
        return part.raw
    return f"<{part.kind}_start><{part.kind}_{number}><{part.kind}_end>"


def _counts(part: Part, *, dangling: bool) -> bool:
    if part.kind == "text":
        return bool((part.text or "").strip())
    return part.kind != "reasoning" and (dangling or not part.dangling)


def _labelled_orders(sample: Sample, key: str) -> list[str]:
    label: Any = sample.metadata.get(key) or ()
    return [label] if isinstance(label, str) else [str(order) for order in label]

"""Part order: checks if the answer has the right kinds of part in the right order."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from mmeval.media import Interleaved, PartKind
from mmeval.metric import metric
from mmeval.records import Score, Trial

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
    """1 if the answer's parts come in an accepted order, else 0.

    Range 0 to 1, higher is better. An order is a word with one letter per part: t text,
    i image, a audio, v video, d document, c code, 3 for 3D. Neighbouring texts are one
    part. Blank text and hidden reasoning are not parts. An empty answer scores 0. The
    answer is unscored without an accepted order.

    Not measured: what the parts show or say.

    Labels, for example: ``{"order": ["ti"]}``.

    Switches:

    - ``orders``: the accepted orders for all samples. By default the label is used, and
      without a label the orders of the references.
    - ``order_key``: the label with an accepted order, or with a list of orders.
    - ``dangling``: true if a placeholder without its medium counts as a part.
    - ``reading``: ``parts``, or ``official_text`` to read the answer's text like the
      released evaluator, with its oddities.

    Evidence: the order ``found`` (null if the official reading fails), and the orders
    ``accepted``.

    Example: ``mmeval try metric part_order --answer "Look: <<image1>>" --params
    '{"orders": ["ti"], "dangling": true}'`` gives 1.
    """
    if trial.output is None:
        return Score.unscored("there is no answer to score")
    accepted = list(orders)
    if not accepted:
        label: Any = trial.sample.metadata.get(order_key) or ()
        accepted = [label] if isinstance(label, str) else list(map(str, label))
    if not accepted:
        accepted = list(dict.fromkeys(map(order_of, trial.sample.references)))
    if not accepted:
        return Score.unscored(
            f"no accepted order: the row has neither {order_key!r} nor a reference"
        )
    order: str | None
    if reading == "official_text":
        order = official_order(official_text(trial.output))
    else:
        order = order_of(trial.output, dangling=dangling)
    evidence = {"found": order, "accepted": accepted}
    return Score(float(order in accepted), evidence=evidence)


def order_of(content: Interleaved, *, dangling: bool = True) -> str:
    """Returns the letters of the parts in order, such as ``tit``."""
    letters = ""
    for part in content.parts:
        if part.kind == "text":
            is_counted = bool((part.text or "").strip())
        else:
            is_counted = part.kind != "reasoning" and (dangling or not part.dangling)
        if is_counted:
            letters += LETTERS[part.kind]
    return re.sub("t+", "t", letters)


def official_order(response: str) -> str | None:
    """Reads the order in a text like the released evaluator.

    The result is None if the evaluator fails on this text.
    """
    lead, *pieces = _MEDIUM.split(response)
    kinds = _TOKEN.findall(response)
    if len(pieces) != len(kinds):
        # Official oddity (30c9f602): a number token outside a whole placeholder is an
        # error.
        return None
    # Official oddity (30c9f602): any text before the first medium counts, even a space.
    # Text after a medium must not be blank.
    order = "t" if lead else ""
    for kind, piece in zip(kinds, pieces, strict=True):
        order += "i" if kind == "image" else "a"
        if piece.strip():
            order += "t"
    return order


_MEDIUM = re.compile(
    r"<(?:image|audio)_start><(?:image|audio)_\d+><(?:image|audio)_end>"
)
_TOKEN = re.compile(r"<(image|audio)_\d+>")


def official_text(answer: Interleaved) -> str:
    """Returns the text of an answer.

    Untagged media become placeholders, as in the release.
    """
    pieces: list[str] = []
    for number, part in enumerate(answer.parts):
        if part.raw or part.kind not in ("image", "audio"):
            pieces.append("" if part.kind == "reasoning" else part.raw)
        else:
            kind = part.kind
            pieces.append(f"<{kind}_start><{kind}_{number}><{kind}_end>")
    return "".join(pieces)

"""Probes, which are the results of a handshake. Each is about one capability."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

Verdict = Literal["yes", "no", "doubtful", "unknown"]
"""The result for one capability.

- ``yes``: the reply shows the capability.
- ``no``: the reply shows that the capability is missing.
- ``doubtful``: the reply is wrong, but the model may have the capability.
- ``unknown``: the question was not asked, or it failed for another reason.
"""
_VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

Probing = Literal["off", "auto", "needed", "full"]
"""When a backend is asked what it can do.

- ``off``: never
- ``needed``: before the first calls that need it
- ``auto``: as ``needed``, but not in a run of fewer than ``FEWEST_TRIALS`` trials
- ``full``: completely
"""
FEWEST_TRIALS = 3
"""In a run with fewer trials, the questions would cost more than the answers."""
PROBINGS: tuple[Probing, ...] = get_args(Probing)

ReplyFormat = Literal["json_schema", "guided_json", "format", "json_object"]
"""How a server is asked for JSON.

- ``json_schema``: the field ``response_format`` with a schema (OpenAI, llama.cpp)
- ``guided_json``: the field of that name with a schema (vLLM)
- ``format``: the field of that name with a schema (Ollama)
- ``json_object``: JSON mode, without a schema
"""


@dataclass(frozen=True, slots=True)
class Probe:
    """The result of a handshake for one capability.

    ``capability`` is a name such as ``sees pictures`` or ``holds a seed``. ``declared``
    is True if the backend declares the capability, and None if the backend declares
    nothing about it.
    """

    capability: str
    verdict: Verdict
    evidence: str = ""
    declared: bool | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "capability": self.capability,
            "verdict": self.verdict,
            "evidence": self.evidence,
            "declared": self.declared,
        }

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Probe:
        """Reads a probe. Raises KeyError or ValueError for a row that is not a
        probe."""
        if row["verdict"] not in _VERDICTS:
            raise ValueError(f"{row['verdict']!r} is not a verdict")
        return cls(
            str(row["capability"]),
            row["verdict"],
            str(row.get("evidence", "")),
            row.get("declared"),
        )

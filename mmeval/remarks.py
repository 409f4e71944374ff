"""Remarks on answers that were given: those that the limit of tokens cut off, and those that carry warnings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from mmeval.records import Exchange, Trial

MAX_KINDS = 100
"""So many different warnings are counted each for itself; further ones count as warnings alone."""
MAX_TOLD = 3
MAX_WARNING_CHARS = 300

_DIGITS = re.compile(r"\d+")


@dataclass
class Remarks:
    """What there is to say about the answers of a run, in trials, whether asked now or kept. None of it is an error:
    the trials are scored as they are."""

    answered: int = 0
    cut_off: int = 0
    warned: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    """Trials by warning; warnings that differ by digits alone are one, under the words that came first."""
    _words: dict[str, str] = field(default_factory=dict)

    def add(self, exchanges: Sequence[Exchange]) -> None:
        """The exchanges of one trial that has an answer."""
        self.answered += 1
        self.cut_off += any(e.role == "model" and e.response.finish_reason == "length" for e in exchanges)
        if said := warnings_of(exchanges):
            self.warned += 1
            self.kinds.update({words for text in said if (words := self._known(text)) is not None})

    def told(self) -> Iterator[str]:
        """One line each, the most frequent warnings in their own words."""
        if self.cut_off:
            yield (
                f"{self._share(self.cut_off)} cut off by the limit of tokens; "
                "--gen_kwargs max_gen_toks=N sets the limit"
            )
        if self.warned:
            yield f"{self._share(self.warned)} given with warnings; --log_samples writes them beside the answers"
        for words, count in self.kinds.most_common(MAX_TOLD):
            yield f"a warning of {count:,}: {_short(words)}"

    def _known(self, text: str) -> str | None:
        shape = _DIGITS.sub("0", text)
        if shape not in self._words and len(self._words) == MAX_KINDS:
            return None
        return self._words.setdefault(shape, text)

    def _share(self, count: int) -> str:
        return f"{count:,} of {self.answered:,} answers {'was' if count == 1 else 'were'}"


def warnings_of(exchanges: Sequence[Exchange]) -> list[str]:
    """The warnings of all exchanges of a trial, once each."""
    return list(dict.fromkeys(text for exchange in exchanges for text in exchange.response.warnings))


def finish_reason(trial: Trial) -> str | None:
    """Why the model's answer ended: what cut off a part of it counts for the whole. None where there is no answer."""
    reasons = [e.response.finish_reason for e in trial.exchanges if e.role == "model"]
    cut = next((reason for reason in reasons if reason not in ("stop", "error")), None)
    return cut or ("stop" if trial.error is None else None)


def _short(text: str) -> str:
    said = " ".join(text.split())
    return said if len(said) <= MAX_WARNING_CHARS else said[:MAX_WARNING_CHARS] + "..."

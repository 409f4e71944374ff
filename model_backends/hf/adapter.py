"""The adapter contract: load a family of models, ask it, read its output as parts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar

from mmeval.backend import Capabilities
from mmeval.model_backends.hf.checkpoint.files import ModelFiles
from mmeval.model_backends.hf.settings import Settings
from mmeval.records import Request, Response


class Adapter(ABC):
    """Speaks one model protocol. Found in ``mmeval.hf_adapters`` by ``model_type``.

    Made from small files, without torch; ``load`` is called once before the first
    ``answer``, both in one thread. ``verified`` is False for an adapter that has never
    been run with a real model.
    """

    verified: ClassVar[bool] = True

    def __init__(self, files: ModelFiles, settings: Settings) -> None:
        self.files, self.settings = files, settings

    @property
    @abstractmethod
    def capabilities(self) -> Capabilities:
        """What the model takes and gives, and its options, by its small files alone."""

    @abstractmethod
    def load(self) -> None:
        """Load weights and processor. Raises MissingError or UsageError."""

    @abstractmethod
    def answer(self, requests: Sequence[Request]) -> Iterator[tuple[int, Response]]:
        """Answer rows of equal ``wants`` and ``params``: (position, response), each
        once.

        A row that cannot be asked is answered with a typed error and does not affect
        others. A raised error concerns the whole batch: the core repeats its open rows,
        in halves when memory ran out, else one by one.
        """

    def close(self) -> None:  # noqa: B027  most have nothing to give back
        """Give back what ``load`` took."""

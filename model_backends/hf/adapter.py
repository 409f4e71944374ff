"""The contract of adapters, which load and run models and convert their output."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar

from mmeval.backend import Capabilities
from mmeval.model_backends.hf.checkpoint.files import ModelFiles
from mmeval.model_backends.hf.settings import HFSettings
from mmeval.records import Request, Response


class Adapter(ABC):
    """The implementation of one model protocol.

    The entry points ``mmeval.hf_adapters`` register adapters by ``model_type``.

    An adapter is created from small files, without torch. ``load`` is called once
    before the first ``answer``, in the same thread. ``verified`` is False for an
    adapter that was never run with a real model.
    """

    verified: ClassVar[bool] = True

    def __init__(self, files: ModelFiles, settings: HFSettings) -> None:
        self.files, self.settings = files, settings

    @property
    @abstractmethod
    def capabilities(self) -> Capabilities:
        """The model's kinds and options, read from its small files only."""

    @abstractmethod
    def load(self) -> None:
        """Loads the weights and the processor. Raises MissingError or UsageError."""

    @abstractmethod
    def answer(self, requests: Sequence[Request]) -> Iterator[tuple[int, Response]]:
        """Answers requests with equal ``wants`` and ``params``.

        Yields (position, response) once for each request.

        An invalid row gets a response with a typed error and does not affect other
        rows. A raised error concerns the whole batch: the core repeats the unanswered
        rows, in halves if memory ran out, and otherwise one by one.
        """

    def close(self) -> None:  # noqa: B027  most adapters have nothing to release
        """Releases the resources that ``load`` has acquired."""

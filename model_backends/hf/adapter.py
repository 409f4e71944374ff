"""The adapter contract: how one family of models is loaded, asked, and its stream read as parts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar

from mmeval.backend import Capabilities
from mmeval.model_backends.hf.checkpoint.files import ModelFiles
from mmeval.model_backends.hf.settings import Settings
from mmeval.records import Request, Response


class Adapter(ABC):
    """Speaks one model protocol. Registered in ``mmeval.hf_adapters`` under the ``model_type`` of its models.

    Made from small files, without torch; ``load`` is called once before the first ``answer``, both in one thread.
    ``verified`` is False for what was written from the library's source and has never been run.
    """

    verified: ClassVar[bool] = True

    def __init__(self, files: ModelFiles, settings: Settings) -> None:
        self.files, self.settings = files, settings

    @property
    @abstractmethod
    def capabilities(self) -> Capabilities:
        """What the model takes and gives, and the modality options that it knows; from its small files alone."""

    @abstractmethod
    def load(self) -> None:
        """Load weights and processor. Raises MissingError or UsageError with the way out."""

    @abstractmethod
    def answer(self, requests: Sequence[Request]) -> Iterator[tuple[int, Response]]:
        """Answer rows that are equal in ``wants`` and ``params``: (position, response), each position once.

        A row that cannot be asked is answered with its typed error and harms no other. Whatever is raised concerns the
        whole batch: the core asks its open rows again, in halves when memory ran out, else one by one.
        """

    def close(self) -> None:  # noqa: B027  most have nothing to give back
        """Give back what ``load`` took."""

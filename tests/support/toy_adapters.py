"""Adapters of model families that do not exist, for tests of how adapters are found and
listed."""

from collections.abc import Iterator, Sequence

from mmeval.backend.capabilities import Capabilities
from mmeval.model_backends.hf import Adapter
from mmeval.records.request import Request
from mmeval.records.response import Response
from tests.support.toy import asked_text, reply


class Run(Adapter):
    """Speaks with toys,
    which answer in words. A list leaves this line out.
    """

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities.of(("text",), ("text",), "single")

    def load(self) -> None:
        """Toys need nothing."""

    def answer(self, requests: Sequence[Request]) -> Iterator[tuple[int, Response]]:
        for position, request in enumerate(requests):
            yield position, reply(asked_text(request).replace("question", "answer"))


class Unrun(Run):
    """Speaks with a model that does not exist."""

    verified = False

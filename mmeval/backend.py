"""The backend contract: what answers requests, what it can take and give, and who it is."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

from mmeval import plugins
from mmeval.content import PART_KINDS, PartKind
from mmeval.errors import MmevalError, UnknownNameError, UsageError
from mmeval.program import Program, Role
from mmeval.records import GenerationParams, Request, Response, Sample
from mmeval.switches import fault_of, hint_of

OutputMode = Literal["single", "exclusive", "parallel", "interleaved"]
"""``single``: one kind ever; ``exclusive``: one kind a call; ``parallel``: several kinds in a fixed order;
``interleaved``: free order and counts."""


@dataclass(frozen=True, slots=True)
class Limit:
    """How much of one kind fits into a request. None: no limit that is known."""

    max_items: int | None = None
    max_bytes: int | None = None


ANY = Limit()


@dataclass(frozen=True)
class Capabilities:
    """What a backend can read and make. A mismatch is found before a request is sent, and recorded."""

    inputs: Mapping[PartKind, Limit] = field(default_factory=lambda: {"text": ANY, "code": ANY})
    outputs: Mapping[PartKind, Limit] = field(default_factory=lambda: {"text": ANY, "code": ANY})
    output_mode: OutputMode = "single"
    declarable: frozenset[PartKind] = frozenset()
    """Kinds that it gives as well when its argument ``outputs`` says so (``outputs=text+audio``)."""
    options: frozenset[str] | None = None
    """The parameters of one modality (``image.size``) that it knows; None where nobody can say. It is never given one
    that it does not know: a user's is refused before the run, and an answer to a task file's says that it was left
    out."""

    @classmethod
    def of(cls, inputs: Sequence[str], outputs: Sequence[str], mode: OutputMode = "interleaved") -> Capabilities:
        """Capabilities by names of kinds; ``code`` travels as text, so whoever takes text takes code.

        Raises UnknownNameError for a kind that does not exist.
        """
        return cls(_limits(inputs), _limits(outputs), mode)

    def missing(self, request: Request) -> list[str]:
        """Why this backend cannot answer the request as asked; empty when it can."""
        if self._plainly_able(request):
            return []
        gaps = [f"takes no {kind}" for kind in sorted(request.kinds() - {"reasoning"}) if kind not in self.inputs]
        gaps += [f"gives no {kind}" for kind in request.wants if kind not in self.outputs]
        asked = {"text" if kind == "code" else kind for kind in request.wants}  # code travels as text
        if self.output_mode in ("single", "exclusive") and len(asked) > 1:
            gaps.append(f"gives one kind a call, {'+'.join(request.wants)} wanted{self._way_out(asked)}")
        return gaps + self._undeclared(request) + self._exceeded(request)

    def _way_out(self, asked: Set[str]) -> str:
        """How a model that makes every kind, each in a call of its own, is asked for several."""
        able = self.output_mode == "exclusive" and asked <= self.outputs.keys()
        return "; --protocol text_then_media asks for one after the other" if able else ""

    def _undeclared(self, request: Request) -> list[str]:
        """What to write where the user alone knows what the model gives."""
        more = [kind for kind in request.wants if kind not in self.outputs]
        if not more or not self.declarable.issuperset(more):
            return []
        kinds = [kind for kind in self.outputs if kind != "code"] + [kind for kind in more if kind != "code"]
        return [f"if it does, say so among its arguments: outputs={'+'.join(kinds)}"]

    def unknown_options(self, params: GenerationParams) -> list[str]:
        """The parameters of one modality that it does not know."""
        return sorted(params.options.keys() - self.options) if params.options and self.options is not None else []

    def _plainly_able(self, request: Request) -> bool:
        """The quick look at the usual request: text in, one kind out."""
        wants = request.wants
        if len(wants) != 1 or wants[0] not in self.outputs or "text" not in self.inputs:
            return False
        return all(part.kind == "text" for message in request.messages for part in message.content.parts)

    def _exceeded(self, request: Request) -> list[str]:
        counts: dict[PartKind, list[int]] = {}
        for item in request.messages:
            for part in item.content.parts:
                if part.media is not None:
                    counts.setdefault(part.kind, []).append(part.media.size if self._sized(part.kind) else 0)
        gaps = []
        for kind, sizes in counts.items():
            limit = self.inputs.get(kind, ANY)
            if limit.max_items is not None and len(sizes) > limit.max_items:
                gaps.append(f"takes at most {limit.max_items} {kind} items, {len(sizes)} given")
            if limit.max_bytes is not None and max(sizes) > limit.max_bytes:
                gaps.append(f"takes at most {limit.max_bytes} bytes of {kind}, {max(sizes)} given")
        return gaps

    def _sized(self, kind: PartKind) -> bool:
        return self.inputs.get(kind, ANY).max_bytes is not None


def _limits(kinds: Sequence[str]) -> dict[PartKind, Limit]:
    found: dict[PartKind, Limit] = {}
    for kind in kinds:
        if kind not in PART_KINDS:
            raise UnknownNameError("kind of part", kind, PART_KINDS)
        found[kind] = ANY
    if "text" in found:
        found.setdefault("code", ANY)
    return found


@runtime_checkable
class Backend(Protocol):
    """What every backend has. ``identity`` decides what may be reused (model, revision, code, dtype, settings that
    change answers); ``provenance`` is only recorded (library versions, machine)."""

    @property
    def capabilities(self) -> Capabilities: ...
    @property
    def identity(self) -> Mapping[str, Any]: ...
    @property
    def provenance(self) -> Mapping[str, Any]: ...
    async def close(self) -> None: ...


@runtime_checkable
class ModelBackend(Backend, Protocol):
    """Answers one request. A failure is a ``Response`` with an error, never an empty answer; raising is a defect that
    is recorded as an ``internal`` error."""

    async def generate(self, request: Request) -> Response: ...


@runtime_checkable
class BatchBackend(Backend, Protocol):
    """A local model: answers several requests at once, in a worker thread. The core collects what is waiting.

    Yields ``(position in requests, response)`` in any order, each position once. The requests of a batch are equal in
    ``wants`` and ``params``. Whatever it raises concerns the whole batch: its open rows are asked again, in halves when
    memory ran out, else one by one.

    There are never more than ``max_batch_size`` requests in a batch. Where fewer are usual, unless a user says
    otherwise, it may have a ``usual_batch_size`` as well.
    """

    @property
    def max_batch_size(self) -> int: ...
    def generate_batch(self, requests: Sequence[Request]) -> Iterator[tuple[int, Response]]: ...


@runtime_checkable
class Startable(Protocol):
    """A backend that loads something before it can answer, such as weights.

    ``start`` blocks. It is called once before the first request that is really sent, in the thread or the process that
    will answer, and not at all in a run that has every answer already, nor by a dry run. What it raises ends the run
    with that message and exit code, and no sample is blamed for it: MissingError for what has to be supplied,
    UsageError for arguments that cannot be used here.
    """

    def start(self) -> None: ...


@runtime_checkable
class Parallel(Protocol):
    """A batch backend that may be copied: each entry of ``workers`` holds the arguments in which one copy differs from
    this one, such as ``{"device": "cuda:1"}``. Where there are entries, the core starts a process for each, which makes
    the backend by its name, its arguments and those of its entry, and this instance is never started nor asked. A copy
    has the same identity, and no workers of its own.
    """

    @property
    def workers(self) -> Sequence[Mapping[str, Any]]: ...


@runtime_checkable
class ProgramBackend(Backend, Protocol):
    """An agent: a program over other roles answers the request."""

    def program(self, request: Request, role: Callable[[str], Role]) -> Program[Response]: ...


@runtime_checkable
class SampleBackend(Backend, Protocol):
    """Answers from the sample instead of the request: upper and lower bounds, answers made elsewhere.

    Never shared between samples, and never something to call a model.
    """

    def answer(self, task: str, sample: Sample, repeat: int, request: Request) -> Response: ...


@dataclass(frozen=True, slots=True)
class TaskAhead:
    """A task as a run is about to ask it: the samples that were chosen and can be asked, and how often each is put to
    the model."""

    name: str
    protocol: str
    repeats: int
    samples: Callable[[], Iterator[Sample]]


@runtime_checkable
class WholeAnswers(SampleBackend, Protocol):
    """A sample backend that has the whole answer of each trial already, such as those that were made elsewhere.

    A sample is put to it once, whatever protocol its task follows, and its media become the run's own. ``foresee`` is
    called before anything is asked: what is missing is said then, on the log.
    """

    def foresee(self, tasks: Sequence[TaskAhead]) -> None: ...


AnyBackend = ModelBackend | BatchBackend | ProgramBackend | SampleBackend


def workers_of(backend: object) -> Sequence[Mapping[str, Any]]:
    """The copies that a backend declares; none for one that answers in this process."""
    return tuple(backend.workers) if isinstance(backend, Parallel) and isinstance(backend, BatchBackend) else ()


def create_backend(name: str, args: Mapping[str, Any]) -> AnyBackend:
    """A backend by its plugin name and arguments.

    Raises UnknownNameError for the name or an argument, UsageError for arguments that are missing, or of another type
    than the backend declares.
    """
    _refuse_foreign(name)
    factory = plugins.load("mmeval.model_backends", name)
    signature = inspect.signature(factory)
    hints = factory.__init__ if inspect.isclass(factory) else factory
    known, takes_any = _arguments(factory)
    for arg in args:
        if arg not in known and not takes_any:
            near, hint = ((), _FLAGS_INSTEAD[arg]) if arg in _FLAGS_INSTEAD else (known, _taken(known))
            raise UnknownNameError(f"argument of the backend {name!r}", arg, near, hint)
    texts = {p.name for p in signature.parameters.values() if p.annotation in _TEXT}
    given = {arg: _text(name, arg, value) if arg in texts else value for arg, value in args.items()}
    for arg, value in given.items():
        if fault := fault_of(value, hint_of(hints, arg)):
            raise UsageError(f"the backend {name!r}: {arg} {fault}")
    try:
        signature.bind(**given)
    except TypeError as error:
        raise UsageError(
            f"the backend {name!r}: {error}; give it with --model_args NAME=VALUE, to a judge or another role as "
            f"{name},NAME=VALUE"
        ) from None
    backend: AnyBackend = factory(**given)
    return backend


def takes_argument(name: str, arg: str) -> bool:
    """Whether a backend takes an argument. One that cannot be loaded may: whoever makes it says why it cannot."""
    try:
        known, takes_any = _arguments(plugins.load("mmeval.model_backends", name))
    except MmevalError:
        return True
    return takes_any or arg in known


class _Arguments(NamedTuple):
    known: list[str]
    takes_any: bool


def _arguments(factory: Callable[..., object]) -> _Arguments:
    """The names of a backend's arguments, and whether it takes others too."""
    parameters = inspect.signature(factory).parameters.values()
    known = [p.name for p in parameters if p.kind is not p.VAR_KEYWORD]
    return _Arguments(known, len(known) < len(parameters))


_FOREIGN = frozenset(
    (
        "async_openai",
        "local_chat_completions",
        "local_completions",
        "openai_chat",
        "openai_chat_completions",
        "openai_compatible",
        "openai_completions",
        "sglang",
        "vllm",
    )
)
"""What other harnesses call a server that speaks the OpenAI interface."""

_FOREIGN_LOCAL = frozenset(("hf_auto", "hf_multimodal", "hf_causal", "huggingface", "transformers"))
"""What other harnesses call a model of the Hugging Face hub that is run on this machine."""

_FLAGS_INSTEAD = {
    "batch_size": "It is a flag of its own: --batch_size N",
    "max_batch_size": "The largest batch is a flag of its own: --batch_size N",
}
"""Arguments that other harnesses give to a backend, and what is written here."""


def _refuse_foreign(name: str) -> None:
    elsewhere = name.replace("-", "_")
    if elsewhere not in _FOREIGN | _FOREIGN_LOCAL or name in plugins.names("mmeval.model_backends"):
        return
    hint = "A server that speaks the OpenAI interface: --model openai --model_args base_url=URL,model=NAME"
    if elsewhere in _FOREIGN_LOCAL:
        hint = "A model that is run on this machine: --model hf --model_args pretrained=NAME"
    raise UnknownNameError("model backend", name, (), hint)


def _taken(arguments: Sequence[str]) -> str:
    return f"It takes: {', '.join(arguments)}." if arguments else "It takes no arguments."


_TEXT = (str, "str", str | None, "str | None")


def _text(backend: str, arg: str, value: Any) -> Any:
    """What a parameter that is annotated as text is given: ``revision=1234567`` is the text of that number.

    Raises UsageError for a fraction or a power of ten, which may have been written in another way than its value is.
    """
    if isinstance(value, float):
        raise UsageError(
            f"the backend {backend!r}: {arg} is a text and was read as the number {value}; write it in quotes, as in "
            f"{arg}='1e5'"
        )
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value

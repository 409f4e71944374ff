"""Catalogues of released prompts: ids, places and digests, without any prompt.

A catalogue is the file ``released.yaml`` beside a task file, or beside a file that it
includes:

    sources:
      trees:
        repository: OWNER/NAME
        commit: 40 hexadecimal digits
        license: MIT
    files:
      - source: trees
        path: judge.py
        sha256: digest of the file
        prompts:
          - id: trees.judge
            recipe: 'name :JUDGE_PROMPT'
            sha256: digest of the text
            replaces: [judge_trees]
    figures:
      - id: trees.task
        shown_in: figure 3 of the paper
    templates:
      - prompt: judge_trees
        ids: [trees.judge]
        fields: {'{tree}': [description]}

``license: none`` means that the repository has no licence file. ``replaces`` are the
names of the prompts that the released text can replace. ``figures`` are prompts that
no file contains. ``templates`` are the prompts of mmeval that a run can ask in the
released words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import quote

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from mmeval.system.yaml_document import Problem, read_document
from mmeval.task.file import SchemaPath, TaskFile, problem_of
from mmeval.task.released.recipe import Recipe, RecipeError

FILE = "released.yaml"
GITHUB = "https://raw.githubusercontent.com/{repository}/{commit}/{path}"

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Commit = Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]
FieldName = Annotated[str, Field(pattern=r"^[a-z_]+$")]
FieldNames = Annotated[tuple[FieldName, ...], Field(min_length=1)]
PromptId = Annotated[str, Field(pattern=r"^[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)+$")]


class _Keys(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SourceKeys(_Keys):
    """A repository. ``address`` is where its files are fetched, as a template."""

    repository: str = Field(pattern=r"^[A-Za-z0-9_-][\w.-]*/[A-Za-z0-9_-][\w.-]*$")
    commit: Commit
    license: str
    address: str = Field(default=GITHUB, pattern=r"^https?://")


class PromptKeys(_Keys):
    """A prompt in a file."""

    id: PromptId
    recipe: str
    sha256: Sha256
    replaces: tuple[str, ...] = ()

    @field_validator("recipe")
    @classmethod
    def _is_recipe(cls, written: str) -> str:
        try:
            Recipe(written)
        except RecipeError as error:
            raise ValueError(str(error)) from None
        return written


class FileKeys(_Keys):
    """A file of a source. ``commit`` is its own commit, if the source's differs.

    Without ``sha256``, only the digests of the texts are checked.
    """

    source: str
    path: str
    commit: Commit | None = None
    sha256: Sha256 | None = None
    prompts: tuple[PromptKeys, ...]


class FigureKeys(_Keys):
    """A prompt that stands in a figure only."""

    id: PromptId
    shown_in: str
    replaces: tuple[str, ...] = ()


class MessageKeys(_Keys):
    """A message of a prompt: its role with its pieces in their order.

    A piece is the id of a text, the name of a value such as a picture, or white space.
    The message is only sent if the value ``when`` is set and ``unless`` is not.
    """

    system: tuple[str, ...] = ()
    user: tuple[str, ...] = ()
    when: FieldName | None = None
    unless: FieldName | None = None

    @property
    def role(self) -> Literal["system", "user"]:
        return "system" if self.system else "user"

    @property
    def pieces(self) -> tuple[str, ...]:
        return self.system or self.user


class TextChoiceKeys(_Keys):
    """A text that depends on whether a value of our prompt is set."""

    value: FieldName
    set: PromptId
    unset: PromptId


class CallKeys(_Keys):
    """How the released script calls the model. A key that is not set is not sent.

    The parameters are defaults: those of a task's ``roles`` and of the command line
    override them. With ``content: items`` each text of a user message is an item of
    its own, even if it is the only one. In ``lines``, each item is one line, in which
    blanks replace line feeds. ``reply: share`` means that the reply's score is a share
    from 0 to 1. ``then`` is the prompt of the call that follows and reads the reply.
    ``assembled: mmeval`` means that the script which fills the texts is not released.
    """

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    image_detail: Literal["auto", "low", "high"] | None = None
    response_format: Literal["json_object"] | None = None
    content: Literal["items", "lines"] | None = None
    reply: Literal["share"] | None = None
    then: str | None = None
    assembled: Literal["mmeval"] | None = None


class UnofficialKeys(_Keys):
    """The keys of a template without the profile ``official``, if they differ.

    They leave out what is a mistake of the released script.
    """

    doubled_braces: bool | None = None
    call: CallKeys | None = None


class TemplateKeys(_Keys):
    """How released texts become a prompt of mmeval.

    ``ids`` are the texts in their order, with ``between`` between them. ``after`` are
    the values that follow the text, such as pictures. ``system`` is the text of the
    system message. In place of these four keys, ``frame`` lists the messages.
    ``fields`` maps each field of the texts to the value of our prompt. A field such as
    ``{}`` has a value for each occurrence. ``texts`` maps fields to the ids of other
    texts, which are inserted as they are. ``doubled_braces`` means that the released
    script sends doubled braces as single ones. ``call`` is how it calls the model.
    ``unofficial`` replaces keys unless the profile is ``official``.
    """

    prompt: str
    ids: tuple[PromptId, ...] = ()
    between: str = ""
    system: PromptId | None = None
    frame: tuple[MessageKeys, ...] = ()
    fields: dict[str, FieldNames] = {}
    texts: dict[str, PromptId | TextChoiceKeys] = {}
    after: tuple[FieldName, ...] = ()
    doubled_braces: bool = False
    call: CallKeys = CallKeys()
    unofficial: UnofficialKeys = UnofficialKeys()

    @model_validator(mode="after")
    def _has_one_form(self) -> TemplateKeys:
        if bool(self.ids) == bool(self.frame):
            raise ValueError("either ids or frame must list the texts")
        return self

    def in_profile(self, profile: str) -> TemplateKeys:
        """Returns the keys in a profile."""
        if profile == "official":
            return self
        changed: dict[str, Any] = {}
        if self.unofficial.doubled_braces is not None:
            changed["doubled_braces"] = self.unofficial.doubled_braces
        if self.unofficial.call is not None:
            changed["call"] = self.unofficial.call
        return self.model_copy(update=changed)

    @property
    def messages(self) -> tuple[MessageKeys, ...]:
        """The messages: ``frame``, or those that the other keys describe."""
        if self.frame:
            return self.frame
        pieces: list[str] = []
        for prompt_id in self.ids:
            if pieces and self.between:
                pieces.append(self.between)
            pieces.append(prompt_id)
        question = MessageKeys(user=(*pieces, *self.after))
        if self.system is None:
            return (question,)
        return (MessageKeys(system=(self.system,)), question)

    @property
    def values(self) -> tuple[str, ...]:
        """The names of the values that the prompt uses, apart from conditions."""
        names = [name for names in self.fields.values() for name in names]
        for message in self.messages:
            names += [piece for piece in message.pieces if is_value(piece)]
        return tuple(dict.fromkeys(names))

    @property
    def all_ids(self) -> tuple[str, ...]:
        """The ids of all texts in the prompt, the system text first."""
        ids: list[str] = []
        for message in self.messages:
            ids += [piece for piece in message.pieces if is_text(piece)]
        for text in self.texts.values():
            if isinstance(text, str):
                ids.append(text)
            else:
                ids += [text.set, text.unset]
        return tuple(dict.fromkeys(ids))


def is_text(piece: str) -> bool:
    """Returns True if a piece of a message is the id of a text."""
    return "." in piece


def is_value(piece: str) -> bool:
    """Returns True if a piece of a message is the name of a value."""
    return bool(piece.strip()) and not is_text(piece)


class CatalogueKeys(_Keys):
    """The keys of a catalogue."""

    sources: dict[str, SourceKeys]
    files: tuple[FileKeys, ...]
    figures: tuple[FigureKeys, ...] = ()
    templates: tuple[TemplateKeys, ...] = ()


@dataclass(frozen=True)
class ReleasedFile:
    """A released file with its source."""

    keys: FileKeys
    source: SourceKeys

    @property
    def commit(self) -> str:
        return self.keys.commit or self.source.commit

    @property
    def address(self) -> str:
        """The address of the file at its commit."""
        address = self.source.address.replace("{repository}", self.source.repository)
        address = address.replace("{commit}", self.commit)
        return address.replace("{path}", quote(self.keys.path))


@dataclass(frozen=True)
class Catalogue:
    """The released prompts of a benchmark."""

    files: tuple[ReleasedFile, ...]
    figures: tuple[FigureKeys, ...]
    templates: tuple[TemplateKeys, ...]

    def find(self, prompt_id: str) -> tuple[ReleasedFile, PromptKeys]:
        """Returns a prompt and its file. Raises KeyError for an unknown id."""
        for file in self.files:
            for prompt in file.keys.prompts:
                if prompt.id == prompt_id:
                    return file, prompt
        raise KeyError(prompt_id)


def catalogue_files(tasks: Iterable[TaskFile]) -> list[Path]:
    """Returns the catalogues of tasks, each once."""
    files: dict[Path, None] = {}
    for task in tasks:
        document = task.document
        for source in (document.file, *sorted(document.sources)):
            file = source.parent / FILE
            if file.is_file():
                files[file.resolve()] = None
    return list(files)


def read_catalogue(file: Path) -> Catalogue:
    """Reads a catalogue.

    Raises TaskFileError that lists all faults with their lines.
    """
    document = read_document(file)
    try:
        keys = CatalogueKeys.model_validate(document.data)
    except ValidationError as error:
        faults = error.errors(include_url=False)
        problems = [problem_of(document, dict(fault), _unknown) for fault in faults]
        raise document.errors(problems) from None
    problems = list(_problems(keys))
    if problems:
        raise document.errors(problems)
    files = [ReleasedFile(file, keys.sources[file.source]) for file in keys.files]
    return Catalogue(tuple(files), keys.figures, keys.templates)


def _unknown(path: SchemaPath) -> str:
    return f"{path[-1]} is not a key of a catalogue of released prompts"


def _problems(keys: CatalogueKeys) -> Iterator[Problem]:
    """Yields the faults that the types of the keys cannot state."""
    ids: Counter[str] = Counter()
    for position, file in enumerate(keys.files):
        if file.source not in keys.sources:
            place = ("files", position, "source")
            yield place, f"{file.source!r} is not one of the sources"
        ids.update(prompt.id for prompt in file.prompts)
    for position, template in enumerate(keys.templates):
        for name in template.all_ids:
            if name not in ids:
                yield ("templates", position, "ids"), f"no file has the id {name}"
    earlier: set[str] = set()
    for position, template in enumerate(keys.templates):
        following = template.call.then
        if following is not None and following not in earlier:
            message = f"{following!r} is not an earlier prompt of the list"
            yield ("templates", position, "call", "then"), message
        earlier.add(template.prompt)
    ids.update(figure.id for figure in keys.figures)
    for name, count in ids.items():
        if count > 1:
            yield (), f"the id {name} occurs {count} times"

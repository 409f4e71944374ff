"""Catalogues of released prompts: ids, places and digests, without any prompt.

A catalogue is the file ``released.yaml`` beside a task file, or beside a file that it
includes, or beside the module of an agent:

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
from typing import Annotated, Literal
from urllib.parse import quote

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from mmeval.program.prompt_origin import ReleasedText
from mmeval.system.yaml_document import Problem, read_document
from mmeval.task.file import SchemaPath, TaskFile, problem_of
from mmeval.task.released.recipe import Recipe, RecipeError

FILE = "released.yaml"
TEXT = "{{ text }}"
"""The place of the released texts in the user message of a template."""
GITHUB = "https://raw.githubusercontent.com/{repository}/{commit}/{path}"

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Commit = Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]
FieldName = Annotated[str, Field(pattern=r"^[a-z_]+$")]
FieldNames = Annotated[tuple[FieldName, ...], Field(min_length=1)]
PromptId = Annotated[str, Field(pattern=r"^[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*$")]


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


class TemplateKeys(_Keys):
    """How released texts become a prompt of mmeval.

    ``ids`` are the texts in their order, with ``between`` between them. ``fields`` maps
    each field of the texts to the value of our prompt. A field such as ``{}`` has a
    value for each occurrence. ``texts`` maps fields to the ids of other texts.
    ``after`` are the values that follow the text, such as pictures. ``system`` is the
    text of the system message. ``doubled_braces`` means that the released script sends
    doubled braces as single ones. ``assembled: mmeval`` means that no released script
    shows how the texts become a request.

    ``user`` is the user message around the texts, as a template of ours. It contains
    ``{{ text }}`` in the place of the texts. A template without any text asks with the
    text of the data, for which the authors released no prompt.
    """

    prompt: str
    ids: tuple[PromptId, ...] = ()
    between: str = ""
    user: str = TEXT
    system: PromptId | None = None
    fields: dict[str, FieldNames] = {}
    texts: dict[str, PromptId] = {}
    after: tuple[FieldName, ...] = ()
    doubled_braces: bool = False
    assembled: Literal["authors", "mmeval"] = "authors"

    @model_validator(mode="after")
    def _has_place(self) -> TemplateKeys:
        if self.ids and TEXT not in self.user:
            raise ValueError(f"user must contain {TEXT}")
        return self

    @property
    def all_ids(self) -> tuple[str, ...]:
        """The ids of all texts in the prompt, the system text first."""
        system = () if self.system is None else (self.system,)
        return (*system, *self.ids, *self.texts.values())


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

    def origin(self, prompt_id: str) -> ReleasedText:
        """Returns the digest and the place of a prompt. Raises KeyError."""
        file, prompt = self.find(prompt_id)
        return ReleasedText(
            id=prompt_id,
            sha256=prompt.sha256,
            source=file.source.repository,
            commit=file.commit,
            path=file.keys.path,
        )


def catalogue_files(tasks: Iterable[TaskFile]) -> list[Path]:
    """Returns the catalogues of tasks, each once."""
    files: dict[Path, None] = {}
    for task in tasks:
        files.update(dict.fromkeys(task.catalogues))
        document = task.document
        for source in (document.file, *sorted(document.sources)):
            files.update(dict.fromkeys(catalogue_beside(source.parent)))
    return list(files)


def catalogue_beside(folder: Path) -> list[Path]:
    """Returns the catalogue in a folder, or an empty list if there is none."""
    file = folder / FILE
    return [file.resolve()] if file.is_file() else []


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
    ids.update(figure.id for figure in keys.figures)
    for name, count in ids.items():
        if count > 1:
            yield (), f"the id {name} occurs {count} times"

"""One UniM record as a sample: tags, media, captions, code, and the labels that results are broken down by."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from mmeval.content import PART_KINDS, Interleaved, PartKind
from mmeval.errors import MissingDataError, UsageError
from mmeval.media import Media, path_inside
from mmeval.placeholders import Tag, find
from mmeval.records import Message, Sample
from mmeval.tasks.unim.concatenated_json import Record

FIELDS = ("natural_science", "social_science", "general_area")
DIFFICULTIES = {"1": "easy", "2": "medium", "3": "hard"}
CAPABILITY_KEYS = ("capabilities", "capability", "capability_labels")

_FIELD_ALIASES = {"general_domain": "general_area"}
_SPELLINGS = ("tag",)
_LETTERS: Mapping[PartKind, str] = {
    "image": "I",
    "video": "V",
    "audio": "A",
    "document": "D",
    "code": "C",
    "3d": "3D",
}
"""How the paper writes a modality in a combination; the order is the one in which we write them."""
_DOMAIN = re.compile(r"[a-z0-9]+(?:_[a-z0-9]+)*")
_LONGEST_PATH = 512


class Place(NamedTuple):
    """Where a record file lies: the data set's folder, and the file's folders under the record folder."""

    root: Path
    records: Path
    file: Path

    @property
    def folders(self) -> tuple[str, ...]:
        return self.file.relative_to(self.records).parent.parts


class _Names(NamedTuple):
    field: str
    domain: str


def sample_of(record: Record, place: Place) -> Sample:
    """The sample of a record, with id ``field/domain/id`` (ids repeat across domains).

    The record's own field and domain come first, the folder's names fill in. Raises UsageError naming file, line and
    record for a record that does not follow the layout, MissingDataError for a medium that is not there.
    """
    where = f"{record.where}: record {str(record.row.get('id', '?'))[:80]!r}"
    try:
        return _sample(record.row, place)
    except MissingDataError as error:
        raise MissingDataError(f"{where}: {error}") from None
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from None


def _sample(row: Mapping[str, Any], place: Place) -> Sample:
    number = row.get("id")
    if isinstance(number, bool) or not isinstance(number, str | int) or not str(number).strip():
        raise UsageError("'id' must be a word or a number")
    names = _names(row, place.folders)
    roots = _media_roots(names, place)
    question = _content(row, "input", place.root, roots)
    answer = _content(row, "output", place.root, roots)
    labels: dict[str, Any] = {
        "field": names.field,
        "domain": names.domain,
        "difficulty": _difficulty(row),
        "combination": f"{_letters(question)}->{_letters(answer)}",
        "output_modalities": ["text", *_media_kinds(answer)],
    }
    capabilities = _capabilities(row)
    if capabilities:
        labels["capabilities"] = capabilities
    return Sample(
        id=f"{names.field}/{names.domain}/{str(number).strip()}",
        input=(Message("user", question),),
        references=(answer,),
        metadata=labels,
    )


def _names(row: Mapping[str, Any], folders: Sequence[str]) -> _Names:
    """What the paper calls field and domain; the data call them ``domain`` and ``subdomain``."""
    field = _word(row.get("domain") or (folders[0] if folders else ""))
    field = _FIELD_ALIASES.get(field, field)
    if field not in FIELDS:
        raise UsageError(f"'domain' is {field[:80]!r}; it must be one of {', '.join(FIELDS)}")
    domain = _word(row.get("subdomain") or (folders[1] if len(folders) > 1 else ""))
    if not _DOMAIN.fullmatch(domain):
        raise UsageError(f"'subdomain' is {domain[:80]!r}; it must be a name such as 'computer_science'")
    return _Names(field, domain)


def _word(value: object) -> str:
    """A name in lower snake case, without the running number of a folder such as ``1_math``."""
    name = str(value).strip().lower().replace(" ", "_")
    return re.sub(r"^\d+_", "", name)


def _difficulty(row: Mapping[str, Any]) -> str:
    level = row.get("difficulty_level")
    word = DIFFICULTIES.get(str(level), str(level).lower())
    if word not in DIFFICULTIES.values():
        raise UsageError(f"'difficulty_level' is {str(level)[:80]!r}; it must be 1 (easy), 2 (medium) or 3 (hard)")
    return word


def _capabilities(row: Mapping[str, Any]) -> list[str]:
    """The labels of a record that has some: no public record shows their key, so the likely ones are read."""
    found: object = next((row[key] for key in CAPABILITY_KEYS if row.get(key)), [])
    if isinstance(found, str):
        return [found]
    return [str(item) for item in found] if isinstance(found, list | dict) else []


def _media_roots(names: _Names, place: Place) -> list[str]:
    """Where a record's media may lie, relative to the data set's folder, in the order in which they are tried."""
    own = place.file.parent.relative_to(place.root).as_posix()
    fields = (names.field, *(alias for alias, field in _FIELD_ALIASES.items() if field == names.field))
    domains = (names.domain, *place.folders[1:2])
    nested = [f"{field}/{domain}" for field in fields for domain in domains]
    return list(dict.fromkeys((own, *(f"data/{pair}" for pair in nested), ".", *nested)))


def _content(row: Mapping[str, Any], side: str, root: Path, roots: Sequence[str]) -> Interleaved:
    """The input or the output of a record: its text, woven with the media, code and captions of ``modal``."""
    block = row.get(side)
    if not isinstance(block, dict) or not isinstance(block.get("content"), str):
        raise UsageError(f"'{side}' must be an object with a text under 'content'")
    modal = block.get("modal") or {}
    if not isinstance(modal, dict):
        raise UsageError(f"'{side}.modal' must be an object that maps tags to files")
    media: dict[str, Media | str] = {}
    captions: dict[str, str] = {}
    for key, value in modal.items():
        name = f"{side}.modal.{key[:80]}"
        if not isinstance(value, str):
            raise UsageError(f"'{name}' must be a text, not a {type(value).__name__}")
        tag = _tag(key, name)
        if tag is None:
            continue
        item = value if tag.kind == "code" else _medium(value, name, root, roots)
        if item is None:
            captions[tag.label] = value
        else:
            media[tag.label] = item
    return Interleaved.from_text(_with_captions(block["content"], captions), media, spellings=_SPELLINGS)


def _tag(key: str, name: str) -> Tag | None:
    """The tag that a key of ``modal`` stands for; None for text, which has none and stands in ``content`` anyway."""
    if re.fullmatch(r"text\d*", key):
        return None
    tag = next(find(f"<{key}>", _SPELLINGS), None)
    if tag is None or tag.raw != f"<{key}>":
        raise UsageError(f"'{name}' is no tag; write a kind and a number, such as image1 or threeD2")
    return tag


def _medium(value: str, name: str, root: Path, roots: Sequence[str]) -> Media | None:
    """The file that a value names; None when the value is a caption, as in early records.

    A value with white space that is no file inside the data set is a caption: it is never opened.
    """
    spaced = any(character.isspace() for character in value)
    try:
        path = _locate(value, root, roots)
    except UsageError as error:
        if spaced:
            return None
        raise UsageError(f"'{name}': {error}") from None
    if path is not None:
        return Media.from_path(path)
    if spaced:
        return None
    if "://" in value:
        raise MissingDataError(f"'{name}' is a web address ({value[:200]}); fetch it and write its path instead")
    tried = ", ".join(roots)
    raise MissingDataError(
        f"'{name}': no file {value[:200]!r} under {root} (tried {tried}); fetch the media, or repair it"
    )


def _locate(value: str, root: Path, roots: Sequence[str]) -> Path | None:
    """The first file of that name. Raises UsageError for a path upwards, and for a link that leads out of ``root``."""
    if not value or len(value) > _LONGEST_PATH or not value.isprintable():
        return None
    if value.startswith("/") or ".." in PurePosixPath(value).parts:
        raise UsageError(f"{value!r} leads out of its folder; write a path downwards from it")
    found = next((path for folder in roots if _is_file(path := f"{folder}/{value}", root)), None)
    return None if found is None else path_inside(root, found)


def _is_file(path: str, root: Path) -> bool:
    try:
        return (root / path).is_file()
    except OSError:  # a name that this file system cannot hold
        return False


def _with_captions(content: str, captions: Mapping[str, str]) -> str:
    """The text with each captioned tag closed by its caption (``<audio1: words>``), as the published scorers write it.

    The tag still counts as one, and the model reads the words. A caption that no tag names is left out.
    """
    if not captions:
        return content
    out: list[str] = []
    at = 0
    for tag in find(content, _SPELLINGS):
        words = captions.get(tag.label)
        if words is None or tag.raw.endswith(":"):
            continue
        opening = tag.raw.rstrip("> \t")
        out.append(f"{content[at : tag.start]}{opening}: {words}{tag.raw[len(opening) :].lstrip()}")
        at = tag.end
    return "".join(out) + content[at:]


def _media_kinds(content: Interleaved) -> list[PartKind]:
    """The kinds that a text names or carries besides text, in the order of the kinds."""
    present = {part.kind for part in content.parts}
    return [kind for kind in PART_KINDS if kind in present and kind != "text"]


def _letters(content: Interleaved) -> str:
    present = {part.kind for part in content.parts}
    return "+".join(letter for kind, letter in _LETTERS.items() if kind in present) or "T"

"""Models of metrics: how a switch names one, and how it is loaded once.

    CLAP = HubModel(("config.json", "preprocessor_config.json", "model.safetensors|pytorch_model.bin"))

    @metric(range=(-1, 1), version="1", source="...", needs=("torch:hf", "transformers:hf"), batch=16)
    def likeness(trials: Sequence[Trial], *, model: Annotated[str | Mapping[str, Any], CLAP] = "owner/name"):
        network = loaded(model, _load)
        ...

    def _load(folder: Path, device: str) -> Any:
        return transformers.ClapModel.from_pretrained(folder, local_files_only=True).to(device).eval()

A user sets the switch to ``owner/name``, ``owner/name@revision``, or a folder (``./x``,
``/x``). The metric gets ``{name, revision, folder, fingerprint}``; scores depend on the
fingerprint alone, that is on the files and not on their place. A model that is not on
this machine makes the metric unavailable, which is reported before a run; only ``mmeval
prepare TASK --weights`` fetches it."""  # noqa: E501

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar, cast

from mmeval.errors import MissingDataError, MmevalError, PluginError
from mmeval.media.media import Media
from mmeval.metric.device import metric_device
from mmeval.metric.model_files import (
    NamedModel,
    fingerprint,
    missing,
    named_model,
    naming_fault,
    places,
    weights_dir_fault,
)
from mmeval.metric.model_files_error import WeightsError
from mmeval.system.arguments import Checked, FilePath
from mmeval.system.time_limit import paused

__all__ = [
    "HubModel",
    "bound_model",
    "loaded",
    "metric_device",
    "model_folder",
    "remembered_all",
]

T = TypeVar("T")
_KEYS = ("name", "revision", "folder", "fingerprint")
_LOADED: dict[Hashable, object] = {}
_UNUSABLE: dict[Hashable, WeightsError] = {}


class HubModel(FilePath, Checked):
    """Marks a switch as the name of a model, and names all files that are opened.

    With them, missing files are found without the hub.

    In ``files`` alternatives are written ``model.safetensors|pytorch_model.bin``: the
    first that exists is opened; one that ends in ``|`` is optional. ``unless`` names
    another switch that makes the model unnecessary when it is set (``"scores_file"``),
    or when it has a value (``"language=en"``). A name with a ``*`` is any number of
    files, one at least: clips that a metric compares with, which count by their names
    and sizes.

    ``by_hand`` is an instruction to the user for getting what the hub does not have;
    ``mmeval prepare`` skips it.

    Raises PluginError for a path outside of the model.
    """

    def __init__(
        self, files: Sequence[str], unless: str = "", *, by_hand: str = ""
    ) -> None:
        super().__init__(_fault)
        if not files or isinstance(files, str):
            raise PluginError(
                "a model of a metric: name every file that the metric opens, as in "
                "('config.json',)"
            )
        self.files, self.unless, self.by_hand = tuple(files), unless, by_hand
        for file in "|".join(self.files).split("|"):
            path = PurePosixPath(file)
            if ".." in path.parts or path.is_absolute():
                raise PluginError(
                    f"a model of a metric: {file!r} is not a path inside the model"
                )

    def is_needed(self, switches: Mapping[str, Any]) -> bool:
        """Whether a metric with these switches opens the model."""
        switch, _, value = self.unless.partition("=")
        if not switch:
            return True
        if value:
            return str(switches.get(switch)) != value
        return not switches.get(switch)


def _fault(value: Any) -> str:
    """What the value of such a switch must be; empty when it is right."""
    if isinstance(value, str):
        return naming_fault(value)
    if isinstance(value, Mapping):
        for key, item in value.items():
            if key not in _KEYS or not isinstance(item, str):
                return "a model: {name: owner/name, revision: ...}"
    return ""


def written_fault(value: Any) -> str:
    """What a user must write to name a model; empty when it is right. Users do not
    write what binding finds: a fingerprint not computed from files would be recorded
    with scores."""
    if isinstance(value, Mapping) and not value.keys() <= {"name", "revision"}:
        return (
            "must be owner/name, owner/name@revision, a folder such as ./model, or "
            "{name, revision}"
        )
    return ""


def bound_model(
    written: str | Mapping[str, str],
    model: HubModel,
) -> dict[str, str]:
    """The value for a metric: ``{name, revision, folder, fingerprint}``. A bound one
    stays as it is. ``revision`` is the commit where the hub's cache knows it. The
    ``fingerprint`` of a model that is not here is empty, and so is the ``folder``,
    unless it names the model."""
    if isinstance(written, Mapping) and written.get("fingerprint"):
        return {key: written.get(key, "") for key in _KEYS}
    named = named_in(written)
    blank = {
        "name": named.name,
        "revision": named.revision,
        "folder": "" if named.folder is None else str(named.folder),
        "fingerprint": "",
    }
    if not named.name:
        return blank
    try:
        for place in places(named):
            if not missing(place.folder, model.files):
                return {
                    "name": named.name,
                    "revision": place.commit,
                    "folder": str(place.folder),
                    "fingerprint": fingerprint(place.folder, model.files),
                }
    except (MmevalError, OSError):  # ``lacking`` reports it
        pass
    return blank


def lacking(written: str | Mapping[str, str], model: HubModel) -> str:
    """The files of a model that are missing or cannot be read; empty if it is usable.

    They are those at the place with the fewest.
    """
    named = named_in(written)
    if not named.name:
        return ""
    try:
        found = {}
        for place in places(named):
            found[place.folder] = missing(place.folder, model.files)
        folder = min(found, key=lambda folder: len(found[folder]))
        fewest = found[folder]
        if not fewest:  # all files exist, and yet it was not bound
            fingerprint(folder, model.files)
            return ""
        fault = weights_dir_fault()
        return ", ".join(fewest) + (f", and {fault}" if fault else "")
    except MmevalError as error:  # the library that knows the cache
        return str(error)
    except OSError as error:
        return f"a readable {error.filename or 'copy of its files'} ({error.strerror})"


def named_in(written: str | Mapping[str, str]) -> NamedModel:
    """The model that a switch names, bound or as it was written."""
    if isinstance(written, str):
        return named_model(written)
    if written.get("folder"):
        return named_model(written["folder"])
    return NamedModel(written.get("name", ""), written.get("revision", ""))


def model_folder(value: str | Mapping[str, str]) -> Path:
    """Where the files of a bound model are; raises MissingDataError if they are not."""
    if isinstance(value, Mapping) and value.get("fingerprint"):
        return Path(value["folder"])
    if not named_in(value).name:
        raise MissingDataError(
            "no model is named; set the switch to owner/name, or to a folder such as "
            "./model"
        )
    raise MissingDataError(
        f"the model {named_in(value)} is not here; run: mmeval prepare TASK --weights"
    )


def loaded(
    value: str | Mapping[str, str],
    load: Callable[[Path, str], T],
) -> T:
    """The result of ``load(folder, device)``, which is kept. It is called once in a
    process for each model, device and function. Its time does not count for the time
    limit of a trial.

    ``load`` is a function of a module (or a ``partial`` of one with values that can be
    hashed). Equal functions count as the same, even if they are different objects.
    Raises the WeightsError of ``load`` for files that give no scores, with the name of
    the model, and raises it again at each call."""
    folder, device = model_folder(value), metric_device()
    mark = value.get("fingerprint", "") if isinstance(value, Mapping) else ""
    key = (str(folder), mark, device, _identity(load))
    if key in _UNUSABLE:
        raise _UNUSABLE[key]
    if key not in _LOADED:
        with paused():
            try:
                _LOADED[key] = load(folder, device)
            except WeightsError as error:
                name = named_in(value).name if isinstance(value, str) else value["name"]
                _UNUSABLE[key] = error.of_hub(name) if "/" in name else error
                raise _UNUSABLE[key] from error
    return cast(T, _LOADED[key])


def _identity(load: Callable[..., object]) -> Hashable:
    """A key for a function, the same for two objects of the same code and values."""
    if isinstance(load, partial):
        keywords = tuple(sorted(load.keywords.items()))
        return (_identity(load.func), load.args, keywords)
    code = getattr(load, "__code__", None)
    if code is None:
        return load
    cells = getattr(load, "__closure__", None) or ()
    return (code, tuple(cell.cell_contents for cell in cells))


def remembered_all(
    media: Sequence[Media],
    key: Hashable,
    compute: Callable[[Sequence[Media]], Sequence[T]],
) -> list[T]:
    """The result of ``compute`` for each medium, kept with the medium under ``key``.

    The metrics of one trial share it. ``compute`` is called once with the media that
    have no result yet, without duplicates, and not at all when there are none; it
    returns one result for each, in order.

    ``key`` names all that the result depends on (the function, the model's fingerprint,
    its settings). A result must not be changed; an error is not kept.
    """
    known: dict[str, T] = {}
    wanted: dict[str, Media] = {}
    for medium in media:
        if key in medium.memo:
            known[medium.sha256] = cast(T, medium.memo[key])
        else:
            wanted[medium.sha256] = medium
    for sha256 in known:
        wanted.pop(sha256, None)
    if wanted:
        made = compute(list(wanted.values()))
        if len(made) != len(wanted):
            raise PluginError(
                f"{len(wanted)} media were to be worked out together, and {len(made)} "
                "results came back"
            )
        known.update(zip(wanted, made, strict=True))
    results = []
    for medium in media:
        result = medium.memo.setdefault(key, known[medium.sha256])
        results.append(cast(T, result))
    return results

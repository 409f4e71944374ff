"""Models of metrics: how a switch names one, how it is loaded once, and what it said of a medium.

    CLAP = HubModel(("config.json", "preprocessor_config.json", "model.safetensors|pytorch_model.bin"))

    @metric(range=(-1, 1), version="1", source="...", needs=("torch:hf", "transformers:hf"), batch=16)
    def likeness(trials: Sequence[Trial], *, model: Annotated[str | Mapping[str, Any], CLAP] = "owner/name"):
        network = loaded(model, _load)
        ...

    def _load(folder: Path, device: str) -> Any:
        return transformers.ClapModel.from_pretrained(folder, local_files_only=True).to(device).eval()

Who sets the switch writes ``owner/name``, ``owner/name@revision``, or a folder (``./x``, ``/x``). The metric is given
``{name, revision, folder, fingerprint}``; scores depend on the fingerprint alone: a model is its files, wherever they
lie. One that is not on this machine makes the metric unavailable, which is said before a run; only ``mmeval prepare
TASK --weights`` fetches it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar, cast

from mmeval.content.media import Media
from mmeval.errors import MissingDataError, MmevalError, PluginError
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


class HubModel(FilePath, Checked):
    """Marks a switch as the name of a model, and names every file of it that the metric opens, so that whether they are
    all there can be told without the hub.

    In ``files`` alternatives are written ``model.safetensors|pytorch_model.bin``: the first that is there is opened;
    one that ends in ``|`` need not be there. ``unless`` names another switch that makes the model unnecessary when it
    is set (``"scores_file"``), or when it has a value (``"language=en"``). What has a ``*`` stands for any number of
    files, one at least: clips that a metric compares with, which count by their names and sizes.

    ``by_hand`` says how to get what the hub does not have, as a command to the user; ``mmeval prepare`` leaves it.

    Raises PluginError for a file that cannot be meant.
    """

    def __init__(self, files: Sequence[str], unless: str = "", *, by_hand: str = "") -> None:
        super().__init__(_fault)
        if not files or isinstance(files, str):
            raise PluginError("a model of a metric: name every file that the metric opens, as in ('config.json',)")
        self.files, self.unless, self.by_hand = tuple(files), unless, by_hand
        for file in (name for item in self.files for name in item.split("|")):
            if ".." in (path := PurePosixPath(file)).parts or path.is_absolute():
                raise PluginError(f"a model of a metric: {file!r} is no path inside the model")

    def is_needed(self, switches: Mapping[str, Any]) -> bool:
        """Whether a metric with these switches opens the model."""
        switch, _, value = self.unless.partition("=")
        if not switch:
            return True
        return str(switches.get(switch)) != value if value else not switches.get(switch)


def _fault(value: Any) -> str:
    """What the value of such a switch must be; empty when it is."""
    if isinstance(value, Mapping):
        wanted = "a model: {name: owner/name, revision: ...}"
        return "" if all(key in _KEYS and isinstance(item, str) for key, item in value.items()) else wanted
    return naming_fault(value) if isinstance(value, str) else ""


def written_fault(value: Any) -> str:
    """What a user must write to name a model; empty when they did. What it was found to be is not theirs to say: a
    fingerprint that nobody took would name scores for ever."""
    is_found = isinstance(value, Mapping) and not value.keys() <= {"name", "revision"}
    return "must be owner/name, owner/name@revision, a folder such as ./model, or {name, revision}" if is_found else ""


def bound_model(written: str | Mapping[str, str], model: HubModel) -> dict[str, str]:
    """The value that a metric is given: ``{name, revision, folder, fingerprint}``. What is bound already stays.

    ``revision`` is the commit where the hub's cache knows it. Of a model that is not here the ``fingerprint`` is empty,
    and the ``folder`` too, unless it is what names the model.
    """
    if isinstance(written, Mapping) and written.get("fingerprint"):
        return {key: written.get(key, "") for key in _KEYS}
    named = named_in(written)
    of_user = str(named.folder) if named.folder is not None else ""
    blank = {"name": named.name, "revision": named.revision, "folder": of_user, "fingerprint": ""}
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
    except (MmevalError, OSError):  # told by ``lacking``
        pass
    return blank


def lacking(written: str | Mapping[str, str], model: HubModel) -> str:
    """What of a model is not on this machine, at the place that has most of it, or cannot be read there; empty when it
    can be used."""
    named = named_in(written)
    if not named.name:
        return ""
    try:
        found = {place.folder: missing(place.folder, model.files) for place in places(named)}
        folder = min(found, key=lambda folder: len(found[folder]))
        fewest = found[folder]
        if not fewest:  # all is there, and yet it was not bound
            fingerprint(folder, model.files)
        return ", ".join(fewest) + (f", and {fault}" if fewest and (fault := weights_dir_fault()) else "")
    except MmevalError as error:  # the library that knows the cache
        return str(error)
    except OSError as error:
        return f"a readable {error.filename or 'copy of its files'} ({error.strerror})"


def lacking_message(value: Mapping[str, str], lacks: str, task: str, *, switch: str = "", by_hand: str = "") -> str:
    """That a bound model is not here, and what to do. Without a ``task`` the way out is the ``switch`` that names it,
    or any task that the metric is in."""
    named = named_in(value)
    if named.folder is not None:
        return f"its model {named} lacks {lacks}; put the files there, or name another model"
    if by_hand:
        return f"{named} is not here ({lacks}); {by_hand}"
    if task:
        return f"its model {named} is not here ({lacks}); run: mmeval prepare {task} --weights"
    by_switch = f"""name a folder that holds it: --params '{{"{switch}": "./folder"}}'"""
    by_task = "or have a task that uses the metric fetch it: mmeval prepare TASK --weights"
    return f"its model {named} is not here ({lacks}); {by_switch}, {by_task}"


def named_in(written: str | Mapping[str, str]) -> NamedModel:
    """The model that a switch names, bound or as it was written."""
    if isinstance(written, str):
        return named_model(written)
    if written.get("folder"):
        return named_model(written["folder"])
    return NamedModel(written.get("name", ""), written.get("revision", ""))


def model_folder(value: str | Mapping[str, str]) -> Path:
    """Where the files of a bound model are. Raises MissingDataError where they are not."""
    if isinstance(value, Mapping) and value.get("fingerprint"):
        return Path(value["folder"])
    if not named_in(value).name:
        raise MissingDataError("no model is named; set the switch to owner/name, or to a folder such as ./model")
    raise MissingDataError(f"the model {named_in(value)} is not here; run: mmeval prepare TASK --weights")


def loaded(value: str | Mapping[str, str], load: Callable[[Path, str], T]) -> T:
    """What ``load(folder, device)`` gives, called once in a process for each model, device and function. The time that
    it takes is no trial's: the limit of a metric waits.

    ``load`` is a function of a module (or a ``partial`` of one with values that can be hashed): what it is, and not
    which object, decides whether it was called before.
    Raises WeightsError, as ``load`` did, for files that give no scores: naming the model, and each time at once.
    """
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


_LOADED: dict[Hashable, object] = {}
_UNUSABLE: dict[Hashable, WeightsError] = {}


def _identity(load: Callable[..., object]) -> Hashable:
    """What a function is: the same for two objects that one line of code has made of the same values."""
    if isinstance(load, partial):
        return (_identity(load.func), load.args, tuple(sorted(load.keywords.items())))
    code = getattr(load, "__code__", None)
    if code is None:
        return load
    cells: Iterator[Any] = (cell.cell_contents for cell in getattr(load, "__closure__", None) or ())
    return (code, tuple(cells))


def remembered_all(media: Sequence[Media], key: Hashable, compute: Callable[[Sequence[Media]], Sequence[T]]) -> list[T]:
    """What was worked out of each medium under ``key`` in this process, for as long as the medium is at hand: the
    metrics of one trial share it. ``compute`` is called with those alone of which it was not, each of the same bytes
    once, and not at all when there are none; it gives one result for each, in order.

    ``key`` names all that the result depends on (the function, the model's fingerprint, its settings). A result must
    not be changed; an error is not kept.
    """
    open_: dict[str, Media] = {one.sha256: one for one in media if key not in one.memo}
    known = {one.sha256: one.memo[key] for one in media if key in one.memo}
    wanted = [one for sha256, one in open_.items() if sha256 not in known]
    if wanted:
        made = compute(wanted)
        if len(made) != len(wanted):
            raise PluginError(f"{len(wanted)} media were to be worked out together, and {len(made)} results came back")
        known.update(zip((one.sha256 for one in wanted), made, strict=True))
    for one in media:
        one.memo.setdefault(key, known[one.sha256])
    return [cast(T, one.memo[key]) for one in media]

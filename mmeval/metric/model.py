"""Models of metrics: how a switch names a model, and how it is loaded.

    CLAP = HubModel(("config.json", "preprocessor_config.json", "model.safetensors|pytorch_model.bin"))

    @metric(range=(-1, 1), version="1", source="...", needs=("torch:hf", "transformers:hf"), batch=16)
    def likeness(trials: Sequence[Trial], *, model: Annotated[str | Mapping[str, Any], CLAP] = "owner/name"):
        network = loaded(model, _load)
        ...

    def _load(folder: Path, device: str) -> Any:
        return transformers.ClapModel.from_pretrained(folder, local_files_only=True).to(device).eval()

A user sets the switch to ``owner/name``, ``owner/name@revision``, or a folder (``./x``,
``/x``). The metric gets ``{name, revision, folder, fingerprint}``. Scores depend only
on the fingerprint, so they depend on the content of the files but not on the path of
the folder. If the model is not on this machine, the metric is unavailable. This is
reported before a run. Only ``mmeval prepare TASK --weights`` downloads the model.
"""  # noqa: E501

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
    candidate_folders,
    fingerprint,
    missing,
    named_model,
    naming_fault,
    weights_dir_fault,
)
from mmeval.metric.model_files_error import WeightsError
from mmeval.system.arguments import Condition, FilePath
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


class HubModel(FilePath, Condition):
    """Marks a switch that names a model, and states the files that the metric opens.

    ``files`` are paths in the model's folder, so that mmeval can find missing files
    without asking the hub. Alternatives are separated by ``|``, as in
    ``model.safetensors|pytorch_model.bin``. The first alternative that exists is
    opened. A trailing ``|`` makes a file optional. A name with ``*`` stands for one or
    more files, and only the names and sizes of these files are part of the fingerprint.

    ``unless`` names another switch. The model is not needed if that switch is set
    (``"scores_file"``) or has a value (``"language=en"``). ``by_hand`` tells the user
    how to get a model that is not on the hub. ``mmeval prepare`` skips such a model.

    Raises PluginError for a path outside of the model's folder.
    """

    def __init__(
        self, files: Sequence[str], unless: str = "", *, by_hand: str = ""
    ) -> None:
        super().__init__(_fault)
        if not files or isinstance(files, str):
            raise PluginError(
                "HubModel needs the name of every file that the metric opens, as in "
                "HubModel(('config.json',))"
            )
        self.files, self.unless, self.by_hand = tuple(files), unless, by_hand
        for file in "|".join(self.files).split("|"):
            path = PurePosixPath(file)
            if ".." in path.parts or path.is_absolute():
                raise PluginError(
                    f"a file of HubModel is not a path in the model's folder: {file!r}"
                )

    def is_needed(self, switches: Mapping[str, Any]) -> bool:
        """Returns True if a metric with these switches needs the model."""
        switch, _, value = self.unless.partition("=")
        if not switch:
            return True
        if value:
            return str(switches.get(switch)) != value
        return not switches.get(switch)


def _fault(value: Any) -> str:
    """Returns the fault of a value for a switch that names a model.

    The text states which values are valid.

    The string is empty if the value is valid.
    """
    if isinstance(value, str):
        return naming_fault(value)
    if isinstance(value, Mapping):
        for key, item in value.items():
            if key not in _KEYS or not isinstance(item, str):
                return "a model: {name: owner/name, revision: ...}"
    return ""


def written_fault(value: Any) -> str:
    """Returns the fault of a value by which a user names a model.

    The string is empty if the value is valid.

    A value with a fingerprint is invalid, because the fingerprint must be computed from
    the files.
    """
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
    """Returns the value for a metric: ``{name, revision, folder, fingerprint}``.

    A bound value is returned unchanged. ``revision`` is the commit if the model is in
    the hub's cache. If the model is not on this machine, ``fingerprint`` is empty.
    ``folder`` is then also empty, unless the user named the model by its folder.
    """
    if isinstance(written, Mapping) and written.get("fingerprint"):
        return {key: written.get(key, "") for key in _KEYS}
    named = named_in(written)
    unbound = {
        "name": named.name,
        "revision": named.revision,
        "folder": "" if named.folder is None else str(named.folder),
        "fingerprint": "",
    }
    if not named.name:
        return unbound
    try:
        for place in candidate_folders(named):
            if not missing(place.folder, model.files):
                return {
                    "name": named.name,
                    "revision": place.commit,
                    "folder": str(place.folder),
                    "fingerprint": fingerprint(place.folder, model.files),
                }
    except (MmevalError, OSError):  # ``missing_files`` reports the error
        pass
    return unbound


def missing_files(written: str | Mapping[str, str], model: HubModel) -> str:
    """Returns the files of a model that are missing or unreadable.

    The string is empty if the model is complete.

    If there are several folders, the folder with the fewest missing files is used.
    """
    named = named_in(written)
    if not named.name:
        return ""
    try:
        missing_by_folder = {}
        for place in candidate_folders(named):
            missing_by_folder[place.folder] = missing(place.folder, model.files)
        folder = min(missing_by_folder, key=lambda key: len(missing_by_folder[key]))
        fewest = missing_by_folder[folder]
        # All files exist. The fingerprint raises an error if one is unreadable.
        if not fewest:
            fingerprint(folder, model.files)
            return ""
        fault = weights_dir_fault()
        return ", ".join(fewest) + (f", and {fault}" if fault else "")
    except MmevalError as error:  # The library that reads the cache is missing.
        return str(error)
    except OSError as error:
        return f"a readable {error.filename or 'copy of its files'} ({error.strerror})"


def named_in(written: str | Mapping[str, str]) -> NamedModel:
    """Returns the model that the value of a switch names, bound or not."""
    if isinstance(written, str):
        return named_model(written)
    if written.get("folder"):
        return named_model(written["folder"])
    return NamedModel(written.get("name", ""), written.get("revision", ""))


def model_folder(value: str | Mapping[str, str]) -> Path:
    """Returns the folder of a bound model.

    Raises MissingDataError if the model is not on this machine.
    """
    if isinstance(value, Mapping) and value.get("fingerprint"):
        return Path(value["folder"])
    if not named_in(value).name:
        raise MissingDataError(
            "the switch for a model is empty; set it to owner/name, or to a folder "
            "such as ./model"
        )
    raise MissingDataError(
        f"the model {named_in(value)} is not on this machine; run: mmeval prepare TASK "
        "--weights"
    )


def loaded(
    value: str | Mapping[str, str],
    load: Callable[[Path, str], T],
) -> T:
    """Returns the cached result of ``load(folder, device)``.

    ``load`` is called once in a process for each model, device and function. The time
    for loading is not part of the time limit of a trial. ``load`` is a function of a
    module, or a ``partial`` of such a function with hashable values. Functions with
    equal code and values are treated as the same function.

    If ``load`` raises a WeightsError, this call and each later call raise this error
    with the name of the model.
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


def _identity(load: Callable[..., object]) -> Hashable:
    """Returns a key for a function.

    Two functions with equal code and values have equal keys.
    """
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
    """Returns the result of ``compute`` for each medium, in order.

    The results are cached with the media.

    The metrics of one trial share the results. ``compute`` is called once with the
    media that have no result under ``key`` yet, without duplicates. If all media have a
    result, it is not called. ``compute`` returns one result for each medium, in order.

    ``key`` must contain everything that a result depends on (the function, the model's
    fingerprint, its settings). Do not modify a result. Errors are not cached.
    """
    by_sha256: dict[str, T] = {}
    to_compute: dict[str, Media] = {}
    for medium in media:
        if key in medium.memo:
            by_sha256[medium.sha256] = cast(T, medium.memo[key])
        else:
            to_compute[medium.sha256] = medium
    for sha256 in by_sha256:
        to_compute.pop(sha256, None)
    if to_compute:
        computed = compute(list(to_compute.values()))
        if len(computed) != len(to_compute):
            raise PluginError(
                f"compute must return one result for each of the {len(to_compute)} "
                f"media, not {len(computed)}"
            )
        by_sha256.update(zip(to_compute, computed, strict=True))
    results = []
    for medium in media:
        result = medium.memo.setdefault(key, by_sha256[medium.sha256])
        results.append(cast(T, result))
    return results

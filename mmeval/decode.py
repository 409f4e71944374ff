"""Decoding of media, behind limits, to what a metric works on: pictures, sounds, frames, meshes, pages, text.

Whatever a model or a data set delivers is hostile until it is decoded. Every function here reads one medium, believes
neither its name nor what it declares about itself, follows no reference out of its bytes, and ends in one of

    CorruptMediaError   it cannot be decoded: which medium, and why
    MediaLimitError     it is larger than a limit: which limit, its value, what was found
    MissingExtraError   the package that decodes it is not installed: the command that installs it
    MissingDataError    its file has gone
"""

from __future__ import annotations

import contextlib
import io
import logging
import re
import time
import warnings
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

from mmeval.container_length import missing_bytes
from mmeval.errors import CorruptMediaError, MediaLimitError, MmevalError
from mmeval.extras import need
from mmeval.media import Media
from mmeval.mesh_header import declared_counts

if TYPE_CHECKING:
    import numpy as np
    import trimesh
    from PIL.Image import Image

_PICTURE_FORMATS = {
    "image/png": "PNG",
    "image/jpeg": "JPEG",
    "image/gif": "GIF",
    "image/webp": "WEBP",
    "image/bmp": "BMP",
    "image/tiff": "TIFF",
    "image/avif": "AVIF",
}
"""Raster formats whose reader stays in the process: the one for EPS, say, starts another program."""
_SOUND_FILE_MIMES = frozenset(("audio/wav", "audio/flac", "audio/ogg", "audio/mpeg", "audio/aiff"))
_AV_FORMATS = {
    "audio/mp4": "mp4",
    "audio/aac": "aac",
    "audio/flac": "flac",
    "audio/webm": "matroska",
    "video/mp4": "mp4",
    "video/quicktime": "mov",
    "video/webm": "matroska",
    "video/x-matroska": "matroska",
    "video/x-msvideo": "avi",
    "video/mpeg": "mpeg",
    "video/ogg": "ogg",
    "video/x-flv": "flv",
    "image/gif": "gif",
}
"""The reader is named, never guessed: a guess may find a playlist, and playlists open other files."""
_MESH_TYPES = {
    "model/obj": "obj",
    "model/off": "off",
    "model/ply": "ply",
    "model/stl": "stl",
    "model/gltf-binary": "glb",
}
_TEXT_MIMES = ("text/", "application/json", "model/obj", "model/mtl", "image/svg+xml")
_UNKNOWN_LENGTH = 1 << 62
"""Frames that libsndfile reports when a FLAC stream does not say how long it is; it cannot read those to the end."""
_AUDIO_BLOCK = 1 << 20
_ADDRESS = re.compile(r"<[^<>]* at 0x[0-9a-fA-F]+>")
_SEEK_SECONDS = 2.0
"""Nearer than this, decoding on is cheaper than jumping to the key frame before."""


@dataclass(frozen=True, slots=True)
class DecodeLimits:
    """How much one medium may take. Every limit is inclusive.

    ``max_seconds`` is wall time, looked at where a library can be interrupted: between blocks of sound, frames and
    pages. A picture and a mesh are decoded in one go; there the sizes bound the time.
    """

    max_bytes: int = 512 * 2**20
    max_pixels: int = 80_000_000
    """Of one picture or page."""
    max_audio_seconds: float = 3600.0
    max_audio_samples: int = 200_000_000
    """Over all channels; four bytes each once decoded."""
    max_video_frames: int = 100_000
    """Decoded, whether they are asked for or only passed on the way."""
    max_video_pixels: int = 8192 * 4352
    """Of one frame."""
    max_mesh_vertices: int = 5_000_000
    max_mesh_faces: int = 10_000_000
    max_pages: int = 500
    max_text_chars: int = 20_000_000
    max_seconds: float = 120.0


DEFAULT_LIMITS = DecodeLimits()


@dataclass(frozen=True, slots=True, eq=False)
class Audio:
    """Sound: ``samples`` are float32 of shape (n, channels) in -1..1, ``rate`` is in Hz."""

    samples: np.ndarray[Any, np.dtype[np.float32]]
    rate: int

    @property
    def seconds(self) -> float:
        return len(self.samples) / self.rate


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """One frame of a video: its place in decoding order, its time in seconds, its pixels (height, width, 3) uint8."""

    index: int
    time: float
    rgb: np.ndarray[Any, np.dtype[np.uint8]]


def image(media: Media, *, limits: DecodeLimits = DEFAULT_LIMITS) -> Image:
    """The picture, upright, as RGB or, where it has transparency, RGBA; of an animation the first frame.

    Sixteen-bit grey is scaled to eight. Raises the errors of this module.
    """
    pictures = need("PIL.Image", "image")
    data = _bytes(media, limits)
    kind = _PICTURE_FORMATS.get(media.mime)
    if kind is None:
        raise CorruptMediaError(f"{_name(media)}: it is {media.mime}, which is not decoded as a picture")
    with _decoding(media, "a picture"), _quiet():
        try:
            with pictures.open(io.BytesIO(data), formats=(kind,)) as picture:
                _within(media, "max_pixels", limits.max_pixels, picture.width * picture.height, "pixels")
                picture.load()
                return _upright(_rgb(picture))
        except pictures.DecompressionBombError as error:
            pixels = re.search("[0-9]+", str(error))
            _within(media, "max_pixels", limits.max_pixels, int(pixels[0]) if pixels else 0, "pixels")
            # Pillow's own limit, when ours is set above it.
            raise MediaLimitError(f"{_name(media)}: {error}") from None


def audio(media: Media, *, limits: DecodeLimits = DEFAULT_LIMITS) -> Audio:
    """The whole sound, at its own rate and with its own channels; the sound track where the medium is a video.

    Samples outside -1..1 (float files may hold them) are clipped. Raises the errors of this module; no samples at all,
    and samples that are no numbers, are corrupt.
    """
    numpy = need("numpy", "audio")
    data = _bytes(media, limits)
    if media.mime in _SOUND_FILE_MIMES:
        need("soundfile", "audio")
        blocks = _sound_file_blocks(media, data, limits)
    elif media.mime in _AV_FORMATS:
        blocks = _sound_track_blocks(media, data, limits)
    else:
        raise CorruptMediaError(f"{_name(media)}: it is {media.mime}, which holds no sound")
    found: list[Audio] = []
    clock, count = _Clock(media, limits), 0
    with _decoding(media, "sound"), _quiet():
        for block in blocks:
            found.append(block)
            count += len(block.samples)
            _check_audio_size(media, limits, count, block.samples.shape[1], block.rate)
            clock.check()
        if not count:
            raise CorruptMediaError(f"{_name(media)}: it holds no samples")
        samples = numpy.concatenate([block.samples for block in found]) if len(found) > 1 else found[0].samples
        if not numpy.isfinite(samples).all():
            raise CorruptMediaError(f"{_name(media)}: some of its samples are not numbers (NaN or infinite)")
        return Audio(numpy.clip(samples, -1.0, 1.0, out=samples), found[0].rate)


def video(
    media: Media, *, times: Sequence[float] | None = None, limits: DecodeLimits = DEFAULT_LIMITS
) -> Iterator[Frame]:
    """The frames, lazily: all of them, or the one on show at each of ``times`` (seconds, ascending).

    A time before the first frame gives the first, one after the last the last. A frame's ``index`` counts decoded
    frames; after a jump it continues from an estimate (time by frame rate). Raises the errors of this module, when the
    frame is reached that causes them.
    """
    need("av", "video")
    data = _bytes(media, limits)
    clock = _Clock(media, limits)
    with contextlib.closing(_video_frames(media, data, limits, times)) as frames:
        while True:
            with _decoding(media, "video"), _quiet():
                clock.check()
                frame = next(frames, None)
            if frame is None:
                return
            yield frame


@dataclass(frozen=True, slots=True)
class VideoInfo:
    """What a video declares: size in pixels, frames per second, length in seconds (0 where it does not say)."""

    width: int
    height: int
    rate: float
    seconds: float


def video_info(media: Media, *, limits: DecodeLimits = DEFAULT_LIMITS) -> VideoInfo:
    """What the container declares; no frame is decoded. Raises the errors of this module."""
    need("av", "video")
    data = _bytes(media, limits)
    with _decoding(media, "video"), _quiet(), _container(media, data) as container:
        stream = _video_stream(media, container, limits)
        length = float(stream.duration * stream.time_base) if stream.duration else (container.duration or 0) / 1e6
        return VideoInfo(stream.width, stream.height, float(stream.average_rate or 0), max(0.0, float(length)))


def mesh(media: Media, *, limits: DecodeLimits = DEFAULT_LIMITS) -> trimesh.Trimesh | trimesh.PointCloud:
    """The geometry of an obj, off, ply, stl or glb: one mesh, or a point cloud where there are no faces.

    Materials and textures are left out, references to other files are not followed, the parts of a scene are put
    together where it places them, vertices at one place are merged. Raises the errors of this module.
    """
    trimesh = need("trimesh", "3d")
    data = _bytes(media, limits)
    kind = _MESH_TYPES.get(media.mime)
    if kind is None:
        raise CorruptMediaError(f"{_name(media)}: it is {media.mime}, not one of {', '.join(_MESH_TYPES.values())}")
    with _decoding(media, "a mesh"), _quiet("trimesh"):
        declared = declared_counts(data, media.mime)
        _within(media, "max_mesh_vertices", limits.max_mesh_vertices, declared.vertices, "vertices")
        _within(media, "max_mesh_faces", limits.max_mesh_faces, declared.faces, "faces")
        plain = {"skip_materials": True} if kind in ("obj", "glb") else {}
        scene = trimesh.load_scene(io.BytesIO(data), file_type=kind, resolver={}, process=False, **plain)
        return _one_geometry(media, scene)


def pages(media: Media, *, dpi: float = 144.0, limits: DecodeLimits = DEFAULT_LIMITS) -> Iterator[Image]:
    """The pages of a PDF as RGB pictures, one at a time. Raises the errors of this module."""
    pdfium = need("pypdfium2", "doc")
    need("PIL.Image", "image")
    clock = _Clock(media, limits)
    document = _pdf(media, pdfium, limits)
    try:
        for number in range(len(document)):
            clock.check()
            with _decoding(media, f"page {number + 1}"), _quiet():
                picture = _rendered(media, document, number, dpi / 72.0, limits)
            yield picture
    finally:
        document.close()


def document_text(media: Media, *, limits: DecodeLimits = DEFAULT_LIMITS) -> str:
    """The words of a document: a PDF's text layer, pages joined by line breaks, or a text file as it is.

    Empty where a PDF has pictures of text only. Raises the errors of this module.
    """
    if media.mime == "application/pdf":
        return _pdf_text(media, limits)
    if not media.mime.startswith(_TEXT_MIMES):
        raise CorruptMediaError(f"{_name(media)}: it is {media.mime}, from which no text is read")
    with _decoding(media, "text"):
        data = _bytes(media, limits)
        encoding = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
        text = data.decode(encoding)
        _within(media, "max_text_chars", limits.max_text_chars, len(text), "characters")
        return text


# What all of them share


def _name(media: Media) -> str:
    return str(media.path or media.name or f"medium {media.sha256[:12]}")


def _bytes(media: Media, limits: DecodeLimits) -> bytes:
    _within(media, "max_bytes", limits.max_bytes, media.size, "bytes")
    data = media.read()
    if not data:
        raise CorruptMediaError(f"{_name(media)}: it is empty (0 bytes)")
    missing = missing_bytes(data, media.mime)
    if missing:
        raise CorruptMediaError(f"{_name(media)}: it is cut short, {missing} bytes are missing at its end")
    return data


def _within(media: Media, limit: str, most: float, found: float, unit: str) -> None:
    if found > most:
        raise MediaLimitError(f"{_name(media)}: {found:.15g} {unit} found, above the limit {limit} = {most:.15g}")


class _Clock:
    def __init__(self, media: Media, limits: DecodeLimits) -> None:
        self._media, self._most, self._start = media, limits.max_seconds, time.monotonic()

    def check(self) -> None:
        _within(self._media, "max_seconds", self._most, time.monotonic() - self._start, "seconds of decoding")


@contextlib.contextmanager
def _decoding(media: Media, what: str) -> Iterator[None]:
    """Whatever a decoder of hostile bytes raises becomes a typed error that names the medium."""
    try:
        yield
    except MmevalError:
        raise
    except MemoryError:
        raise MediaLimitError(f"{_name(media)}: decoding it as {what} needs more memory than there is") from None
    except Exception as error:
        raise CorruptMediaError(f"{_name(media)}: it cannot be decoded as {what} ({_reason(error)})") from error


def _reason(error: Exception) -> str:
    """The first line of what a library says, without memory addresses: the same file gives the same reason."""
    words = _ADDRESS.sub("the file", str(error)).strip().partition("\n")[0]
    return words[:300] or type(error).__name__


@contextlib.contextmanager
def _quiet(logger: str = "PIL") -> Iterator[None]:
    """No warnings and no log lines of a library: what matters of them is raised. Never held across a ``yield``."""
    log = logging.getLogger(logger)
    before = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(before)


# Pictures


def _upright(picture: Image) -> Image:
    from PIL import ImageOps

    try:
        return ImageOps.exif_transpose(picture)
    except Exception:  # a damaged orientation note: the pixels are sound
        return picture


def _rgb(picture: Image) -> Image:
    if picture.mode.startswith(("I", "F")):
        return _eight_bit(picture).convert("RGB")
    mode = "RGBA" if picture.has_transparency_data else "RGB"
    return picture.copy() if picture.mode == mode else picture.convert(mode)


def _eight_bit(picture: Image) -> Image:
    """Grey of sixteen or more bits, which Pillow would clip to white."""
    import numpy as np
    from PIL import Image as Pictures

    grey = np.asarray(picture).astype(np.float64)
    scale = 257.0 if picture.mode.startswith("I") and (picture.mode != "I" or grey.max() > 255) else 1.0
    eight = Pictures.fromarray(np.clip(np.nan_to_num(grey / scale), 0, 255).round().astype(np.uint8))
    eight.info.update(picture.info)
    return eight


# Sound


def _check_audio_size(media: Media, limits: DecodeLimits, frames: int, channels: int, rate: int) -> None:
    if rate <= 0:
        raise CorruptMediaError(f"{_name(media)}: its rate is {rate} Hz")
    _within(media, "max_audio_seconds", limits.max_audio_seconds, frames / rate, "seconds")
    _within(media, "max_audio_samples", limits.max_audio_samples, frames * channels, "samples")


def _sound_file_blocks(media: Media, data: bytes, limits: DecodeLimits) -> Iterator[Audio]:
    import soundfile

    with soundfile.SoundFile(io.BytesIO(data)) as file:
        declared = file.frames
        if declared >= _UNKNOWN_LENGTH:
            yield from _sound_track_blocks(media, data, limits)
            return
        _check_audio_size(media, limits, declared, file.channels, file.samplerate)
        count = 0
        block = max(1, _AUDIO_BLOCK // file.channels)
        while len(samples := file.read(block, dtype="float32", always_2d=True)):
            count += len(samples)
            yield Audio(samples, file.samplerate)
        if count < declared and media.mime != "audio/mpeg":  # MPEG audio only estimates its length
            raise CorruptMediaError(f"{_name(media)}: it is cut short, {count} of {declared} frames could be read")


def _sound_track_blocks(media: Media, data: bytes, limits: DecodeLimits) -> Iterator[Audio]:
    av = need("av", "video")
    with _container(media, data) as container:
        if not container.streams.audio:
            raise CorruptMediaError(f"{_name(media)}: it has no sound track")
        stream = container.streams.audio[0]
        _check_audio_size(media, limits, 0, stream.channels, stream.rate)
        resampler = av.AudioResampler(format="flt", layout=stream.layout, rate=stream.rate)
        for frame in chain(container.decode(stream), (None,)):  # None empties the resampler
            for part in resampler.resample(frame):
                yield Audio(part.to_ndarray().reshape(-1, len(part.layout.channels)), stream.rate)


# Video


def _container(media: Media, data: bytes) -> Any:
    """An opened PyAV container (untyped: the package is optional), which closes itself as a context."""
    import av

    name = _AV_FORMATS.get(media.mime)
    if name is None:
        raise CorruptMediaError(f"{_name(media)}: it is {media.mime}, not a video")
    return av.open(io.BytesIO(data), format=name, metadata_errors="replace", options={"protocol_whitelist": "none"})


def _video_stream(media: Media, container: Any, limits: DecodeLimits) -> Any:
    if not container.streams.video:
        raise CorruptMediaError(f"{_name(media)}: it has no pictures")
    stream = container.streams.video[0]
    _within(media, "max_video_pixels", limits.max_video_pixels, stream.width * stream.height, "pixels a frame")
    return stream


def _video_frames(
    media: Media, data: bytes, limits: DecodeLimits, times: Sequence[float] | None
) -> Generator[Frame, None, None]:
    with _container(media, data) as container:
        track = _Track(media, container, _video_stream(media, container, limits), limits)
        frames = track.frames() if times is None else _at_times(track, times)
        index = -1
        for index, (moment, frame) in enumerate(frames):
            yield Frame(index, moment, frame.to_ndarray(format="rgb24"))
        if index < 0 and times is None:
            raise CorruptMediaError(f"{_name(media)}: no picture in it can be decoded")


class _Track:
    """The pictures of an opened video, by their time in seconds from the first one."""

    def __init__(self, media: Media, container: Any, stream: Any, limits: DecodeLimits) -> None:
        self._media, self._container, self._stream, self._limits = media, container, stream, limits
        self._start = stream.start_time or 0
        self._decoded = 0

    def frames(self) -> Iterator[tuple[float, Any]]:
        """The frames from where the reader stands."""
        for frame in self._container.decode(self._stream):
            self._decoded += 1
            _within(self._media, "max_video_frames", self._limits.max_video_frames, self._decoded, "frames")
            _within(
                self._media,
                "max_video_pixels",
                self._limits.max_video_pixels,
                frame.width * frame.height,
                "pixels a frame",
            )
            yield self._time(frame), frame

    def jump(self, moment: float) -> Iterator[tuple[float, Any]]:
        """The frames from the last key frame before a moment on."""
        self._container.seek(self._start + int(moment / self._stream.time_base), stream=self._stream)
        return self.frames()

    def _time(self, frame: Any) -> float:
        if frame.pts is not None:
            return float((frame.pts - self._start) * (frame.time_base or self._stream.time_base))
        return (self._decoded - 1) / float(self._stream.average_rate or 25)


def _at_times(track: _Track, times: Sequence[float]) -> Iterator[tuple[float, Any]]:
    if any(later < earlier for earlier, later in pairwise(times)):
        raise ValueError("the times of frames have to ascend")
    frames = track.frames()
    shown = ahead = next(frames, None)
    for moment in times:
        if ahead is not None and moment - ahead[0] > _SEEK_SECONDS:
            frames, ahead = _resume(track, moment, ahead)
        while ahead is not None and ahead[0] <= moment:
            shown, ahead = ahead, next(frames, None)
        if shown is None:
            raise ValueError("no picture in it can be decoded")
        yield shown


def _resume(
    track: _Track, moment: float, ahead: tuple[float, Any]
) -> tuple[Iterator[tuple[float, Any]], tuple[float, Any]]:
    """Jump towards a moment where that brings the reader forward; otherwise go on from the start."""
    jumped = track.jump(moment)
    first = next(jumped, None)
    if first is not None and ahead[0] <= first[0] <= moment:
        return jumped, first
    again = track.jump(0.0)
    return again, next(again, ahead)


# Meshes


def _one_geometry(media: Media, scene: Any) -> trimesh.Trimesh | trimesh.PointCloud:
    import trimesh

    placed = [_placed(scene, node) for node in scene.graph.nodes_geometry]
    solid = [item for item in placed if isinstance(item, trimesh.Trimesh) and len(item.faces)]
    clouds = [item for item in placed if len(getattr(item, "vertices", ()))]
    if solid:
        return _solid(media, solid)
    if clouds:
        return _cloud(media, clouds)
    raise CorruptMediaError(f"{_name(media)}: it holds no vertices")


def _placed(scene: Any, node: str) -> Any:
    transform, name = scene.graph[node]
    geometry = scene.geometry[name].copy()
    geometry.apply_transform(transform)
    return geometry


def _solid(media: Media, parts: Sequence[trimesh.Trimesh]) -> trimesh.Trimesh:
    import trimesh

    for part in parts:
        _check_finite(media, part.vertices)
        if part.faces.min() < 0 or part.faces.max() >= len(part.vertices):
            raise CorruptMediaError(f"{_name(media)}: a face names a vertex that does not exist")
    whole: Any = parts[0] if len(parts) == 1 else trimesh.util.concatenate(parts)
    whole.merge_vertices()
    solid: trimesh.Trimesh = whole
    return solid


def _cloud(media: Media, parts: Sequence[Any]) -> trimesh.PointCloud:
    import numpy as np

    whole = parts[0]
    if len(parts) > 1 or not hasattr(whole, "colors"):
        whole = need("trimesh", "3d").PointCloud(np.concatenate([part.vertices for part in parts]))
    _check_finite(media, whole.vertices)
    cloud: trimesh.PointCloud = whole
    return cloud


def _check_finite(media: Media, vertices: Any) -> None:
    import numpy as np

    if not np.isfinite(vertices).all():
        raise CorruptMediaError(f"{_name(media)}: some of its vertices are not numbers (NaN or infinite)")


# Documents


def _pdf(media: Media, pdfium: Any, limits: DecodeLimits) -> Any:
    """An opened PDF (untyped: the package is optional); the caller closes it."""
    data = _bytes(media, limits)
    if media.mime != "application/pdf":
        raise CorruptMediaError(f"{_name(media)}: it is {media.mime}, not a PDF")
    with _decoding(media, "a PDF"), _quiet():
        document = pdfium.PdfDocument(data)
        try:
            _within(media, "max_pages", limits.max_pages, len(document), "pages")
            if not len(document):
                raise CorruptMediaError(f"{_name(media)}: it has no pages")
        except MmevalError:
            document.close()
            raise
        return document


def _rendered(media: Media, document: Any, number: int, scale: float, limits: DecodeLimits) -> Image:
    with contextlib.closing(document[number]) as page:
        width, height = page.get_size()
        _within(media, "max_pixels", limits.max_pixels, width * scale * height * scale, "pixels")
        with contextlib.closing(page.render(scale=scale)) as bitmap:
            picture: Image = bitmap.to_pil().convert("RGB")
            return picture.copy()


def _pdf_text(media: Media, limits: DecodeLimits) -> str:
    pdfium = need("pypdfium2", "doc")
    clock = _Clock(media, limits)
    words: list[str] = []
    count = 0
    with contextlib.closing(_pdf(media, pdfium, limits)) as document, _decoding(media, "text"), _quiet():
        for number in range(len(document)):
            clock.check()
            with contextlib.closing(document[number]) as page, contextlib.closing(page.get_textpage()) as text:
                words.append(text.get_text_bounded())
            count += len(words[-1])
            _within(media, "max_text_chars", limits.max_text_chars, count, "characters")
    return "\n".join(words)

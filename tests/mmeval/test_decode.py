from __future__ import annotations

import struct
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import trimesh
from PIL import Image

from mmeval import decode
from mmeval.decode import DecodeLimits
from mmeval.errors import CorruptMediaError, MediaLimitError, MissingDataError, MissingExtraError
from mmeval.media import Media
from tests.support import tiny_media as tiny


def medium(data: bytes, name: str = "") -> Media:
    return Media.from_bytes(data, name)


def every_frame(media: Media, *, limits: DecodeLimits = decode.DEFAULT_LIMITS) -> int:
    return len(list(decode.video(media, limits=limits)))


def every_page(media: Media, *, limits: DecodeLimits = decode.DEFAULT_LIMITS) -> int:
    return len(list(decode.pages(media, limits=limits)))


DECODERS: dict[str, Callable[..., object]] = {
    "image": decode.image,
    "audio": decode.audio,
    "video": every_frame,
    "video_info": decode.video_info,
    "mesh": decode.mesh,
    "pages": every_page,
}


# Pictures


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF"])
def test_a_picture_of_every_common_format_is_decoded(form: str) -> None:
    picture = decode.image(medium(tiny.picture(form)))
    assert (picture.mode, picture.size) == ("RGB", (8, 4))


@pytest.mark.parametrize(
    ("mode", "colour", "expected"),
    [
        ("L", 9, (9, 9, 9)),
        ("LA", (9, 5), (9, 9, 9, 5)),
        ("RGBA", (1, 2, 3, 4), (1, 2, 3, 4)),
        ("1", 1, (255, 255, 255)),
        ("I;16", 40000, (156, 156, 156)),
    ],
    ids=["grey", "grey and alpha", "alpha", "bits", "sixteen bits"],
)
def test_a_picture_becomes_rgb_and_keeps_its_transparency(mode: str, colour: object, expected: tuple[int, ...]) -> None:
    picture = decode.image(medium(tiny.picture(mode=mode, colour=colour)))
    assert picture.getpixel((0, 0)) == expected


def test_a_palette_with_a_transparent_colour_becomes_rgba() -> None:
    assert decode.image(medium(tiny.picture(mode="P", transparency=0))).mode == "RGBA"


def test_a_picture_lying_on_its_side_is_turned_upright() -> None:
    note = Image.Exif()
    note[0x112] = 6
    assert decode.image(medium(tiny.picture("JPEG", exif=note))).size == (4, 8)


@pytest.mark.parametrize("side", [9_000, 20_000, 2**31 - 1])
def test_a_picture_that_declares_too_many_pixels_is_refused_before_it_is_decoded(side: int) -> None:
    before = Image.MAX_IMAGE_PIXELS
    with pytest.raises(MediaLimitError, match=r"pixels found, above the limit max_pixels = 80000000"):
        decode.image(medium(tiny.declared_png(side, side)))
    assert before == Image.MAX_IMAGE_PIXELS


def test_the_pixel_limit_is_inclusive() -> None:
    assert decode.image(medium(tiny.picture()), limits=DecodeLimits(max_pixels=32)).size == (8, 4)
    with pytest.raises(MediaLimitError, match="32 pixels"):
        decode.image(medium(tiny.picture()), limits=DecodeLimits(max_pixels=31))


def test_a_wrong_file_name_does_not_matter() -> None:
    assert decode.image(medium(tiny.picture("PNG"), "photo.wav")).size == (8, 4)


# Sound


@pytest.mark.parametrize(
    ("form", "subtype"),
    [("WAV", None), ("FLAC", None), ("MP3", None), ("OGG", "VORBIS"), ("OGG", "OPUS"), ("AIFF", None)],
)
def test_sound_of_every_common_format_is_decoded(form: str, subtype: str | None) -> None:
    sound = decode.audio(medium(tiny.sound(form, subtype)))
    assert (str(sound.samples.dtype), sound.samples.shape, sound.rate) == ("float32", (9600, 1), 48000)


def test_channels_and_values_are_kept() -> None:
    sound = decode.audio(medium(tiny.wav(800, channels=2)))
    assert sound.samples.shape == (800, 2)
    assert sound.seconds == 0.1
    assert np.all(sound.samples == 0.5)


def test_loud_float_samples_are_clipped() -> None:
    assert decode.audio(medium(tiny.sound("WAV", "FLOAT", value=3.0))).samples.max() == 1.0


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_samples_that_are_no_numbers_are_corrupt(value: float) -> None:
    with pytest.raises(CorruptMediaError, match="not numbers"):
        decode.audio(medium(tiny.sound("WAV", "FLOAT", value=value)))


def test_sound_without_samples_is_corrupt() -> None:
    with pytest.raises(CorruptMediaError, match="no samples"):
        decode.audio(medium(tiny.wav(0)))


def test_the_sound_track_of_a_video_is_decoded() -> None:
    sound = decode.audio(medium(tiny.clip(with_sound=True)))
    assert (sound.rate, sound.samples.shape[1]) == (16000, 2)


def test_a_video_without_sound_has_no_audio() -> None:
    with pytest.raises(CorruptMediaError, match="no sound track"):
        decode.audio(medium(tiny.clip()))


def test_sound_that_declares_hours_is_refused_from_its_header() -> None:
    flac = bytearray(tiny.sound("FLAC"))
    flac[21] |= 0x0F
    flac[22:26] = b"\xff\xff\xff\xff"
    with pytest.raises(MediaLimitError, match="max_audio_seconds = 3600"):
        decode.audio(medium(bytes(flac)))


def test_a_stream_of_undeclared_length_is_read_to_its_end() -> None:
    flac = bytearray(tiny.sound("FLAC"))
    flac[21] &= 0xF0
    flac[22:26] = bytes(4)
    assert len(decode.audio(medium(bytes(flac))).samples) == 9600


def test_a_streamed_wav_with_open_sizes_is_read_to_its_end() -> None:
    streamed = bytearray(tiny.wav())
    streamed[4:8] = streamed[40:44] = b"\xff\xff\xff\xff"
    assert len(decode.audio(medium(bytes(streamed))).samples) == 800


@pytest.mark.parametrize(
    "limits", [DecodeLimits(max_audio_seconds=0.09), DecodeLimits(max_audio_samples=799), DecodeLimits(max_bytes=100)]
)
def test_sound_above_a_limit_is_refused(limits: DecodeLimits) -> None:
    with pytest.raises(MediaLimitError, match="above the limit max_"):
        decode.audio(medium(tiny.wav(800)), limits=limits)


# Video


@pytest.mark.parametrize(("form", "codec"), [("mp4", "mpeg4"), ("webm", "libvpx-vp9"), ("avi", "mpeg4")])
def test_all_frames_of_a_video_come_in_order_with_their_times(form: str, codec: str) -> None:
    frames = list(decode.video(medium(tiny.clip(form, codec))))
    assert [frame.index for frame in frames] == list(range(20))
    assert [frame.time for frame in frames] == pytest.approx([n / 10 for n in range(20)], abs=0.002)
    assert frames[0].rgb.shape == (16, 32, 3)
    assert frames[0].rgb.mean() < frames[19].rgb.mean()


def test_frames_are_found_by_time() -> None:
    frames = list(decode.video(medium(tiny.clip(frames=80)), times=[-1.0, 0.0, 0.55, 0.55, 6.21, 100.0]))
    assert [frame.time for frame in frames] == pytest.approx([0.0, 0.0, 0.5, 0.5, 6.2, 7.9])


def test_a_jump_finds_the_same_frame_as_reading_on() -> None:
    media = medium(tiny.clip(frames=80))
    straight = list(decode.video(media))
    (jumped,) = decode.video(media, times=[5.0])
    assert np.array_equal(jumped.rgb, straight[50].rgb)


def test_frames_are_decoded_only_as_far_as_they_are_asked_for() -> None:
    frames = decode.video(medium(tiny.clip()), limits=DecodeLimits(max_video_frames=3))
    assert [next(frames).index for _ in range(3)] == [0, 1, 2]
    with pytest.raises(MediaLimitError, match="max_video_frames = 3"):
        next(frames)


@pytest.mark.parametrize("limits", [DecodeLimits(max_video_pixels=511), DecodeLimits(max_seconds=0.0)])
def test_a_video_above_a_limit_is_refused(limits: DecodeLimits) -> None:
    with pytest.raises(MediaLimitError, match="above the limit"):
        every_frame(medium(tiny.clip()), limits=limits)


def test_a_video_declares_its_size_rate_and_length() -> None:
    info = decode.video_info(medium(tiny.clip()))
    assert (info.width, info.height, info.rate, info.seconds) == (32, 16, 10.0, 2.0)


def test_a_playlist_is_never_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.mp4").write_bytes(tiny.clip())
    playlist = f"#EXTM3U\n#EXTINF:1,\nfile://{tmp_path}/secret.mp4\n#EXT-X-ENDLIST\n".encode()
    with pytest.raises(CorruptMediaError):
        every_frame(Media(data=playlist, mime="video/x-msvideo"))


# Meshes


@pytest.mark.parametrize(
    "data",
    [tiny.PLAIN_OBJ, tiny.PLAIN_OFF, tiny.PLAIN_PLY, tiny.PLAIN_STL, tiny.binary_stl(), tiny.glb()],
    ids=["obj", "off", "ply", "stl", "binary stl", "glb"],
)
def test_a_mesh_of_every_format_is_decoded(data: bytes) -> None:
    mesh = decode.mesh(medium(data))
    assert isinstance(mesh, trimesh.Trimesh)
    assert (mesh.vertices.shape, mesh.faces.shape) == ((3, 3), (1, 3))


def test_points_without_faces_are_a_cloud() -> None:
    cloud = decode.mesh(medium(tiny.CLOUD_PLY))
    assert isinstance(cloud, trimesh.PointCloud)
    assert cloud.vertices.shape == (3, 3)


def test_the_parts_of_a_scene_stand_where_it_places_them() -> None:
    nodes = [{"mesh": 0}, {"mesh": 0, "translation": [5, 0, 0]}]
    mesh = decode.mesh(medium(tiny.glb(nodes=nodes, scenes=[{"nodes": [0, 1]}])))
    assert mesh.bounds.tolist() == [[0, 0, 0], [6, 1, 0]]


def test_vertices_at_one_place_are_merged() -> None:
    assert decode.mesh(medium(tiny.binary_stl(4))).vertices.shape == (3, 3)


@pytest.mark.parametrize(
    "data",
    [
        b"mtllib /etc/hostname\nusemtl a\n" + tiny.PLAIN_OBJ,
        tiny.PLAIN_PLY.replace(b"element vertex", b"comment TextureFile /etc/hostname\nelement vertex"),
        tiny.glb(images=[{"uri": "/etc/hostname"}]),
    ],
    ids=["obj", "ply", "glb"],
)
def test_materials_in_other_files_are_left_alone(data: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    assert isinstance(decode.mesh(medium(data)), trimesh.Trimesh)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (tiny.glb(buffers=[{"byteLength": 36, "uri": "/etc/hostname"}]), "another file"),
        (tiny.glb(nodes=[{"mesh": 0, "children": [0]}]), "do not form a tree"),
        (tiny.glb(accessors=[{"componentType": 5126, "count": -4, "type": "VEC3"}]), "no number of items"),
        (tiny.glb(blob=struct.pack("<9f", *[float("nan")] * 9)), "not numbers"),
        (b"OFF\n999999999 5 0\n0 0 0\n", "are declared in 24 bytes"),
        (tiny.PLAIN_PLY.replace(b"vertex 3", b"vertex 99999999999"), "are declared in"),
        (tiny.PLAIN_OBJ.replace(b"f 1 2 3", b"f 1 2 9"), "index 8"),
        (tiny.PLAIN_OFF.replace(b"3 0 1 2", b"3 0 1 7"), "outside the range"),
    ],
    ids=["outside", "circle", "negative", "nan", "huge off", "huge ply", "obj face", "off face"],
)
def test_a_damaged_mesh_says_what_is_wrong(data: bytes, words: str) -> None:
    with pytest.raises(CorruptMediaError, match=words):
        decode.mesh(medium(data))


@pytest.mark.parametrize(
    "data",
    [
        tiny.glb(accessors=[{"componentType": 5126, "count": 4_000_000_000, "type": "VEC3"}]),
        tiny.glb(nodes=[{"mesh": 0}] * 5, scenes=[{"nodes": [0, 1, 2, 3, 4]}]),
        tiny.binary_stl(5),
    ],
    ids=["declared", "instances", "triangles"],
)
def test_a_mesh_above_a_limit_is_refused_before_it_is_built(data: bytes) -> None:
    with pytest.raises(MediaLimitError, match="vertices found, above the limit max_mesh_vertices = 12"):
        decode.mesh(medium(data), limits=DecodeLimits(max_mesh_vertices=12))


# Documents


def test_pages_are_rendered_at_the_resolution_asked_for() -> None:
    (page,) = decode.pages(medium(tiny.pdf()), dpi=144)
    assert (page.mode, page.size) == ("RGB", (400, 200))
    assert page.getextrema()[0] == (0, 255)


def test_the_text_of_a_pdf_is_read_page_by_page() -> None:
    assert decode.document_text(medium(tiny.pdf("Hello", pages=2))) == "Hello\nHello"


@pytest.mark.parametrize(
    ("data", "name"),
    [("ä,1".encode(), "a.csv"), ("ä,1".encode("utf-16"), "a.txt"), (b"\xef\xbb\xbf\xc3\xa4,1", "a.md")],
)
def test_text_files_are_read_in_their_encoding(data: bytes, name: str) -> None:
    assert decode.document_text(medium(data, name)) == "ä,1"


@pytest.mark.parametrize(
    ("data", "limits"),
    [
        (tiny.pdf(pages=3), DecodeLimits(max_pages=2)),
        (tiny.pdf(size=(1_000_000, 1_000_000)), DecodeLimits()),
        (tiny.pdf(), DecodeLimits(max_seconds=0.0)),
    ],
    ids=["pages", "pixels", "seconds"],
)
def test_pages_above_a_limit_are_refused(data: bytes, limits: DecodeLimits) -> None:
    with pytest.raises(MediaLimitError, match="above the limit max_"):
        every_page(medium(data), limits=limits)


def test_text_above_the_limit_is_refused() -> None:
    with pytest.raises(MediaLimitError, match="5 characters found, above the limit max_text_chars = 4"):
        decode.document_text(medium(b"words"), limits=DecodeLimits(max_text_chars=4))


# What all of them refuse

SOUND_FILES = [("WAV", None), ("FLAC", None), ("OGG", "VORBIS"), ("OGG", "OPUS"), ("AIFF", None), ("MP3", None)]
WHOLE = {
    "png": ("image", tiny.picture("PNG", size=(64, 64))),
    "jpeg": ("image", tiny.picture("JPEG")),
    "webp": ("image", tiny.picture("WEBP")),
    **{f"{form} {subtype}": ("audio", tiny.sound(form, subtype)) for form, subtype in SOUND_FILES},
    "mp4": ("video", tiny.clip()),
    "webm": ("video", tiny.clip("webm", "libvpx-vp9")),
    "avi": ("video", tiny.clip("avi")),
    "off": ("mesh", tiny.PLAIN_OFF),
    "ply": ("mesh", tiny.PLAIN_PLY),
    "binary stl": ("mesh", tiny.binary_stl(2)),
    "glb": ("mesh", tiny.glb()),
    "pdf": ("pages", tiny.pdf()),
}


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("share", [0.1, 0.5])
def test_a_file_cut_short_is_corrupt_and_no_library_chatters(
    name: str, share: float, capfd: pytest.CaptureFixture[str]
) -> None:
    what, whole = WHOLE[name]
    half = Media(data=whole[: int(len(whole) * share)], mime=medium(whole).mime, name="half")
    with pytest.raises(CorruptMediaError, match=r"^half: it "):
        DECODERS[what](half)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", WHOLE)
def test_noise_behind_a_whole_header_ends_quickly_in_a_typed_error_or_a_result(name: str) -> None:
    what, whole = WHOLE[name]
    noise = np.random.default_rng(7).bytes(len(whole))
    start = time.monotonic()
    for cut in (12, len(whole) // 4, len(whole) // 2):
        try:
            DECODERS[what](Media(data=whole[:cut] + noise[cut:], mime=medium(whole).mime))
        except (CorruptMediaError, MediaLimitError) as error:
            assert " at 0x" not in str(error)
    assert time.monotonic() - start < 5.0


@pytest.mark.parametrize("what", DECODERS)
def test_an_empty_file_is_corrupt(what: str) -> None:
    with pytest.raises(CorruptMediaError, match="empty"):
        DECODERS[what](medium(b"", "a.bin"))


@pytest.mark.parametrize("what", DECODERS)
def test_content_of_another_kind_is_named(what: str) -> None:
    with pytest.raises(CorruptMediaError, match="it is text/plain"):
        DECODERS[what](medium(b"plain words", "photo.png"))


def test_a_file_above_the_byte_limit_is_not_read(tmp_path: Path) -> None:
    big = tmp_path / "big.png"
    with big.open("wb") as file:
        file.truncate(2**31)  # of nothing: it takes no room on the disk
    with pytest.raises(MediaLimitError, match=r"big\.png: 2147483648 bytes found, above the limit max_bytes"):
        decode.image(Media.from_path(big))


def test_a_file_that_has_gone_is_missing(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(tiny.picture())
    media = Media.from_path(tmp_path / "a.png")
    (tmp_path / "a.png").unlink()
    with pytest.raises(MissingDataError, match="gone"):
        decode.image(media)


@pytest.mark.parametrize(
    ("what", "package", "extra"),
    [("image", "PIL", "image"), ("video", "av", "video"), ("mesh", "trimesh", "3d"), ("pages", "pypdfium2", "doc")],
)
def test_a_package_that_is_not_installed_is_named_with_its_extra(
    what: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.import_module", _without(package))
    with pytest.raises(MissingExtraError, match=rf'pip install "mmeval\[{extra}\]"'):
        DECODERS[what](medium(tiny.picture()))


def _without(package: str) -> Callable[[str], object]:
    def find(name: str) -> object:
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)

    return find

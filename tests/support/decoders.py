"""Every decoder by name, the lazy ones read to their end."""

from collections.abc import Callable

from mmeval.media import decode
from mmeval.media.decode import DEFAULT_LIMITS, DecodeLimits
from mmeval.media.media import Media


def every_frame(media: Media, *, limits: DecodeLimits = DEFAULT_LIMITS) -> int:
    # none is kept: a metric that keeps them pays for them
    return sum(1 for _ in decode.video(media, limits=limits))


def every_page(media: Media, *, limits: DecodeLimits = DEFAULT_LIMITS) -> int:
    return sum(1 for _ in decode.pages(media, limits=limits))


def every_face(media: Media, *, limits: DecodeLimits = DEFAULT_LIMITS) -> object:
    """The corners of every face, each way in which a mesh is decoded."""
    for mesh in (
        decode.mesh_arrays(media, limits=limits),
        decode.raw_mesh_arrays(media, limits=limits),
    ):
        corners = mesh.vertices[mesh.faces]
    return corners


DECODERS: dict[str, Callable[..., object]] = {
    **{
        "image": decode.image,
        "audio": decode.audio,
        "video": every_frame,
        "video_info": decode.video_info,
    },
    **{"mesh": every_face, "pages": every_page},
}

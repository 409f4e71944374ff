"""Renders a mesh or a point cloud as one picture with three views.

The views are orthogonal squares side by side: along z (x to the right, y up), along y
(x to the right, z up), and along x (y to the right, z up). No view is mirrored. The
colour shows the depth, from dark blue (far) to yellow (near). A face is darker the more
it is turned away. The colours, materials and lights of the file are ignored. The same
geometry always gives the same picture.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from mmeval.media.encode import png
from mmeval.media.media import Media

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from mmeval.media.decode import MeshArrays

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

SIDE = 448
"""Width and height of a view in pixels."""
MARGIN = 16
"""The free space in pixels on both sides of the object in its longest direction."""
MAX_FACES = 200_000
"""Maximum number of faces to draw. Of a larger mesh, only the vertices are drawn, which
are closer together than pixels."""
MAX_TESTS = 20_000_000
"""The maximum sum of pixels in the bounding boxes of a view's triangles. Of a larger
mesh, only the vertices are drawn."""
MAX_POINTS = 1_000_000
"""Maximum number of points to draw. Of a larger cloud, only every n-th point is
drawn."""
FEW_POINTS = 20_000
"""If a cloud has at most this number of points, they are drawn three pixels wide,
because a point of one pixel is hard to see in a small cloud."""
_CHUNK = 1 << 20
"""Number of pixels that are tested at once."""
_EDGE = -1e-9
"""The smallest weight of a corner at a pixel inside the triangle. It is just below 0,
so that two triangles with a common edge leave no gap."""
_GROUND = 255
_RULE = 200
_COLOURS = (
    (13, 8, 90),
    (84, 2, 163),
    (168, 34, 150),
    (227, 89, 98),
    (249, 154, 52),
    (250, 240, 60),
)
"""The colours of depth, evenly spaced from far to near."""
_FLAT = 0.45
"""The brightness of a face that is seen edge-on."""


class View(NamedTuple):
    """The axes to the right, up and towards the eye, and the sign of the last axis."""

    right: int
    up: int
    eye: int
    towards: float


VIEWS = (View(0, 1, 2, 1.0), View(0, 2, 1, -1.0), View(1, 2, 0, 1.0))
"""The views along z, y and x. The directions right, up and towards the eye form a
right-handed system, so nothing is mirrored."""


class RenderedViews(NamedTuple):
    """A picture with a short description of it."""

    picture: Media
    about: str


def render(geometry: MeshArrays) -> RenderedViews:
    """Draws the three views of a mesh.

    If the mesh has no faces or too many, only its vertices are drawn.
    """
    import numpy
    from PIL import Image

    faces, count = geometry.faces, len(geometry.faces)
    vertices = _placed(geometry.vertices)
    is_solid = _is_drawn_solid(vertices, faces)
    about = f"three views of a mesh of {count:,} faces"
    if not is_solid:
        faces = faces[:0]
        total = len(vertices)
        if total > MAX_POINTS:
            step = -(-total // MAX_POINTS)
            vertices = vertices[::step]
        about = f"three views of {len(vertices):,} points"
        if len(vertices) < total:
            about = f"three views of {len(vertices):,} of {total:,} points"
        if count:
            about += f", the vertices of a mesh of {count:,} faces,"

    views = [_view(vertices, faces, view, cloud=not is_solid) for view in VIEWS]
    rule = numpy.full((SIDE, 1, 3), _RULE, numpy.uint8)
    whole = numpy.concatenate([views[0], rule, views[1], rule, views[2]], axis=1)
    return RenderedViews(png(Image.fromarray(whole)), about)


def _is_drawn_solid(vertices: Floats, faces: Ints) -> bool:
    """Returns True if the faces are drawn.

    The mesh must have faces, and the number of pixels to test must be small enough.
    """
    if not 0 < len(faces) <= MAX_FACES:
        return False
    for view in VIEWS:
        flat, _ = _projected(vertices, view)
        _, sizes = _boxes(flat, faces)
        tests = int(sizes.prod(axis=1).sum())
        if tests > MAX_TESTS:
            return False
    return True


def _placed(vertices: Floats) -> Floats:
    """Returns vertices in pixels from the centre. The longest side of the mesh fills
    the view."""
    import numpy

    # The vertices are scaled down first: differences of huge numbers would overflow.
    huge = float(numpy.abs(vertices).max())
    scaled = vertices / huge if huge > 0 else vertices
    low, high = scaled.min(axis=0), scaled.max(axis=0)
    extent = float((high - low).max())
    zoom = 0.0
    if extent > 0:
        zoom = (SIDE - 2 * MARGIN) / extent
    placed: Floats = (scaled - (low + high) / 2) * zoom
    return placed


def _view(
    vertices: Floats, faces: Ints, view: View, *, cloud: bool
) -> NDArray[np.uint8]:
    """Draws one view. Returns it as rows of pixels."""
    import numpy

    canvas = _Canvas()
    flat, depth = _projected(vertices, view)
    corners = vertices[faces]
    normals = numpy.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    length = numpy.linalg.norm(normals, axis=1)
    facing = numpy.abs(normals[:, view.eye]) / numpy.where(length > 0, length, 1.0)
    # 1 for a face that is seen straight from either side, less for a turned face
    bright: Floats = _FLAT + (1 - _FLAT) * facing
    for fragments in _fragments(flat, depth, bright, faces):
        canvas.add(fragments)
    # Parts that are thinner than a pixel may cover no centre, so draw their corners.
    if not cloud:
        canvas.add(canvas.uncovered(_points(flat, depth, _FLAT)))
        return canvas.pixels()
    reach = range(-1, 2) if len(vertices) <= FEW_POINTS else range(1)
    for right in reach:
        for up in reach:
            canvas.add(_points(flat + numpy.array((right, up)), depth, 1.0))
    return canvas.pixels()


def _projected(vertices: Floats, view: View) -> tuple[Floats, Floats]:
    """Returns vertices in pixels from the view's upper left corner, and depths."""
    import numpy

    flat = numpy.stack(
        [SIDE / 2 + vertices[:, view.right], SIDE / 2 - vertices[:, view.up]], axis=1
    )
    return flat, view.towards * vertices[:, view.eye]


class _Fragments(NamedTuple):
    """Covered pixels with their depth (larger is nearer) and brightness."""

    pixels: Ints
    depth: Floats
    bright: Floats


def _points(
    flat: Floats,
    depth: Floats,
    bright: float,
) -> _Fragments:
    """Returns vertices as points of one pixel each."""
    import numpy

    pixels = numpy.floor(flat).astype(numpy.int64)
    visible = ((pixels >= 0) & (pixels < SIDE)).all(axis=1)
    place = (pixels[:, 1] * SIDE + pixels[:, 0])[visible]
    return _Fragments(place, depth[visible], numpy.full(len(place), bright))


def _boxes(flat: Floats, faces: Ints) -> tuple[Ints, Ints]:
    """Returns the first pixel of each triangle's bounding box, and the box's size.

    The sizes are rounded up to powers of two.
    """
    import numpy

    corners = flat[faces]
    first = numpy.floor(corners.min(axis=1)).astype(numpy.int64)
    count = numpy.floor(corners.max(axis=1)).astype(numpy.int64) - first + 1
    return first, 1 << numpy.ceil(numpy.log2(count)).astype(numpy.int64)


def _fragments(
    flat: Floats, depth: Floats, bright: Floats, faces: Ints
) -> Iterator[_Fragments]:
    """Yields the pixels that faces cover. Boxes of equal size are tested together."""
    import numpy

    if not len(faces):
        return
    first, sizes = _boxes(flat, faces)
    for wide, high in numpy.unique(sizes, axis=0):
        alike = numpy.flatnonzero((sizes == (wide, high)).all(axis=1))
        grid = numpy.meshgrid(numpy.arange(wide), numpy.arange(high))
        steps = numpy.stack(grid, axis=-1).reshape(-1, 2)
        per_step = max(1, _CHUNK // len(steps))
        for start in range(0, len(alike), per_step):
            chunk = alike[start : start + per_step]
            yield _covered(
                flat[faces[chunk]],
                depth[faces[chunk]],
                bright[chunk],
                first[chunk],
                steps,
            )


def _covered(
    corners: Floats, depth: Floats, bright: Floats, first: Ints, steps: Ints
) -> _Fragments:
    """Returns the pixels whose centre is in a triangle or on its edge."""
    import numpy

    area = _cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    whole = numpy.where(area == 0, numpy.inf, area)
    middle = first + 0.5
    # a weight is linear in (1, right, down)
    plane = numpy.column_stack((numpy.ones(len(steps)), steps)).T
    weights = []
    for a, b in ((1, 2), (2, 0), (0, 1)):
        start = corners[:, a]
        edge = corners[:, b] - start
        at_middle = _cross(edge, middle - start)
        slopes = numpy.column_stack((at_middle, -edge[:, 1], edge[:, 0]))
        weights.append((slopes / whole[:, None]) @ plane)
    least = numpy.minimum(numpy.minimum(*weights[:2]), weights[2])
    has_area = (area != 0)[:, None]
    face, step = numpy.nonzero(has_area & (least >= _EDGE))
    near = numpy.zeros(len(face))
    for corner, weight in enumerate(weights):
        near = near + weight[face, step] * depth[face, corner]
    pixels = first[face] + steps[step]
    shown = ((pixels >= 0) & (pixels < SIDE)).all(axis=1)
    place = pixels[:, 1] * SIDE + pixels[:, 0]
    return _Fragments(place[shown], near[shown], bright[face][shown])


def _cross(first: Floats, second: Floats) -> Floats:
    product: Floats = first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0]
    return product


class _Canvas:
    """Keeps the nearest fragment that was drawn at each pixel so far."""

    def __init__(self) -> None:
        import numpy

        self._depth = numpy.full(SIDE * SIDE, -numpy.inf)
        self._bright = numpy.ones(SIDE * SIDE)

    def uncovered(self, fragments: _Fragments) -> _Fragments:
        """Returns the fragments at pixels where nothing has been drawn yet."""
        import numpy

        free = numpy.isneginf(self._depth[fragments.pixels])
        return _Fragments(
            fragments.pixels[free], fragments.depth[free], fragments.bright[free]
        )

    def add(self, fragments: _Fragments) -> None:
        """Adds the fragments that are nearer than earlier fragments at the same pixel.

        At equal depth, the brightest fragment wins.
        """
        import numpy

        place, depth, bright = fragments
        numpy.maximum.at(self._depth, place, depth)
        nearest = depth >= self._depth[place]
        order = numpy.argsort(bright[nearest], kind="stable")
        self._bright[place[nearest][order]] = bright[nearest][order]

    def pixels(self) -> NDArray[np.uint8]:
        """Returns rows of RGB colours on a white background."""
        import numpy

        covered = numpy.isfinite(self._depth)
        reach = (SIDE - 2 * MARGIN) / 2
        near = numpy.clip((self._depth[covered] + reach) / (2 * reach), 0.0, 1.0)
        share = near * (len(_COLOURS) - 1)
        ramp = numpy.array(_COLOURS, numpy.float64)
        below = numpy.minimum(share.astype(numpy.int64), len(_COLOURS) - 2)
        part = (share - below)[:, None]
        mixed = ramp[below] * (1 - part) + ramp[below + 1] * part
        colour = mixed * self._bright[covered][:, None]
        image = numpy.full((SIDE * SIDE, 3), _GROUND, numpy.uint8)
        image[covered] = numpy.rint(colour).astype(numpy.uint8)
        return image.reshape(SIDE, SIDE, 3)

"""Reads glTF 2.0: its extensions, its buffers and the numbers of its geometry.

trimesh reads compressed, sparse and normalized numbers as zeros or integers, and
ignores fans, but does not raise an error. Therefore mmeval resolves them and passes
trimesh a plain file, so that trimesh only has to position the parts of the scene.
"""

from __future__ import annotations

import base64
import json
import re
import struct
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_to_bytes

from mmeval.errors import UnsupportedMediaError
from mmeval.media.media import Media

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Any: JSON of a hostile file. A value of a wrong type raises an error when used.
Tree = dict[str, Any]

_MAGIC = b"glTF"
_CHUNK_JSON, _CHUNK_BINARY = b"JSON", b"BIN\0"
_VERSION = 2
_SUPPORTED = re.compile(
    r"KHR_mesh_quantization|KHR_xmp\w*|KHR_animation_pointer|KHR_techniques_webgl"
    r"|(?:KHR|EXT|MSFT|ADOBE)_(?:materials|texture|lights)_\w+"
)
"""Extensions that a file may require.

Quantised numbers are read here. The other extensions do not change the geometry.
"""
_NUMBERS = {5120: "i1", 5121: "u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
"""The type of an accessor's numbers, by its OpenGL code."""
_UNSIGNED, _FLOAT = 5125, 5126
_COLUMNS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}
_TRIANGLES, _FAN = 4, 6
_PLACED = ("children", "mesh", "matrix", "translation", "rotation", "scale")
"""The keys of a node that define its geometry."""
_SHOWN_CHARS = 60


def plain_glb(media: Media, data: bytes) -> bytes:
    """Returns a binary glTF with only the geometry of a ``.glb`` or ``.gltf`` file.

    The result uses no extensions, and its numbers are floats in one buffer. Its nodes
    and scenes are copied from the file. Raises UnsupportedMediaError for another
    version, for an unsupported extension that the geometry needs, and for buffers in
    other files. May raise any other exception for a damaged file.
    """
    tree, chunk = _opened(media, data)
    asset = tree.get("asset", {})
    version = asset.get("minVersion", asset.get("version", _VERSION))
    major, _, minor = str(version).partition(".")
    if int(major) != _VERSION or ("minVersion" in asset and int(minor or 0) > 0):
        raise _other_version(media, version)
    required = [str(name) for name in tree.get("extensionsRequired", [])]
    unknown = [name for name in required if not _SUPPORTED.fullmatch(name)]
    if unknown:
        raise _packed(media, unknown)
    plain = _PlainFile(_Numbers(media, tree, chunk))
    meshes = []
    for mesh in tree.get("meshes", []):
        # Primitives without positions are not drawn (section 3.7.2.1).
        primitives = [
            row for row in mesh["primitives"] if "POSITION" in row["attributes"]
        ]
        meshes.append({"primitives": [plain.primitive(row) for row in primitives]})
    nodes = []
    for node in tree.get("nodes", []):
        nodes.append({key: node[key] for key in _PLACED if key in node})
    scenes: Tree = {key: tree[key] for key in ("scene", "scenes") if key in tree}
    return plain.whole({**scenes, "nodes": nodes, "meshes": meshes})


def _opened(media: Media, data: bytes) -> tuple[Tree, bytes | None]:
    """Returns the JSON of a file.

    For a binary file, also returns the buffer in the file; for other files, returns
    None.
    """
    if not data.startswith(_MAGIC):
        return json.loads(data), None
    (version,) = struct.unpack_from("<I", data, 4)
    if version != _VERSION:
        raise _other_version(media, version)
    chunks: dict[bytes, bytes] = {}
    start = 12
    # A writer may have left data after the buffer, so the loop stops there.
    while start + 8 <= len(data) and _CHUNK_BINARY not in chunks:
        length, kind = struct.unpack_from("<I4s", data, start)
        chunk = data[start + 8 : start + 8 + length]
        if len(chunk) < length:
            raise ValueError("its last chunk is cut short")
        chunks.setdefault(kind, chunk)
        start += 8 + length
    return json.loads(chunks[_CHUNK_JSON]), chunks.get(_CHUNK_BINARY)


def _other_version(media: Media, version: object) -> UnsupportedMediaError:
    return UnsupportedMediaError(
        f"{media.label}: it is glTF {version}; export it as version {_VERSION}.0"
    )


def _packed(media: Media, extensions: list[str]) -> UnsupportedMediaError:
    names = ", ".join(name[:_SHOWN_CHARS] for name in sorted(extensions)[:3])
    return UnsupportedMediaError(
        f"{media.label}: it requires {names}, which mmeval does not read; export it "
        "without this extension"
    )


class _Numbers:
    """Reads the numbers of accessors from buffers."""

    def __init__(
        self,
        media: Media,
        tree: Tree,
        chunk: bytes | None,
    ) -> None:
        self._media = media
        self._tree = tree
        self._chunk = chunk
        self._buffers: dict[int, bytes] = {}

    def positions(self, index: int, extensions: Tree) -> NDArray[np.float32]:
        """Returns the coordinates (n, 3) of a primitive that uses ``extensions``."""
        import numpy as np

        values = self._values(index, extensions)
        if values.shape[1] != 3:
            raise ValueError("some vertices do not have three coordinates")
        return np.ascontiguousarray(values, np.float32)

    def indices(self, index: int, extensions: Tree) -> NDArray[np.uint32]:
        """Returns the vertex indices (n,) of a primitive that uses ``extensions``."""
        import numpy as np

        return np.ascontiguousarray(self._values(index, extensions).ravel(), np.uint32)

    def _values(self, index: int, extensions: Tree) -> NDArray[Any]:
        import numpy as np

        accessor = self._tree["accessors"][index]
        is_stored = "bufferView" in accessor or "sparse" in accessor
        if not is_stored and extensions:
            raise _packed(self._media, list(extensions))
        count = accessor["count"]
        columns = _COLUMNS[accessor["type"]]
        kind = np.dtype(_NUMBERS[accessor["componentType"]])
        values = self._read(accessor, count, columns, kind)
        if "sparse" in accessor:
            # Section 3.6.2.3: some numbers are replaced.
            sparse = accessor["sparse"]
            changes = sparse["count"]
            place_kind = np.dtype(_NUMBERS[sparse["indices"]["componentType"]])
            places = self._read(sparse["indices"], changes, 1, place_kind).ravel()
            values = values.copy()
            values[places] = self._read(sparse["values"], changes, columns, kind)
        if accessor.get("normalized") and kind.kind in "iu":
            # Section 3.6.2.2: the lowest signed integer would be below -1.
            return np.maximum(values / np.float64(np.iinfo(kind).max), -1.0)
        return values

    def _read(
        self, row: Tree, count: int, columns: int, kind: np.dtype[Any]
    ) -> NDArray[Any]:
        """Returns the numbers (count, columns) of a view.

        The numbers are zeros for an accessor without a view.
        """
        import numpy as np

        if count < 0:
            raise ValueError("an accessor has a negative count")
        if "bufferView" not in row:
            return np.zeros((count, columns), kind)
        view = self._tree["bufferViews"][row["bufferView"]]
        index = view["buffer"]
        if index not in self._buffers:
            self._buffers[index] = self._buffer_read(index, view)
        buffer = self._buffers[index]
        start = view.get("byteOffset", 0)
        view_end = start + view["byteLength"]
        if start < 0 or view_end > len(buffer):
            raise ValueError("a buffer view extends beyond its buffer")
        data = memoryview(buffer)[start:view_end]
        width = columns * kind.itemsize
        stride = view.get("byteStride", width)
        offset = row.get("byteOffset", 0)
        end = offset + (count - 1) * stride + width if count else offset
        # Python integers do not overflow, unlike those of numpy.
        if offset < 0 or stride < 1 or end > len(data):
            raise ValueError("an accessor ends after its buffer view")
        return np.ndarray(
            (count, columns),
            kind,
            buffer=data,
            offset=offset,
            strides=(stride, kind.itemsize),
        )

    def _buffer_read(self, index: int, view: Tree) -> bytes:
        buffer = self._tree["buffers"][index]
        uri = buffer.get("uri")
        if uri is None:
            if index == 0 and self._chunk is not None:
                return self._chunk
            # Compressed numbers are in another buffer. This buffer only has a length.
            if view.get("extensions"):
                raise _packed(self._media, list(view["extensions"]))
            raise ValueError("one of its buffers has no bytes")
        head, _, body = uri.partition(",")
        if not head.lower().startswith("data:"):
            raise UnsupportedMediaError(
                f"{self._media.label}: its geometry is in another file "
                f"({uri[:_SHOWN_CHARS]!r}); export it as one .glb file"
            )
        data = unquote_to_bytes(body)
        if head.lower().endswith(";base64"):
            # Some writers omit the padding. Extra padding is ignored.
            return base64.b64decode(data + b"==")
        return data


class _PlainFile:
    """Builds a binary glTF of floats and indices in one buffer."""

    def __init__(self, numbers: _Numbers) -> None:
        self._numbers = numbers
        self._accessors: list[Tree] = []
        self._views: list[Tree] = []
        self._pieces: list[bytes] = []
        self._size = 0
        # Primitives share accessors, so each accessor is written once.
        self._positions: dict[int, int] = {}
        self._indices: dict[tuple[int, bool], int] = {}

    def primitive(self, row: Tree) -> Tree:
        """Returns a primitive for the plain file. A fan is converted to triangles."""
        extensions = row.get("extensions", {})
        position = row["attributes"]["POSITION"]
        mode = row.get("mode", _TRIANGLES)
        if position not in self._positions:
            places = self._numbers.positions(position, extensions)
            self._positions[position] = self._added(places, _FLOAT, "VEC3")
        accessor = self._positions[position]
        result: Tree = {"attributes": {"POSITION": accessor}}
        is_fan = mode == _FAN
        if "indices" in row:
            key = (row["indices"], is_fan)
            if key not in self._indices:
                corners = self._numbers.indices(row["indices"], extensions)
                if is_fan:
                    self._indices[key] = self._fan(corners)
                else:
                    self._indices[key] = self._added(corners, _UNSIGNED, "SCALAR")
            result["indices"] = self._indices[key]
        elif is_fan:
            result["indices"] = self._fan(range(self._accessors[accessor]["count"]))
        result["mode"] = _TRIANGLES if is_fan else mode
        return result

    def whole(self, tree: Tree) -> bytes:
        """Returns the file with the scenes, nodes and meshes of ``tree``."""
        tree = {
            **tree,
            "asset": {"version": "2.0"},
            "accessors": self._accessors,
            "bufferViews": self._views,
            "buffers": [{"byteLength": self._size}],
        }
        words = json.dumps(tree).encode()
        words += b" " * (-len(words) % 4)
        chunks = [
            struct.pack("<I4s", len(words), _CHUNK_JSON),
            words,
            struct.pack("<I4s", self._size, _CHUNK_BINARY),
            *self._pieces,
        ]
        size = 12 + sum(len(chunk) for chunk in chunks)
        return b"".join([_MAGIC, struct.pack("<II", _VERSION, size), *chunks])

    def _fan(self, outline: NDArray[np.uint32] | range) -> int:
        """Adds a triangle for each later pair of a fan's corners with its first corner.

        Returns the index of the accessor with these triangles.
        """
        import numpy as np

        around = np.asarray(outline, np.uint32)
        first = np.broadcast_to(around[:1], max(0, len(around) - 2))
        corners = [first, around[1:-1], around[2:]]
        triangles = np.stack(corners, axis=1)
        return self._added(triangles.ravel(), _UNSIGNED, "SCALAR")

    def _added(
        self,
        values: NDArray[Any],
        kind: int,
        shape: str,
    ) -> int:
        piece = values.tobytes()
        view = {"buffer": 0, "byteOffset": self._size, "byteLength": len(piece)}
        accessor = {
            "bufferView": len(self._views),
            "componentType": kind,
            "count": len(values),
            "type": shape,
        }
        self._pieces.append(piece)
        self._size += len(piece)
        self._views.append(view)
        self._accessors.append(accessor)
        return len(self._accessors) - 1

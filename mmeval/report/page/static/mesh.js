/* Meshes: from what a file hands over to checked triangles or points around the origin, of size one. */
"use strict";

mmeval.mesh3d = (() => {
  function bytes(base64) {
    const text = atob(base64 || "");
    const found = new Uint8Array(text.length - (text.length % 4));
    for (let at = 0; at < found.length; at += 1) found[at] = text.charCodeAt(at);
    return found.buffer;
  }

  /* The middle of the vertices that are numbers, and how far they reach from it. */
  function extent(vertices) {
    const low = [Infinity, Infinity, Infinity];
    const high = [-Infinity, -Infinity, -Infinity];
    for (let at = 0; at < vertices.length; at += 1) {
      const value = vertices[at];
      if (!Number.isFinite(value)) continue;
      low[at % 3] = Math.min(low[at % 3], value);
      high[at % 3] = Math.max(high[at % 3], value);
    }
    const middle = low.map((value, axis) => (value + high[axis]) / 2);
    return { middle, reach: Math.hypot(...low.map((value, axis) => (high[axis] - value) / 2)) || 1 };
  }

  /* {positions, faces}: `faces` is empty where there are points only. Vertices that are no numbers lie in the middle. */
  function decode(value) {
    const given = new Float32Array(bytes(value.vertices));
    const vertices = given.subarray(0, given.length - (given.length % 3));
    if (vertices.length === 0) throw new Error("no vertices");
    const { middle, reach } = extent(vertices);
    const positions = vertices.map((number, at) => (Number.isFinite(number) ? (number - middle[at % 3]) / reach : 0));
    return { positions, faces: checked(new Uint32Array(bytes(value.faces)), positions.length / 3) };
  }

  function checked(faces, count) {
    const found = new Uint32Array(faces.length - (faces.length % 3));
    let size = 0;
    for (let at = 0; at + 2 < faces.length; at += 3) {
      if (faces[at] >= count || faces[at + 1] >= count || faces[at + 2] >= count) continue;
      found.set(faces.subarray(at, at + 3), size);
      size += 3;
    }
    return found.subarray(0, size);
  }

  return { decode };
})();

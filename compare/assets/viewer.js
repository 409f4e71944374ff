/* The 3D view: what a file hands over, as checked triangles or points of size one around the origin, under a light; turned
   by drag, touch, keys and wheel. It knows nothing else. */
"use strict";

mmeval.viewer = (() => {
  const { el, button } = mmeval.dom;
  const ALIVE = 6;
  const START = { yaw: 0.6, pitch: 0.45, distance: 3 };
  const alive = [];

  const VERTEX = `#version 300 es
    in vec3 place; uniform mat3 turn; uniform vec2 lens; uniform float distance; uniform float dot_size; out vec3 seen;
    void main() {
      seen = turn * place;
      float depth = distance - seen.z;
      gl_Position = vec4(seen.xy * lens, (depth - 1.0) * 0.1, depth);
      gl_PointSize = dot_size / depth;
    }`;
  const FRAGMENT = `#version 300 es
    precision highp float; in vec3 seen; uniform vec3 colour; uniform bool points; out vec4 shade;
    void main() {
      float light = 0.55 + 0.4 * seen.z;
      if (!points) {
        vec3 normal = normalize(cross(dFdx(seen), dFdy(seen)));
        light = 0.3 + 0.55 * abs(dot(normal, normalize(vec3(0.4, 0.7, 0.8)))) + 0.15 * max(normal.y, 0.0);
      }
      shade = vec4(colour * clamp(light, 0.15, 1.1), 1.0);
    }`;

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

  function program(gl) {
    const made = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(made, shader);
    }
    gl.linkProgram(made);
    if (!gl.getProgramParameter(made, gl.LINK_STATUS)) throw new Error("this browser's WebGL cannot draw it");
    return made;
  }

  function turned({ yaw, pitch }) {
    const [sy, cy, sp, cp] = [Math.sin(yaw), Math.cos(yaw), Math.sin(pitch), Math.cos(pitch)];
    return new Float32Array([cy, sy * sp, -sy * cp, 0, cp, sp, sy, -cy * sp, cy * cp]);
  }

  /* Puts a mesh on a canvas; what comes back draws it as the view says, and ends it. */
  function scene(canvas, shape) {
    const gl = canvas.getContext("webgl2", { antialias: true });
    if (!gl) throw new Error("this browser has no WebGL 2");
    const made = program(gl);
    const solid = shape.faces.length > 0;
    gl.useProgram(made);
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ARRAY_BUFFER, shape.positions, gl.STATIC_DRAW);
    const place = gl.getAttribLocation(made, "place");
    gl.enableVertexAttribArray(place);
    gl.vertexAttribPointer(place, 3, gl.FLOAT, false, 0, 0);
    if (solid) {
      gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
      gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, shape.faces, gl.STATIC_DRAW);
    }
    gl.enable(gl.DEPTH_TEST);
    const at = (name) => gl.getUniformLocation(made, name);

    function draw(view) {
      const ratio = Math.min(window.devicePixelRatio || 1, 2);
      const [width, height] = [Math.max(1, canvas.clientWidth * ratio), Math.max(1, canvas.clientHeight * ratio)];
      if (canvas.width !== Math.round(width) || canvas.height !== Math.round(height)) {
        canvas.width = width;
        canvas.height = height;
      }
      gl.viewport(0, 0, canvas.width, canvas.height);
      gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
      const lens = 2.4;
      gl.uniformMatrix3fv(at("turn"), false, turned(view));
      gl.uniform2f(at("lens"), lens * Math.min(1, height / width), lens * Math.min(1, width / height));
      gl.uniform1f(at("distance"), view.distance);
      gl.uniform1f(at("dot_size"), Math.max(4, shape.positions.length < 3000 ? height / 20 : height / 60));
      gl.uniform3f(at("colour"), 0.47, 0.62, 0.82);
      gl.uniform1i(at("points"), solid ? 0 : 1);
      if (solid) gl.drawElements(gl.TRIANGLES, shape.faces.length, gl.UNSIGNED_INT, 0);
      else gl.drawArrays(gl.POINTS, 0, shape.positions.length / 3);
    }

    return { draw, end: () => gl.getExtension("WEBGL_lose_context")?.loseContext() };
  }

  /* Listens to hands and keys; `changed` draws again. */
  function steer(canvas, view, changed) {
    const fingers = new Map();
    const spread = () => {
      const [one, other] = [...fingers.values()];
      return Math.hypot(one.x - other.x, one.y - other.y);
    };
    const zoom = (factor) => {
      view.distance = Math.min(12, Math.max(1.2, view.distance * factor));
      changed();
    };
    const turn = (yaw, pitch) => {
      view.yaw += yaw;
      view.pitch = Math.min(1.57, Math.max(-1.57, view.pitch + pitch));
      changed();
    };
    const reset = () => { Object.assign(view, START); changed(); };
    const lift = (event) => fingers.delete(event.pointerId);
    const keys = {
      ArrowLeft: () => turn(-0.15, 0), ArrowRight: () => turn(0.15, 0), ArrowUp: () => turn(0, -0.15), ArrowDown: () => turn(0, 0.15),
      "+": () => zoom(0.85), "=": () => zoom(0.85), "-": () => zoom(1.18), 0: reset,
    };
    canvas.addEventListener("pointerdown", (event) => {
      canvas.focus();
      canvas.setPointerCapture(event.pointerId);
      fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    });
    canvas.addEventListener("pointermove", (event) => {
      const last = fingers.get(event.pointerId);
      if (!last) return;
      const before = fingers.size === 2 ? spread() : 0;
      fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
      if (fingers.size === 1) turn((event.clientX - last.x) * 0.01, (event.clientY - last.y) * 0.01);
      else if (fingers.size === 2 && before > 0) zoom(before / Math.max(1, spread()));
    });
    canvas.addEventListener("pointerup", lift);
    canvas.addEventListener("pointercancel", lift);
    canvas.addEventListener("wheel", (event) => {
      if (document.activeElement !== canvas && !event.ctrlKey) return;
      event.preventDefault();
      zoom(event.deltaY > 0 ? 1.1 : 0.9);
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      if (!Object.hasOwn(keys, event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      event.stopPropagation();
      keys[event.key]();
    });
    return { zoom, reset };
  }

  function stage(box, shape, name) {
    const canvas = el("canvas", { tabindex: "0", role: "img", "aria-label": `3D view of ${name}. Arrow keys turn it, plus and minus zoom, 0 resets.` });
    box.replaceChildren(canvas);
    const made = scene(canvas, shape);
    const view = { ...START };
    let waiting = 0;
    const changed = () => {
      waiting = waiting || requestAnimationFrame(() => { waiting = 0; made.draw(view); });
    };
    const { zoom, reset } = steer(canvas, view, changed);
    const resized = new ResizeObserver(changed);
    resized.observe(canvas);
    box.append(el("div", { class: "viewer-tools" },
      button("+", () => zoom(0.8), { "aria-label": "Zoom in" }), button("−", () => zoom(1.25), { "aria-label": "Zoom out" }), button("Reset", reset)));
    return () => { resized.disconnect(); cancelAnimationFrame(waiting); made.end(); };
  }

  /* A box that fills itself when it comes into sight. Browsers draw a few at a time: the oldest then waits for a click. */
  function view(part) {
    const name = mmeval.controls.plain(part.label || part.name || "the model");
    const box = el("div", { class: "viewer" });
    const offer = (text) => box.replaceChildren(el("p", { class: "part-note" }, text), button("Show the 3D view", start));

    async function start() {
      box.replaceChildren(el("p", { class: "part-note", role: "status" }, "Loading…"));
      try {
        const value = await mmeval.data.mesh(part);
        const end = stage(box, decode(value), name);
        alive.push({ box, end, offer });
        if (value.note) box.append(el("p", { class: "part-note" }, mmeval.controls.nodes(value.note)));
        while (alive.length > ALIVE) {
          const oldest = alive.shift();
          oldest.end();
          oldest.offer("A browser draws a few 3D views at a time.");
        }
      } catch (error) {
        box.replaceChildren(el("p", { class: "part-note" }, `No 3D view: ${error.message}.`));
      }
    }

    const sight = new IntersectionObserver((seen) => {
      if (!seen.some((one) => one.isIntersecting)) return;
      sight.disconnect();
      start();
    });
    sight.observe(box);
    return box;
  }

  /* Ends every view that is not on the page any more. */
  function tidy() {
    for (const one of alive.splice(0)) {
      if (one.box.isConnected) alive.push(one);
      else one.end();
    }
  }

  return { view, tidy };
})();

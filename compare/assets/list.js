/* The list: as many rows in the document as fit on the screen, however many there are. */
"use strict";

mmeval.list = (() => {
  const { el } = mmeval.dom;
  const { nodes } = mmeval.controls;
  const ROW = 64;
  const BESIDE = 6;
  const TALLEST = 12e6;

  /* A list in `box`. `describe(row)` says what a row shows: {href, title, facts, status, score}. */
  function make(box, describe) {
    const holder = el("ol", { class: "rows", role: "list" });
    box.append(holder);
    let rows = [];
    let current = -1;
    let drawn = new Map();
    let waiting = 0;

    function item(row, position) {
      const about = describe(row);
      return el("li", { class: "row", "aria-posinset": position + 1, "aria-setsize": rows.length },
        el("a", { href: about.href, "aria-current": row === current ? "true" : null, "data-row": row },
          el("span", { class: "row-title", dir: "auto" }, about.title ? nodes(about.title) : "(no text)"),
          el("span", { class: "row-facts" }, about.facts.map((fact, at) => [at ? " · " : "", el("bdi", {}, nodes(fact))])),
          el("span", { class: "row-score" }, about.score === null ? mmeval.trial.status(about.status) : about.score)));
    }

    /* Beyond what browsers can scroll, a step of the scroll bar is more than a step in the list. */
    function place() {
      const whole = rows.length * ROW;
      const tall = Math.min(whole, TALLEST);
      const view = box.clientHeight;
      const top = box.scrollTop;
      const ratio = tall > view ? (whole - view) / (tall - view) : 1;
      return { tall, view, top, from: top * ratio };
    }

    function draw() {
      waiting = 0;
      const { tall, view, top, from } = place();
      holder.style.height = `${tall}px`;
      const first = Math.max(0, Math.floor(from / ROW) - BESIDE);
      const last = Math.min(rows.length, Math.ceil((from + view) / ROW) + BESIDE);
      const next = new Map();
      for (let position = first; position < last; position += 1) {
        const node = drawn.get(position) || item(rows[position], position);
        node.style.top = `${Math.round(position * ROW - from + top)}px`;
        next.set(position, node);
      }
      for (const [position, node] of drawn) {
        if (next.has(position)) continue;
        if (node.contains(document.activeElement)) box.focus({ preventScroll: true });
        node.remove();
      }
      let before = null;
      for (const node of next.values()) {
        if (!node.isConnected) holder.insertBefore(node, before ? before.nextSibling : holder.firstChild);
        before = node;
      }
      drawn = next;
    }

    function later() {
      waiting = waiting || requestAnimationFrame(draw);
    }

    function again() {
      for (const node of drawn.values()) node.remove();
      drawn = new Map();
      draw();
    }

    function set(found) {
      rows = found;
      again();
    }

    /* Marks a row, and brings it into sight when it is not. */
    function choose(row) {
      current = row;
      for (const [position, node] of drawn) {
        if (rows[position] === row) node.firstChild.setAttribute("aria-current", "true");
        else node.firstChild.removeAttribute("aria-current");
      }
      const position = rows.indexOf(row);
      if (position >= 0) reach(position);
    }

    function reach(position) {
      const { tall, view, top, from } = place();
      if (view === 0) return;
      const whole = rows.length * ROW;
      const low = position * ROW;
      if (low >= from && low + ROW <= from + view) return;
      const wanted = low < from ? low - ROW : low + 2 * ROW - view;
      const share = whole > view ? wanted / (whole - view) : 0;
      box.scrollTop = Math.max(0, Math.min(1, share)) * (tall - view);
      if (box.scrollTop !== top) draw();
    }

    function focus(row) {
      const link = holder.querySelector(`a[data-row="${Number(row)}"]`);
      (link || box).focus({ preventScroll: true });
    }

    box.addEventListener("scroll", later, { passive: true });
    new ResizeObserver(later).observe(box);
    return { set, choose, focus };
  }

  return { make };
})();

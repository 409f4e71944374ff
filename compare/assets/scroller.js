/* The scroller: as many lines in the document as fit on the screen, however many there are. */
"use strict";

mmeval.scroller = (() => {
  const BESIDE = 400;
  const TALLEST = 12e6;

  /* Lines of equal height in a `holder` inside a `box`. `item(position)` makes a line and `gone(node)` ends one; `inset()`
     is the height of what stays in sight above the lines. */
  function make(box, holder, { item, gone = () => {}, inset = () => 0 }) {
    let count = 0;
    let height = 1;
    let drawn = new Map();
    let waiting = 0;

    /* Beyond what browsers can scroll, a step of the scroll bar is more than a step in the list. */
    function place() {
      const whole = count * height;
      const tall = Math.min(whole, TALLEST);
      const view = Math.max(0, box.clientHeight - inset());
      const top = box.scrollTop;
      const ratio = tall > view ? (whole - view) / (tall - view) : 1;
      return { whole, tall, view, top, from: top * ratio };
    }

    function draw() {
      waiting = 0;
      if (box.clientHeight === 0) return; /* it is hidden, and drawn when it comes back */
      const { tall, view, top, from } = place();
      holder.style.height = `${tall}px`;
      const first = Math.max(0, Math.floor((from - BESIDE) / height));
      const last = Math.min(count, Math.ceil((from + view + BESIDE) / height));
      const next = new Map();
      for (let position = first; position < last; position += 1) {
        const node = drawn.get(position) || item(position);
        node.style.top = `${Math.round(position * height - from + top)}px`;
        next.set(position, node);
      }
      for (const [position, node] of drawn) {
        if (!next.has(position)) remove(node);
      }
      let before = null;
      for (const node of next.values()) {
        if (!node.isConnected) holder.insertBefore(node, before ? before.nextSibling : holder.firstChild);
        before = node;
      }
      drawn = next;
    }

    function remove(node) {
      if (node.contains(document.activeElement)) box.focus({ preventScroll: true });
      node.remove();
      gone(node);
    }

    function later() {
      waiting = waiting || requestAnimationFrame(draw);
    }

    /* Draws so many lines of this height anew. */
    function set(lines, tall) {
      for (const node of drawn.values()) remove(node);
      drawn = new Map();
      count = lines;
      height = tall;
      draw();
    }

    /* Brings a line into sight when it is not. */
    function reach(position) {
      if (drawn.size === 0) draw();
      const { whole, tall, view, top, from } = place();
      if (view === 0) return;
      const low = position * height;
      if (low >= from && low + height <= from + view) return;
      const wanted = low < from ? low - height : low + 2 * height - view;
      const share = whole > view ? wanted / (whole - view) : 0;
      box.scrollTop = Math.max(0, Math.min(1, share)) * (tall - view);
      if (box.scrollTop !== top) draw();
    }

    box.addEventListener("scroll", later, { passive: true });
    new ResizeObserver(later).observe(box);
    return { set, reach, lines: () => drawn };
  }

  return { make };
})();

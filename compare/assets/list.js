/* The list: a row for each trial that matches. */
"use strict";

mmeval.list = (() => {
  const { el } = mmeval.dom;
  const { nodes, plain } = mmeval.controls;
  const ROW = 64;

  /* A list in `box`. `describe(row)` says what a row shows: {href, title, facts, status, metric, score, kinds}. */
  function make(box, describe) {
    const holder = el("ol", { class: "rows", role: "list" });
    box.append(holder);
    let rows = [];
    let current = -1;
    const scroller = mmeval.scroller.make(box, holder, { item });

    function item(position) {
      const row = rows[position];
      const about = describe(row);
      const metric = about.score ? el("span", { class: "row-metric", title: plain(about.metric) }, nodes(about.metric)) : null;
      return el("li", { class: "row", "aria-posinset": position + 1, "aria-setsize": rows.length },
        el("a", { href: about.href, "aria-current": row === current ? "true" : null, "data-row": row },
          el("span", { class: "row-title", dir: "auto" }, about.title ? nodes(about.title) : "(no text)"),
          el("span", { class: "row-facts" }, about.facts.map((fact, at) => [at ? " · " : "", el("bdi", {}, nodes(fact))])),
          el("span", { class: "row-judged" }, metric, " ", el("span", { class: "row-score" }, about.score || mmeval.trial.status(about.status))),
          mmeval.kinds.icons(about.kinds)));
    }

    function set(found) {
      rows = found;
      scroller.set(rows.length, ROW);
    }

    /* Marks a row. */
    function mark(row) {
      current = row;
      for (const [position, node] of scroller.lines()) {
        if (rows[position] === row) node.firstChild.setAttribute("aria-current", "true");
        else node.firstChild.removeAttribute("aria-current");
      }
    }

    /* Marks a row, and brings it into sight when it is not. */
    function choose(row) {
      mark(row);
      const position = rows.indexOf(row);
      if (position >= 0) scroller.reach(position);
    }

    function focus(row) {
      const link = holder.querySelector(`a[data-row="${Number(row)}"]`);
      (link || box).focus({ preventScroll: true });
    }

    return { set, mark, choose, focus };
  }

  return { make };
})();

/* The gallery: answers as tiles. Of one run a grid; of several runs a row for each sample and a column for each run. */
"use strict";

mmeval.gallery = (() => {
  const { el } = mmeval.dom;
  const { nodes } = mmeval.controls;
  const NARROWEST = 190;
  const FEWEST = 2;
  const LINE = 248;
  const CAPTION = 30;
  /* Tiles that are filled in one frame, so that scrolling never waits for media. */
  const PER_FRAME = 6;

  /* By sample, the row of each run's answer (-1: none). */
  function answersOfSamples(index) {
    const names = index.tasks.map((task) => task.name);
    const { task, sample, repeat } = index.rows;
    const key = (row) => JSON.stringify([names[task[row]], sample[row], repeat[row]]);
    const answers = new Map();
    for (let row = 0; row < index.count; row += 1) {
      if (!answers.has(key(row))) answers.set(key(row), index.runs.map(() => -1));
      answers.get(key(row))[index.tasks[task[row]].run] = row;
    }
    return (row) => answers.get(key(row));
  }

  /* A gallery in `box`. `describe(row)` says what is known of a trial, as for the list; `names` are those of the runs. */
  function make(box, index, describe, names) {
    const heads = el("div", { class: "tile-heads", role: "row" }, names.map((name) => el("div", { class: "tile-cell", role: "columnheader" }, nodes(name))));
    const holder = el("div", { class: "tile-rows", role: "rowgroup" });
    const grid = el("div", { class: "tiles", role: "grid", "aria-label": "Answers" }, heads, holder);
    box.append(grid);
    const scroller = mmeval.scroller.make(box, holder, { item, gone: mmeval.tile.release, inset: () => heads.offsetHeight });
    /* By row, the tiles on the screen whose answers have not arrived. */
    const unfilled = new Map();
    let answers = null;
    let isSideBySide = false;
    let rows = [];
    let lines = [];
    let columns = 0;
    let cursor = null;
    let waiting = 0;

    function item(position) {
      const cells = lines[position].map((row) => el("div", { class: "tile-cell", role: "gridcell" }, row < 0 ? el("p", { class: "tile-note" }, "No answer of this run.") : tile(row)));
      if (!isSideBySide) {
        while (cells.length < columns) cells.push(el("div", { class: "tile-cell", "aria-hidden": "true" }));
      }
      const about = describe(lines[position].find((row) => row >= 0));
      const caption = el("div", { class: "tile-caption", role: "rowheader", dir: "auto" }, nodes(about.title || about.sample));
      return el("div", { class: "tile-row", role: "row", "aria-rowindex": position + 1 }, isSideBySide ? caption : null, el("div", { class: "tile-line", role: "none" }, cells));
    }

    function tile(row) {
      const node = mmeval.tile.empty(describe(row), row, !isSideBySide);
      if (row === cursor) node.tabIndex = 0;
      unfilled.set(row, node);
      soon();
      return node;
    }

    function soon() {
      waiting = waiting || requestAnimationFrame(fill);
    }

    function fill() {
      waiting = 0;
      let filled = 0;
      for (const [row, node] of unfilled) {
        const small = mmeval.data.tile(row);
        if (!node.isConnected) unfilled.delete(row);
        else if (small === undefined) load(row);
        else {
          mmeval.tile.fill(node, small);
          unfilled.delete(row);
          filled += 1;
          if (filled === PER_FRAME) return soon();
        }
      }
    }

    function load(row) {
      mmeval.data.tiles(row).then(soon, (error) => {
        const node = unfilled.get(row);
        unfilled.delete(row);
        if (node) mmeval.tile.fill(node, { error: error.message });
      });
    }

    /* Shows these rows in their order; `sideBySide` shows each sample with the answers of all runs. */
    function set(found, sideBySide) {
      rows = found;
      isSideBySide = sideBySide;
      grid.classList.toggle("several", isSideBySide);
      heads.hidden = !isSideBySide;
      arrange();
    }

    function arrange() {
      columns = isSideBySide ? names.length : fitting();
      lines = isSideBySide ? samples() : gridLines();
      grid.setAttribute("aria-rowcount", String(lines.length));
      unfilled.clear();
      scroller.set(lines.length, isSideBySide ? LINE + CAPTION : LINE);
    }

    function fitting() {
      return Math.max(FEWEST, Math.floor(box.clientWidth / NARROWEST));
    }

    /* Arranges the grid anew where the width has room for more or fewer columns. */
    function fit() {
      if (box.clientWidth && !isSideBySide && fitting() !== columns) arrange();
    }

    function gridLines() {
      const all = [];
      for (let at = 0; at < rows.length; at += columns) all.push(rows.slice(at, at + columns));
      return all;
    }

    /* The samples of the rows, each at the place of its first row. */
    function samples() {
      answers = answers || answersOfSamples(index);
      return [...new Set(rows.map(answers))];
    }

    /* Moves to a neighbour of the tile that has the focus, or to the first tile. */
    function move(key) {
      const all = lines.flat().filter((row) => row >= 0);
      const line = lines.findIndex((cells) => cells.includes(cursor));
      const by = { ArrowRight: 1, ArrowLeft: -1, j: 1, k: -1 }[key];
      let next = all[0];
      if (line >= 0 && by) next = all[all.indexOf(cursor) + by];
      else if (line >= 0) next = nearest(lines[line + (key === "ArrowDown" ? 1 : -1)], lines[line].indexOf(cursor));
      if (next !== undefined) focus(next);
    }

    /* The answer of a line that is next to a column. */
    function nearest(cells = [], column) {
      const there = cells.map((row, at) => ({ row, away: Math.abs(at - column) })).filter(({ row }) => row >= 0);
      return there.sort((one, other) => one.away - other.away)[0]?.row;
    }

    function focus(row) {
      cursor = row;
      fit();
      const line = lines.findIndex((cells) => cells.includes(row));
      if (line < 0) return;
      scroller.reach(line);
      for (const tile of holder.querySelectorAll("a.tile")) tile.tabIndex = tile.dataset.row === String(row) ? 0 : -1;
      const chosen = holder.querySelector(`a[data-row="${Number(row)}"]`);
      chosen?.focus({ preventScroll: true });
      chosen?.scrollIntoView({ block: "nearest", inline: "nearest" });
    }

    new ResizeObserver(fit).observe(box);
    return { set, move, focus };
  }

  return { make };
})();

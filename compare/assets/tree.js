/* JSON as a tree that can be read: names and values, what is nested folds. */
"use strict";

mmeval.tree = (() => {
  const { el, button } = mmeval.dom;
  const { nodes } = mmeval.controls;
  const SHOWN = 100;
  const SHORT = 60;
  const OPEN_DEPTH = 2;
  const OPEN_COUNT = 8;

  function isNested(value) {
    return typeof value === "object" && value !== null;
  }

  function entries(value) {
    return Array.isArray(value) ? value.map((item, at) => [String(at + 1), item]) : Object.entries(value);
  }

  function leaf(value) {
    if (typeof value === "string") {
      return el("span", { class: value.includes("\n") ? "leaf text long" : "leaf text", dir: "auto" }, value === "" ? "(empty)" : nodes(value));
    }
    return el("span", { class: "leaf word" }, value === null ? "none" : typeof value === "boolean" ? (value ? "yes" : "no") : String(value));
  }

  function isShort(value) {
    const rows = entries(value);
    return rows.every(([, item]) => !isNested(item)) && rows.reduce((sum, [name, item]) => sum + name.length + String(item).length + 2, 0) <= SHORT;
  }

  function brief(value) {
    if (Array.isArray(value)) return entries(value).map(([, item], at) => [at ? ", " : "", leaf(item)]);
    return entries(value).map(([name, item], at) => [at ? ", " : "", el("span", { class: "name" }, nodes(name)), " ", leaf(item)]);
  }

  /* One name with its value; nested values are made when they are unfolded. */
  function row(name, value, depth) {
    const title = el("span", { class: "name", dir: "auto" }, nodes(name));
    if (!isNested(value)) return el("li", {}, title, " ", leaf(value));
    if (entries(value).length === 0) return el("li", {}, title, " ", el("span", { class: "leaf word" }, "none"));
    if (isShort(value)) return el("li", {}, title, " ", brief(value));
    const count = entries(value).length;
    const fold = el("details", {}, el("summary", {}, title, " ", el("span", { class: "amount" }, `${count} ${count === 1 ? "entry" : "entries"}`)));
    const fill = () => { if (fold.open && fold.childElementCount === 1) fold.append(tree(value, depth + 1)); };
    fold.addEventListener("toggle", fill);
    if (depth < OPEN_DEPTH && count <= OPEN_COUNT) {
      fold.open = true;
      fill();
    }
    return el("li", {}, fold);
  }

  function tree(value, depth = 0) {
    if (!isNested(value)) return leaf(value);
    const list = el("ul", { class: "tree" });
    const every = entries(value);
    const more = (from) => {
      for (const [name, item] of every.slice(from, from + SHOWN)) list.append(row(name, item, depth));
      const left = every.length - from - SHOWN;
      if (left <= 0) return;
      const rest = el("li", {}, button(`${left} more`, () => { rest.remove(); more(from + SHOWN); }, { class: "quiet" }));
      list.append(rest);
    };
    more(0);
    return list;
  }

  return { tree, isEmpty: (value) => !isNested(value) || entries(value).length === 0 };
})();

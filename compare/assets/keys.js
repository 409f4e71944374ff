/* Keys: what each does, and the page of help that lists them. */
"use strict";

mmeval.keys = (() => {
  const { el, button } = mmeval.dom;
  const LIST = [
    [["j", "ArrowDown", "ArrowRight"], "j  ↓  →", "next trial", "next"],
    [["k", "ArrowUp", "ArrowLeft"], "k  ↑  ←", "previous trial", "previous"],
    [["/"], "/", "search in texts", "search"],
    [["f"], "f", "failures first, or not", "failures"],
    [["r"], "r", "results and summary", "results"],
    [["s"], "s", "samples", "samples"],
    [["g"], "g", "gallery", "gallery"],
    [[], "←  ↑  ↓  →", "in the gallery: the next answer in that direction", ""],
    [[], "Enter", "in the gallery: open the answer", ""],
    [["Escape"], "Esc", "back: leave the search, the trial, the filters", "back"],
    [["?"], "?", "this help", "help"],
  ];

  /* Arrows belong to whatever uses them itself. */
  function isTaken(event) {
    const target = event.target instanceof Element ? event.target : document.body;
    if (document.querySelector("dialog[open]")) return true;
    if (target.closest("input, select, textarea")) return event.key !== "Escape";
    if (!event.key.startsWith("Arrow")) return false;
    return Boolean(target.closest("canvas, audio, video, pre, .scroll")) || !document.body.classList.contains("in-samples");
  }

  function help() {
    const dialog = el("dialog", { class: "help", "aria-labelledby": "help-title" },
      el("h2", { id: "help-title" }, "Keys"),
      el("dl", {}, LIST.map(([, keys, text]) => [el("dt", {}, keys.split("  ").map((key) => el("kbd", {}, key))), el("dd", {}, text)])),
      el("p", {}, "In a 3D view: arrows turn, + and − zoom, 0 resets; the wheel zooms once the view is clicked."),
      button("Close", () => dialog.close()));
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  }

  /* Listens; `actions` has a function of the key by the name of each action but help. */
  function listen(actions) {
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isTaken(event)) return;
      const found = LIST.find(([keys]) => keys.includes(event.key));
      if (!found) return;
      event.preventDefault();
      ({ ...actions, help })[found[3]](event.key);
    });
  }

  return { listen, help };
})();

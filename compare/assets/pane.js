/* The pane beside the list: where the chosen trial is shown, with the way to its neighbours and back. */
"use strict";

mmeval.pane = (() => {
  const { el, button } = mmeval.dom;

  function make({ close, step }) {
    const place = el("span", { class: "place", role: "status", "aria-live": "polite" });
    const previous = button("‹ Previous", () => step(-1), { id: "previous" });
    const next = button("Next ›", () => step(1), { id: "next" });
    const layout = button("Side by side", () => {
      const aside = content.classList.toggle("side-by-side");
      layout.setAttribute("aria-pressed", String(aside));
    }, { class: "quiet layout", "aria-pressed": "true" });
    const bar = el("div", { class: "pane-bar", hidden: true }, button("Back", close, { id: "back" }), previous, next, place, layout);
    const hint = el("p", { class: "hint" });
    const content = el("div", { class: "trial side-by-side" });
    const node = el("main", { class: "pane", id: "pane", "aria-label": "Chosen trial", tabindex: "-1" }, bar, hint, content);
    clear("");

    function clear(message) {
      bar.hidden = message === "";
      place.textContent = "";
      hint.hidden = false;
      hint.textContent = message || "No trial is open.";
      content.replaceChildren();
      mmeval.viewer.tidy();
    }

    function head(heading) {
      bar.hidden = false;
      hint.hidden = true;
      content.replaceChildren(heading, el("p", { class: "part-note loading" }, "Loading…"));
      node.scrollTop = 0;
      if (window.matchMedia("(max-width: 820px)").matches) heading.querySelector("h2").focus({ preventScroll: true });
      mmeval.viewer.tidy();
    }

    function body(nodes) {
      content.querySelector(".loading")?.remove();
      mmeval.dom.append(content, nodes);
    }

    function placed(at, of) {
      place.textContent = at < 0 ? "not among those that match" : `${(at + 1).toLocaleString("en")} of ${of.toLocaleString("en")}`;
      previous.disabled = at === 0;
      next.disabled = at === of - 1;
    }

    return { node, clear, head, body, place: placed };
  }

  return { make };
})();

/* The start: the address says what is shown, and whatever changes it goes through the address. */
"use strict";

(() => {
  const WRITE_AFTER = 150;
  const { el, button } = mmeval.dom;
  const results = document.getElementById("view-results");
  const samples = document.getElementById("view-samples");
  const tools = document.getElementById("tools");
  const index = mmeval.data.index();
  let state = mmeval.hash.parse(location.hash);
  let samplesView = null;
  let timer = 0;

  const address = (next) => mmeval.hash.format(next, Boolean(index) && index.runs.length > 1);

  /* Shows a state and writes it to the address: as a new entry of the history, or in place of the last one. Browsers
     refuse to be told too many addresses at once, so those that replace wait for the last of them. */
  function go(next, replace) {
    const hash = address(next);
    clearTimeout(timer);
    if (replace) timer = setTimeout(() => history.replaceState(null, "", hash), WRITE_AFTER);
    else if (hash !== location.hash) history.pushState(null, "", hash);
    show(next);
  }

  function show(next) {
    state = next;
    const inSamples = state.view !== "results";
    results.hidden = inSamples;
    samples.hidden = !inSamples;
    document.body.classList.toggle("in-samples", inSamples);
    for (const view of ["results", "samples", "gallery"]) {
      const link = document.getElementById(`to-${view}`);
      /* list and gallery show the same trials */
      link.href = address({ ...state, view, trial: null });
      if (view === state.view) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    if (inSamples) samplesView?.show(state);
  }

  function follow() {
    clearTimeout(timer);
    show(mmeval.hash.parse(location.hash));
  }

  function complaint() {
    if (!index) return "data/index.js is missing or damaged. mmeval report RUN writes the page again.";
    if (index.format !== 1) return "This report was written by a newer mmeval than its page.";
    return "";
  }

  document.getElementById("no-scripts").remove();
  mmeval.controls.reveal(document.body);
  tools.append(mmeval.theme.make(), button("?", mmeval.keys.help, { class: "quiet", id: "help", "aria-label": "Keys" }));
  tools.hidden = false;
  if (complaint()) samples.append(el("p", { class: "failure" }, complaint()));
  else samplesView = mmeval.samples.make(samples, index, go, address);
  mmeval.keys.listen({
    next: (key) => samplesView?.step(1, key),
    previous: (key) => samplesView?.step(-1, key),
    failures: () => samplesView?.flip(),
    results: () => go({ ...state, view: "results" }),
    samples: () => go({ ...state, view: "samples" }),
    gallery: () => go({ ...state, view: "gallery", trial: null }),
    search: () => {
      /* an open trial covers the filters in the gallery, and on a phone */
      const isCovered = state.view === "gallery" || window.innerWidth <= 820;
      go({ ...state, view: state.view === "results" ? "samples" : state.view, trial: isCovered ? null : state.trial });
      document.getElementById("search")?.focus();
    },
    back: () => {
      if (document.activeElement?.id === "search") document.activeElement.blur();
      else if (state.view !== "results") samplesView?.back();
    },
  });
  results.addEventListener("click", (event) => {
    const image = event.target.closest("button.picture")?.querySelector("img");
    if (image) mmeval.parts.enlarge(image.getAttribute("src"), image.alt);
  });
  window.addEventListener("hashchange", follow);
  window.addEventListener("popstate", follow);
  show(state);
})();

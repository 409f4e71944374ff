/* A tile: an answer on a small piece of the gallery, by its first medium and its first lines. */
"use strict";

mmeval.tile = (() => {
  const { el, show, drawing } = mmeval.dom;
  const { nodes, plain } = mmeval.controls;
  const PEAK = 9;

  /* A tile before its answer has arrived. `about` is what the list says of it; a sample's title may stand elsewhere. */
  function empty(about, row, hasTitle) {
    const score = about.score || mmeval.trial.status(about.status);
    const metric = about.score ? el("span", { class: "tile-metric" }, nodes(about.metric)) : null;
    return el("a", { class: "tile", href: about.href, tabindex: "-1", "data-row": row },
      el("span", { class: "tile-head" }, score, " ", metric, mmeval.kinds.icons(about.kinds)),
      el("span", { class: "tile-body loading" }),
      hasTitle ? el("span", { class: "tile-title", dir: "auto", title: plain(about.title) }, about.title ? nodes(about.title) : "(no text)") : null);
  }

  /* Puts an answer into its tile. */
  function fill(tile, small) {
    const body = tile.querySelector(".tile-body");
    body.classList.remove("loading");
    mmeval.dom.append(body, [
      small.medium ? medium(small.medium, small.more || 0) : null,
      small.error ? el("span", { class: "tile-error" }, nodes(small.error)) : null,
      small.text ? el("span", { class: small.is_code ? "tile-code" : "tile-text", dir: small.is_code ? "ltr" : "auto" }, nodes(small.text)) : null,
      small.medium || small.error || small.text ? null : el("span", { class: "tile-note" }, "An empty answer."),
    ]);
  }

  function medium(one, more) {
    const name = plain(one.name || mmeval.kinds.name(one.kind));
    const stage = el("span", { class: "tile-medium" }, shown(one, name) || mark(one, name));
    if (more) stage.append(el("span", { class: "tile-more" }, `+${more}`));
    return stage;
  }

  /* What shows the medium, or null where nothing can. */
  function shown(one, name) {
    if (one.kind === "audio") return one.peaks ? waveform(one.peaks, name) : null;
    if (one.kind !== "image" && one.kind !== "document" && one.kind !== "video") return null;
    const element = one.kind === "video" ? film(name) : el("img", { alt: name, decoding: "async" });
    element.addEventListener("error", () => element.replaceWith(mark(one, name)));
    return show(element, one.src) ? element : null;
  }

  /* A film stands still at its beginning: its player reads no more of the file than that. */
  function film(name) {
    const video = el("video", { preload: "metadata", "aria-label": name, tabindex: "-1" });
    video.muted = true;
    video.addEventListener("loadedmetadata", () => { video.currentTime = 0; });
    return video;
  }

  function waveform(peaks, name) {
    const middle = PEAK + 1;
    const bars = [...String(peaks)].filter((digit) => /\d/.test(digit)).map((digit, at) => {
      const half = Number(digit) + 0.5;
      return `M${2 * at + 1} ${middle - half}V${middle + half}`;
    });
    return drawing(name, bars.join(""), `0 0 ${2 * bars.length} ${2 * middle}`, "waveform");
  }

  /* An icon in the place of a medium that is not shown, with its name and the reason. */
  function mark(one, name) {
    return el("span", { class: "tile-mark" }, mmeval.kinds.icon(one.kind), el("span", { class: "tile-note" }, name, one.note ? [": ", nodes(one.note)] : null));
  }

  /* Lets go of the films of a tile: browsers keep few players. */
  function release(node) {
    for (const video of node.querySelectorAll("video")) {
      video.removeAttribute("src");
      video.load();
    }
  }

  return { empty, fill, release };
})();

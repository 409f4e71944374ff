/* Parts: what was asked, accepted or answered, in its order, each kind by the element that fits it. */
"use strict";

mmeval.parts = (() => {
  const { el, button, show } = mmeval.dom;
  const { nodes, plain } = mmeval.controls;

  function size(bytes) {
    if (typeof bytes !== "number") return "";
    if (bytes < 1000) return `${bytes} B`;
    return bytes < 1e6 ? `${(bytes / 1000).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
  }

  function note(text) {
    return text ? el("p", { class: "part-note" }, nodes(text)) : null;
  }

  /* What a medium is called, and what is known of it. */
  function caption(part) {
    const facts = [part.mime, size(part.size), part.name].filter(Boolean);
    return el("figcaption", {},
      el("span", { class: "label" }, nodes(part.label || mmeval.kinds.name(part.kind))), " ",
      facts.map((fact, at) => [at ? " · " : "", nodes(fact)]));
  }

  function isEmptyMedium(part) {
    return !part.src && !part.mesh && !part.text && !(part.pages && part.pages.length);
  }

  function words(part) {
    return el("div", { class: "words", dir: "auto" }, nodes(part.text || ""));
  }

  function code(part) {
    const block = el("code", {});
    for (const [name, text] of part.tokens || [["", part.text || ""]]) {
      const kind = /^[a-z]{1,16}$/.test(name) ? `tok-${name}` : "";
      block.append(kind ? el("span", { class: kind }, nodes(text)) : el("span", {}, nodes(text)));
    }
    const language = part.language ? el("span", { class: "language" }, nodes(part.language)) : null;
    return el("div", { class: "code" }, language, el("pre", { tabindex: "0", dir: "ltr", "aria-label": "code" }, block));
  }

  function reasoning(part) {
    return el("details", { class: "reasoning" }, el("summary", {}, "Reasoning ", el("span", { class: "amount" }, `${(part.text || "").length.toLocaleString("en")} characters`)), words(part));
  }

  /* Says that a medium does not show, in place of the browser's empty frame. */
  function failing(element, figure) {
    element.addEventListener("error", () => {
      if (figure.querySelector(".gone")) return;
      figure.append(el("p", { class: "part-note gone" }, "This file cannot be shown here: it is gone, damaged, or of a kind that this browser does not know."));
    });
  }

  function picture(address, name, figure) {
    const image = el("img", { loading: "lazy", decoding: "async", alt: plain(name) });
    failing(image, figure);
    if (!show(image, address)) return null;
    return button(image, () => enlarge(address, name), { class: "picture", "aria-label": `Enlarge ${plain(name)}` });
  }

  function enlarge(address, name) {
    const image = el("img", { alt: plain(name) });
    show(image, address);
    const dialog = el("dialog", { class: "enlarged", "aria-label": plain(name) }, button(image, () => dialog.close(), { class: "picture", "aria-label": "Close" }));
    dialog.addEventListener("close", () => dialog.remove());
    dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
    document.body.append(dialog);
    dialog.showModal();
  }

  function player(part, figure) {
    const element = el(part.kind, { controls: true, preload: part.kind === "audio" ? "none" : "metadata", "aria-label": plain(part.label || mmeval.kinds.name(part.kind)) });
    failing(element, figure);
    return show(element, part.src) ? element : null;
  }

  function pages(part, figure) {
    const all = part.pages.map((page, at) => picture(page, `${part.label || part.name || "document"}, page ${at + 1}`, figure));
    const more = part.page_count > all.length ? el("p", { class: "part-note" }, `${all.length} of ${part.page_count} pages`) : null;
    return [el("div", { class: "pages" }, all), more];
  }

  const CONTENT = {
    image: (part, figure) => picture(part.src, part.label || part.name || "picture", figure),
    audio: player,
    video: player,
    document: (part, figure) => [part.pages && part.pages.length ? pages(part, figure) : null, part.text ? words(part) : null],
    "3d": (part) => (part.mesh ? mmeval.viewer.view(part) : null),
  };

  function medium(part) {
    const figure = el("figure", { class: `medium medium-${Object.hasOwn(CONTENT, part.kind) ? part.kind : "other"}` });
    const content = Object.hasOwn(CONTENT, part.kind) ? CONTENT[part.kind](part, figure) : null;
    mmeval.dom.append(figure, [content, caption(part)]);
    if (part.note) figure.append(note(part.note));
    else if (isEmptyMedium(part)) figure.append(note("Nothing of this file can be shown here."));
    else if (part.src && !content) figure.append(note("This file is not shown: its address leads outside of the report."));
    return figure;
  }

  function dangling(part) {
    return el("p", { class: "dangling" }, el("span", { class: "label" }, nodes(part.label || part.raw || String(part.kind))), " ", "placeholder without its file");
  }

  function part(value) {
    if (value.dangling) return dangling(value);
    if (value.kind === "text") return [words(value), note(value.note)];
    if (value.kind === "code" && (value.tokens || value.text !== undefined)) return [code(value), note(value.note)];
    if (value.kind === "reasoning") return [reasoning(value), note(value.note)];
    return medium(value);
  }

  /* A text between media that has no word of its own: a comma, a full stop, a space. */
  function isJoint(value) {
    return value.kind === "text" && typeof value.text === "string" && value.text.length < 20 && /^[\s\p{P}]*$/u.test(value.text);
  }

  /* Puts punctuation behind the medium that it follows; space alone needs no place. What comes back is an open row. */
  function flowing(box, strip, words) {
    const last = box.lastChild;
    if (words === "") return strip;
    if (last.classList.contains("words")) {
      last.append(nodes(words));
      return null;
    }
    const row = strip || el("div", { class: "strip" });
    if (!strip) {
      last.replaceWith(row);
      row.append(last);
    }
    row.append(el("span", { class: "words after" }, nodes(words)));
    return last.classList.contains("strip") || last.classList.contains("medium-image") ? row : null;
  }

  /* Pictures that follow each other stand in a row, as they would on a page. */
  function all(values) {
    const box = el("div", { class: "parts" });
    let strip = null;
    for (const value of values || []) {
      if (isJoint(value) && box.lastChild && values.length > 1) {
        strip = flowing(box, strip, value.text.trim());
      } else if (value.kind === "image" && !value.dangling) {
        strip = strip || box.appendChild(el("div", { class: "strip" }));
        mmeval.dom.append(strip, [part(value)]);
      } else {
        strip = null;
        mmeval.dom.append(box, [part(value)]);
      }
    }
    return box;
  }

  /* The answer as one text: words as they are, and a placeholder where a medium stands. */
  function raw(values) {
    return (values || []).map((value) => value.text !== undefined && value.kind !== "document" ? value.text : value.raw || `<<${value.label || value.kind}>>`).join("");
  }

  return { all, raw, enlarge };
})();

/* Elements: the one place where nodes are made. A value becomes a text node, or an attribute that is named here. */
"use strict";

const mmeval = {};

mmeval.dom = (() => {
  const ATTRIBUTES = new Set([
    "alt", "autocomplete", "checked", "class", "colspan", "controls", "decoding", "dir", "disabled", "for", "height",
    "hidden", "href", "id", "lang", "loading", "max", "maxlength", "min", "name", "open", "placeholder", "preload", "role",
    "scope", "selected", "spellcheck", "step", "tabindex", "title", "type", "value", "width",
  ]);

  function allowed(name, value) {
    if (name === "href") return String(value).startsWith("#");
    return ATTRIBUTES.has(name) || /^(aria|data)-[a-z-]+$/.test(name);
  }

  /* An element. Attributes that are null, undefined or false are left out; `on` holds listeners by event. */
  function el(tag, attributes, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name === "on") {
        for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
      } else if (value !== null && value !== undefined && value !== false) {
        if (!allowed(name, value)) throw new Error(`no such attribute here: ${name}`);
        node.setAttribute(name, value === true ? "" : String(value));
      }
    }
    append(node, children);
    return node;
  }

  function append(node, children) {
    for (const child of children.flat(Infinity)) {
      if (child === null || child === undefined || child === false) continue;
      node.append(child instanceof Node ? child : document.createTextNode(String(child)));
    }
  }

  function button(label, listener, attributes) {
    return el("button", { type: "button", ...attributes, on: { click: listener } }, label);
  }

  /* A drawing of one line with a name, in a box such as "0 0 16 16". */
  function drawing(name, path, box, kind) {
    const [svg, title, line] = ["svg", "title", "path"].map((tag) => document.createElementNS("http://www.w3.org/2000/svg", tag));
    for (const [attribute, value] of [["role", "img"], ["viewBox", box], ["class", kind], ["preserveAspectRatio", "none"]]) svg.setAttribute(attribute, value);
    title.textContent = name;
    line.setAttribute("d", path);
    svg.append(title, line);
    return svg;
  }

  const ON_DISK = /^file:\/\/\/[^/\\]/;
  const RELATIVE = /^(?![\s/]|[a-z][a-z0-9+.-]*:)/i;

  /* The address of a medium, or "" when it leads anywhere but into this folder or to a file on this disk. */
  function mediaAddress(text) {
    if (typeof text !== "string" || text === "" || /[\\\p{Cc}]/u.test(text)) return "";
    if (!ON_DISK.test(text) && !RELATIVE.test(text)) return "";
    let address;
    try {
      address = new URL(text, document.baseURI);
    } catch {
      return "";
    }
    if (address.protocol === "file:") return address.host === "" && !address.pathname.startsWith("//") ? address.href : "";
    return /^https?:$/.test(location.protocol) && address.origin === location.origin ? address.href : "";
  }

  /* Gives a picture, sound or video its medium; false when the address is none of ours. */
  function show(element, text) {
    const address = mediaAddress(text);
    if (address !== "") element.src = address;
    return address !== "";
  }

  return { el, append, button, drawing, show };
})();

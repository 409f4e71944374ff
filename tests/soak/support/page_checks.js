/* What tests ask of a page that is open: an object of functions, each of which returns what is wrong. */
({
  /* Elements that reach beyond the right edge and do not scroll in a box of their own. */
  tooWide() {
    return [...document.querySelectorAll("body *")]
      .filter((node) => !node.closest(".scroll, pre, .drawing, .skip, .row, .list, .gallery"))
      .filter((node) => node.getBoundingClientRect().right > innerWidth + 1)
      .map((node) => node.className || node.tagName);
  },

  /* Visible texts whose contrast with their ground is below what WCAG AA asks of normal text. */
  poorContrast() {
    const channel = (value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
    const light = ([red, green, blue]) => 0.2126 * channel(red) + 0.7152 * channel(green) + 0.0722 * channel(blue);
    const parsed = (text) => {
      const found = text.match(/[\d.]+/g).map(Number);
      return found.length === 3 ? [...found, 1] : found;
    };
    const ground = (node) => {
      for (let one = node; one; one = one.parentElement) {
        const colour = parsed(getComputedStyle(one).backgroundColor);
        if (colour[3] === 1) return colour;
      }
      return [255, 255, 255, 1];
    };
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const poor = new Set();
    while (walker.nextNode()) {
      const node = walker.currentNode.parentElement;
      if (!walker.currentNode.data.trim() || !node.checkVisibility()) continue;
      if (node.closest("svg, .skip, button:disabled, option")) continue;
      const both = [light(parsed(getComputedStyle(node).color)), light(ground(node))].sort((one, other) => other - one);
      const ratio = (both[0] + 0.05) / (both[1] + 0.05);
      if (ratio < 4.5) poor.add(`${node.tagName}.${node.className}: ${ratio.toFixed(2)}`);
    }
    return [...poor];
  },

  /* Visible controls and media without a name for a screen reader. */
  nameless() {
    return [...document.querySelectorAll("button, input, select, a, canvas, audio, video, img, summary")]
      .filter((node) => node.checkVisibility())
      .filter((node) => !(node.getAttribute("aria-label") || node.labels?.length || node.textContent.trim() || node.alt))
      .map((node) => node.outerHTML.slice(0, 100));
  },

  /* Elements and attributes that the page itself does not make, whoever has written them. */
  foreign() {
    const suspects = "script, iframe, object, embed, base, form, style, link, template, math, meta, [style], a, img, audio, video, source";
    const own = (node) =>
      (node.matches("ol.rows, .row, .tile-rows, .tile-row") && /^(height|top): \d+px;$/.test(node.getAttribute("style"))) ||
      (node.matches("a") && node.getAttribute("href").startsWith("#")) ||
      (node.matches("img") && node.src.startsWith("file:///") && node.src.includes("/media/")) ||
      (node.matches("head > meta") && node.parentElement.querySelectorAll("meta").length === 5) ||
      (node.matches("script, link") && /^(assets|data)\//.test(node.getAttribute("src") || node.getAttribute("href")));
    const handled = (node) => node.getAttributeNames().some((name) => name.startsWith("on") || name === "srcdoc");
    return [...document.querySelectorAll(suspects)].filter((node) => !own(node))
      .concat([...document.querySelectorAll("*")].filter(handled))
      .map((node) => node.outerHTML.slice(0, 200));
  },

  /* Unfolds every tree and fold, and shows raw texts. */
  unfold() {
    for (let round = 0; round < 6; round += 1) {
      for (const fold of document.querySelectorAll("details:not([open])")) fold.open = true;
    }
    for (const flip of document.querySelectorAll(".flip")) flip.click();
    return [];
  },

  /* How well the list or the gallery keeps up while it is scrolled from end to end: the milliseconds between frames. */
  frames() {
    return new Promise((done) => {
      const box = document.querySelector(".list:not([hidden]), .gallery:not([hidden])");
      const times = [];
      let last = performance.now();
      const frame = (now) => {
        times.push(now - last);
        last = now;
        box.scrollTop = (times.length / 120) * (box.scrollHeight - box.clientHeight);
        if (times.length < 120) requestAnimationFrame(frame);
        else done(times.slice(2));
      };
      requestAnimationFrame(frame);
    });
  },
})

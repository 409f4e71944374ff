/* Data: each file is a script that hands one value over; details come when they are looked at, and leave again. */
"use strict";

mmeval.data = (() => {
  const KEPT = { details: 12, mesh: 4 };
  const ADDRESS = /^(data\/(details|text|tiles)-\d{4,}\.js|media\/[0-9a-f]{64}\.js)$/;
  const arrived = { details: new Map(), text: new Map(), tiles: new Map(), mesh: new Map() };
  const underWay = new Map();
  const policy = window.trustedTypes
    ? window.trustedTypes.createPolicy("mmeval", { createScriptURL: vetted })
    : { createScriptURL: vetted };
  let index = null;

  function vetted(address) {
    if (!ADDRESS.test(address)) throw new Error("not a file of this report");
    return address;
  }

  /* What the files call. */
  mmeval.index = (value) => { index = value; };
  for (const kind of Object.keys(arrived)) {
    mmeval[kind] = (key, value) => {
      arrived[kind].delete(key);
      arrived[kind].set(key, value);
      while (arrived[kind].size > (KEPT[kind] || Infinity)) arrived[kind].delete(arrived[kind].keys().next().value);
    };
  }

  /* Loads a file once; fails with the name of the file that is not there. */
  function load(address, kind, key) {
    if (arrived[kind].has(key)) return Promise.resolve(arrived[kind].get(key));
    if (!underWay.has(address)) {
      underWay.set(address, fetched(address).finally(() => underWay.delete(address)));
    }
    return underWay.get(address).then(() => {
      if (!arrived[kind].has(key)) throw new Error(`${address} is damaged. mmeval report RUN writes the page again.`);
      return arrived[kind].get(key);
    });
  }

  function fetched(address) {
    return new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = policy.createScriptURL(address);
      script.addEventListener("load", () => { script.remove(); resolve(); });
      script.addEventListener("error", () => {
        script.remove();
        reject(new Error(`${address} cannot be read. mmeval report RUN writes the page again.`));
      });
      document.head.append(script);
    });
  }

  const padded = (number) => String(number).padStart(4, "0");

  async function trial(row) {
    const chunk = Math.floor(row / index.chunk);
    const trials = await load(`data/details-${padded(chunk)}.js`, "details", chunk);
    return trials[row % index.chunk];
  }

  function texts(chunk) {
    return load(`data/text-${padded(chunk)}.js`, "text", chunk);
  }

  /* The tile of a row, or undefined until `tiles` has loaded its file. */
  function tile(row) {
    return arrived.tiles.get(Math.floor(row / index.tile_chunk))?.[row % index.tile_chunk];
  }

  function tiles(row) {
    const chunk = Math.floor(row / index.tile_chunk);
    return load(`data/tiles-${padded(chunk)}.js`, "tiles", chunk);
  }

  function mesh(part) {
    return load(part.mesh, "mesh", part.sha256);
  }

  return { trial, texts, tile, tiles, mesh, index: () => index };
})();

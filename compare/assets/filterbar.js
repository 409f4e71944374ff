/* The controls of the filters: what is set in them is handed on, and they show what is set. */
"use strict";

mmeval.filterbar = (() => {
  const { el, button } = mmeval.dom;
  const { plain } = mmeval.controls;
  const SEARCH_AFTER = 200;
  const MOST_OPTIONS = 300;
  const grouped = (number) => number.toLocaleString("en");

  function field(title, control) {
    const id = `filter-${title.replace(/[^a-z0-9]+/gi, "-")}-${field.count = (field.count || 0) + 1}`;
    control.id = id;
    return el("div", { class: "field" }, el("label", { for: id, dir: "auto" }, plain(title)), control);
  }

  function select(title, every, options, changed) {
    const control = el("select", { on: { change: () => changed(control.value === "" ? "" : options[Number(control.value)].value) } }, el("option", { value: "" }, every),
      options.map((option, at) => el("option", { value: at }, plain(option.name))));
    const show = (value) => {
      const at = options.findIndex((option) => option.value === value);
      control.value = value === "" || at < 0 ? "" : String(at);
    };
    return { node: field(title, control), show };
  }

  /* A label with more values than anybody would choose from is typed. */
  function typed(title, changed) {
    const control = el("input", { type: "text", placeholder: "exact value", autocomplete: "off", spellcheck: "false", on: { change: () => changed(control.value) } });
    return { node: field(title, control), show: (value) => { control.value = value; } };
  }

  function named(values) {
    return [...new Set(values)].map((value) => ({ name: value === "" ? "(nothing)" : value, value }));
  }

  function taskNames(index) {
    const found = new Map(index.tasks.map((task) => [task.name, task.alias || task.name]));
    return [...found].map(([value, alias]) => ({ value, name: alias === value ? value : `${alias} (${value})` }));
  }

  /* Which selects there are: those that have something to choose from. */
  function selects(index, change) {
    const found = [];
    const add = (title, every, options, key) => {
      if (options.length > 1) found.push({ ...select(title, every, options, (value) => change({ [key]: value })), of: (filters) => filters[key] });
    };
    add("Run", "All runs", index.runs.map((run, at) => ({ name: `${run.model} / ${run.name}`, value: String(at) })), "run");
    add("Task", "All tasks", taskNames(index), "task");
    add("Kinds of the answer", "All kinds", named(index.rows.kinds).sort((one, other) => one.name.localeCompare(other.name)), "kinds");
    for (const label of index.labels) {
      if (label.values.length === 0) continue;
      const changed = (value) => change((filters) => {
        const labels = { ...filters.labels };
        if (value === "") delete labels[label.name];
        else labels[label.name] = value;
        return { labels };
      });
      const control = label.values.length > MOST_OPTIONS ? typed(label.name, changed) : select(label.name, "All values", named(label.values), changed);
      found.push({ ...control, of: (filters) => filters.labels[label.name] ?? "" });
    }
    return found;
  }

  /* The range of a metric: any two of its three controls may be left as they are. */
  function scores(index, change) {
    const metric = el("select", {}, el("option", { value: "" }, "Any score"), index.metrics.map((one, at) => el("option", { value: at }, plain(one.name))));
    const bound = (title) => el("input", { type: "number", step: "any", placeholder: title, "aria-label": `${title} score` });
    const [low, high] = [bound("lowest"), bound("highest")];
    const number = (input) => (input.value === "" ? null : Number(input.value));
    const changed = () => change({ score: metric.value === "" ? null : { metric: index.metrics[Number(metric.value)].name, low: number(low), high: number(high) } });
    for (const control of [metric, low, high]) control.addEventListener("change", changed);
    const show = ({ score }) => {
      const at = score ? index.metrics.findIndex((one) => one.name === score.metric) : -1;
      metric.value = at < 0 ? "" : String(at);
      low.value = score?.low ?? "";
      high.value = score?.high ?? "";
      low.disabled = high.disabled = at < 0;
    };
    return { node: el("div", { class: "scores-field" }, field("Score", metric), el("div", { class: "range" }, low, high)), show };
  }

  function search(change) {
    const input = el("input", { type: "search", id: "search", placeholder: "Search in texts", autocomplete: "off", spellcheck: "false", "aria-label": "Search in texts" });
    let timer = 0;
    input.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => change({ text: input.value.trim() }, true), SEARCH_AFTER);
    });
    const show = ({ text }) => { if (input.value.trim() !== text) input.value = text; };
    return { node: input, show };
  }

  function chips(index, change) {
    const flip = (name) => change((filters) => ({
      statuses: filters.statuses.includes(name) ? filters.statuses.filter((one) => one !== name) : [...filters.statuses, name],
    }));
    const all = index.statuses.map((name) => {
      const amount = el("span", { class: "amount" });
      const chip = button([el("span", { class: `dot status-${name}` }), name, " ", amount], () => flip(name), { class: "chip", "aria-pressed": "false" });
      return { name, amount, chip };
    });
    const show = (filters, counts) => all.forEach(({ name, amount, chip }, at) => {
      amount.textContent = grouped(counts[at]);
      chip.setAttribute("aria-pressed", String(filters.statuses.includes(name)));
      chip.hidden = counts[at] === 0 && !filters.statuses.includes(name);
    });
    return { node: el("div", { class: "chips", role: "group", "aria-label": "Status" }, all.map(({ chip }) => chip)), show };
  }

  /* How trials of a comparison came out; nothing of other reports. */
  function outcomes(index, change) {
    const all = (index.outcomes || []).map((name) =>
      button(name, () => change((filters) => ({ outcome: filters.outcome === name ? "" : name })), { class: "chip", "data-outcome": name, "aria-pressed": "false" }));
    const show = (filters) => all.forEach((chip) => chip.setAttribute("aria-pressed", String(chip.dataset.outcome === filters.outcome)));
    return { node: all.length ? el("div", { class: "chips", role: "group", "aria-label": "Outcome" }, all) : null, show };
  }

  /* The bar. `change` is given what is different, or a function of the filters; and whether more of it will follow. */
  function make(index, change) {
    const [searched, status, range, choices] = [search(change), chips(index, change), scores(index, change), selects(index, change)];
    const outcome = outcomes(index, change);
    const order = button("Failures first", () => change((filters) => mmeval.filters.flipped(index, filters)), { class: "chip", id: "failures-first", "aria-pressed": "false" });
    const byScore = [["Worst first", "lowest"], ["Best first", "highest"]].map(([title, name]) =>
      button(title, () => change((filters) => ({ order: filters.order === name ? "" : name })), { class: "chip", id: `${name}-scores`, "data-order": name, "aria-pressed": "false" }));
    const clear = button("Clear filters", () => change(mmeval.filters.none()), { class: "quiet", id: "clear" });
    const amount = el("span", { id: "count", role: "status", "aria-live": "polite" });
    const progress = el("span", { class: "progress" });
    const set = el("span", { class: "amount" });
    const all = index.outcomes ? index.rows.outcome.filter((one) => one >= 0).length : index.count;
    const fold = el("details", { class: "more-filters" }, el("summary", {}, "More filters ", set), el("div", { class: "fields" }, choices.map(({ node }) => node), range.node));
    const node = el("div", { class: "filterbar", role: "search", "aria-label": "Filters" },
      searched.node, el("div", { class: "bar-line" }, outcome.node, status.node, order, byScore), fold, el("div", { class: "bar-line count-line" }, amount, progress, clear));

    function show(filters, found) {
      searched.show(filters);
      range.show(filters);
      status.show(filters, found.counts);
      outcome.show(filters);
      for (const choice of choices) choice.show(choice.of(filters));
      const active = ["run", "task", "kinds"].filter((key) => filters[key] !== "").length + Object.keys(filters.labels).length + (filters.score ? 1 : 0);
      set.textContent = active ? `${active} set` : "";
      order.setAttribute("aria-pressed", String(mmeval.filters.order(index, filters) === "failures"));
      for (const chip of byScore) chip.setAttribute("aria-pressed", String(filters.order === chip.dataset.order));
      clear.hidden = mmeval.filters.isNone(filters);
      amount.textContent = `${grouped(found.rows.length)} of ${grouped(all)} ${all === 1 ? "trial" : "trials"}`;
    }

    /* How far the texts are read: `done` of `all` files. */
    function reading(done, all) {
      progress.replaceChildren(...(done < all ? [el("progress", { value: done, max: all, "aria-label": "Reading texts" }), ` reading texts, ${done} of ${all}`] : []));
    }

    const complain = (text) => progress.replaceChildren(text);
    return { node, show, reading, complain };
  }

  return { make };
})();

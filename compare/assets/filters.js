/* Filters: which rows match, and in which order. Values in, row numbers out. */
"use strict";

mmeval.filters = (() => {
  const SEVERITY = { failed: 0, unsupported: 1, unscored: 2, unavailable: 3, refused: 4, scored: 4, inapplicable: 5, uncounted: 6 };

  /* No filter at all. `statuses` is a list; `score` is {metric, low, high}; `labels` has a value by label. `order` is
     "failures", "lowest" or "highest" (the worst or the best score first, whatever the direction of its metric; a trial
     without a score comes last), "difference", "data", or "": of a comparison the largest difference first, else
     failures first where there are any. `outcome` is one of the index's, which a comparison has. */
  function none() {
    return { run: "", task: "", statuses: [], kinds: "", labels: {}, score: null, text: "", order: "", outcome: "" };
  }

  function isNone(filters) {
    return JSON.stringify({ ...filters, order: "" }) === JSON.stringify(none());
  }

  /* The order that is meant. */
  function order(index, filters) {
    if (index.outcomes && !filters.order) return "difference";
    return filters.order || (index.rows.status.includes(index.statuses.indexOf("failed")) ? "failures" : "data");
  }

  /* Failures first, or the order of the data where they are first already. */
  function flipped(index, filters) {
    return { order: order(index, filters) === "failures" ? "data" : "failures" };
  }

  /* Tests by column, each of them a function of a row; that of the status stands apart, for its counts. */
  function tests(index, filters, texts) {
    const rows = index.rows;
    const found = [];
    if (filters.run !== "" || filters.task !== "") {
      const wanted = index.tasks.map((task) =>
        (filters.run === "" || String(task.run) === filters.run) && (filters.task === "" || task.name === filters.task));
      found.push((row) => wanted[rows.task[row]]);
    }
    if (filters.outcome !== "") {
      const outcome = index.outcomes ? index.outcomes.indexOf(filters.outcome) : -2;
      found.push((row) => rows.outcome?.[row] === outcome);
    } else if (index.outcomes && filters.run === "") found.push((row) => rows.outcome[row] >= 0);
    if (filters.kinds !== "") found.push((row) => rows.kinds[row] === filters.kinds);
    for (const [name, value] of Object.entries(filters.labels)) {
      const label = index.labels.find((one) => one.name === name);
      const number = label ? label.values.indexOf(value) : -2;
      const column = label ? rows.labels[name] : [];
      found.push((row) => column[row] === number && number >= 0);
    }
    if (filters.score) found.push(scoreTest(rows.scores[filters.score.metric] || [], filters.score));
    if (filters.text !== "") found.push(textTest(rows, filters.text.toLowerCase(), texts));
    return found;
  }

  function scoreTest(column, { low, high }) {
    return (row) => {
      const value = column[row];
      return typeof value === "number" && (low === null || value >= low) && (high === null || value <= high);
    };
  }

  function textTest(rows, wanted, texts) {
    return (row) =>
      rows.sample[row].toLowerCase().includes(wanted) || rows.title[row].toLowerCase().includes(wanted) ||
      (texts[row] !== undefined && texts[row].includes(wanted));
  }

  /* {rows: numbers in their order, counts: how many of each status there are without the filter of statuses}. */
  function matching(index, filters, texts) {
    const chosen = new Set(filters.statuses.map((name) => index.statuses.indexOf(name)));
    const every = tests(index, filters, texts);
    const counts = index.statuses.map(() => 0);
    const rows = [];
    for (let row = 0; row < index.count; row += 1) {
      if (!every.every((test) => test(row))) continue;
      const status = index.rows.status[row];
      counts[status] += 1;
      if (chosen.size === 0 || chosen.has(status)) rows.push(row);
    }
    const given = index.runs.length > 1 ? besideEachOther(index) : (one, other) => one - other;
    const wanted = order(index, filters);
    if (wanted === "failures") worstFirst(index, filters, rows, given);
    else if (wanted === "difference") largestFirst(index, rows, given);
    else if (wanted === "lowest") byScore(index, filters, rows, given, 1);
    else if (wanted === "highest") byScore(index, filters, rows, given, -1);
    else if (index.runs.length > 1) rows.sort(given);
    return { rows, counts };
  }

  /* Compares rows so that the trials of one sample stand together: by task, sample, repeat and run. */
  function besideEachOther(index) {
    const { task, index: place, repeat } = index.rows;
    const names = index.tasks.map((one) => one.name);
    const first = names.map((name) => names.indexOf(name));
    const runs = index.tasks.map((one) => one.run);
    return (one, other) =>
      first[task[one]] - first[task[other]] || place[one] - place[other] || repeat[one] - repeat[other] ||
      runs[task[one]] - runs[task[other]] || one - other;
  }

  /* How good the score is that the list shows of a row; null where it shows none. */
  function goodness(index, filters, row) {
    return mmeval.scores.goodness(index, mmeval.scores.judging(index, filters, row), row);
  }

  /* Failures, then what has no score, then the lowest of the scores that the list shows. The trials of one sample in several runs stand together, by the worst of them. */
  function worstFirst(index, filters, rows, order) {
    const severity = index.statuses.map((name) => SEVERITY[name] ?? 3);
    const key = new Map(rows.map((row) => [row, severity[index.rows.status[row]] + (goodness(index, filters, row) ?? 1) / 2]));
    if (index.runs.length > 1) {
      const { task, index: place, repeat } = index.rows;
      const sample = (row) => JSON.stringify([index.tasks[task[row]].name, place[row], repeat[row]]);
      const worst = new Map();
      for (const row of rows) worst.set(sample(row), Math.min(key.get(row), worst.get(sample(row)) ?? Infinity));
      for (const row of rows) key.set(row, worst.get(sample(row)));
    }
    rows.sort((one, other) => key.get(one) - key.get(other) || order(one, other));
  }

  /* Of a comparison: the largest difference first, then trials that one run alone has, then ties. */
  function largestFirst(index, rows, order) {
    const { size } = index.rows;
    rows.sort((one, other) => (size?.[other] ?? 0) - (size?.[one] ?? 0) || order(one, other));
  }

  /* The scores that the list shows, from the worst (`sign` 1) or the best (-1); what has none comes last. */
  function byScore(index, filters, rows, order, sign) {
    const scored = index.statuses.indexOf("scored");
    const place = (row) => {
      const rate = index.rows.status[row] === scored ? goodness(index, filters, row) : null;
      return rate === null ? Infinity : sign * rate;
    };
    const places = new Map(rows.map((row) => [row, place(row)]));
    const compare = (one, other) => (one === other ? 0 : one - other);
    rows.sort((one, other) => compare(places.get(one), places.get(other)) || order(one, other));
  }

  return { none, isNone, matching, order, flipped };
})();

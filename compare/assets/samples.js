/* The samples: filters, list or gallery, and the chosen trial, each drawn from the state that the address holds. */
"use strict";

mmeval.samples = (() => {
  const { el, button } = mmeval.dom;
  const { plain } = mmeval.controls;
  /* Answers of other runs that stand beside that of a trial. */
  const BESIDE = 5;

  /* Reads what the text filter searches, file by file, and says after each of them how far it is. */
  function reader(index, progress) {
    const texts = [];
    const files = Math.ceil(index.count / index.text_chunk);
    let begun = null;
    async function read() {
      for (let file = 0; file < files; file += 1) {
        progress(file, files);
        const found = await mmeval.data.texts(file);
        found.forEach((text, at) => { texts[file * index.text_chunk + at] = text.toLowerCase(); });
      }
      progress(files, files);
    }
    return { texts, begin: () => { begun = begun || read(); return begun; } };
  }

  function trialOf(index, row) {
    const task = index.tasks[index.rows.task[row]];
    return { run: task.run, task: task.name, index: index.rows.index[row], repeat: index.rows.repeat[row] };
  }

  function rowOf(index, trial) {
    const wanted = index.tasks.map((task) => task.name === trial.task && task.run === trial.run);
    for (let row = 0; row < index.count; row += 1) {
      if (wanted[index.rows.task[row]] && index.rows.index[row] === trial.index && index.rows.repeat[row] === trial.repeat) return row;
    }
    return -1;
  }

  /* What the list and the gallery show of a row. */
  function describer(index, filters, href) {
    return (row) => {
      const rows = index.rows;
      const task = index.tasks[rows.task[row]];
      const metric = mmeval.scores.judging(index, filters(), row);
      const isScored = typeof rows.scores[metric]?.[row] === "number";
      const status = index.statuses[rows.status[row]];
      const outcome = outcomeOf(index, row);
      const facts = [outcome, index.runs.length > 1 ? called(index, task.run) : "", rows.sample[row], index.tasks.length > 1 ? task.alias || task.name : ""];
      if (rows.repeat[row] > 0) facts.push(`repeat ${rows.repeat[row] + 1}`);
      return {
        href: href(row), title: rows.title[row], sample: rows.sample[row], facts: facts.filter(Boolean), status, metric, kinds: rows.kinds[row],
        score: status === "scored" && isScored ? mmeval.scores.chip(index, metric, row) : null,
      };
    };
  }

  /* How a trial of a comparison came out, and by how much; empty for those of the reference. */
  function outcomeOf(index, row) {
    const name = index.outcomes?.[index.rows.outcome[row]];
    const difference = index.rows.difference?.[row];
    if (name === undefined) return "";
    return typeof difference === "number" && difference !== 0 ? `${name} ${difference > 0 ? "+" : "−"}${mmeval.scores.number(Math.abs(difference))}` : name;
  }

  /* What tells a run apart: its model, where that is enough. */
  function called(index, run) {
    const { model, name } = index.runs[run];
    return index.runs.filter((other) => other.model === model).length > 1 ? `${model} / ${name}` : model;
  }

  /* The scores of a trial, the one by which it is judged first. */
  function scoresOf(index, filters, row) {
    const judging = mmeval.scores.judging(index, filters, row);
    const names = index.metrics.map((metric) => metric.name).filter((name) => typeof index.rows.scores[name][row] === "number");
    names.sort((one, other) => (other === judging) - (one === judging));
    return names.map((name) => ({ name, chip: mmeval.scores.chip(index, name, row) }));
  }

  /* All that the head of the pane says, from the columns alone. */
  function about(index, filters, row, href) {
    const rows = index.rows;
    const task = index.tasks[rows.task[row]];
    const others = [];
    const across = [];
    let repeats = 1;
    for (let other = 0; other < index.count && others.length < 20; other += 1) {
      const of = index.tasks[rows.task[other]];
      if (rows.sample[other] !== rows.sample[row] || of.name !== task.name || other === row) continue;
      if (of.run === task.run) repeats += 1;
      const name = of.run === task.run ? `repeat ${rows.repeat[other] + 1}` : `${called(index, of.run)}${rows.repeat[other] ? `, repeat ${rows.repeat[other] + 1}` : ""}`;
      others.push({ name, href: href(other) });
      if (of.run !== task.run && rows.repeat[other] === rows.repeat[row] && across.length < BESIDE) across.push({ row: other, name: called(index, of.run) });
    }
    return {
      title: rows.title[row], outcome: outcomeOf(index, row), scores: scoresOf(index, filters, row), task: task.alias || task.name, sample: rows.sample[row], repeat: rows.repeat[row], repeats, others, across,
      name: index.runs.length > 1 ? called(index, task.run) : "",
      run: index.runs.length > 1 ? `${index.runs[task.run].model} / ${index.runs[task.run].name}` : "", status: index.statuses[rows.status[row]],
    };
  }

  /* Another run's answer, which may be in a file that has gone. */
  function answerOf({ row, name }) {
    return mmeval.data.trial(row).then((trial) => ({ name, trial }), (error) => ({ name, reason: error.message }));
  }

  function make(root, index, go, hrefOf) {
    let state = { filters: mmeval.filters.none(), trial: null };
    let found = { rows: [], counts: index.statuses.map(() => 0) };
    let filtered = null;
    let opened = -1;
    let turns = 0; /* a trial that is left and opened again while its file arrives is shown once */
    let refreshed = 0;
    const bar = mmeval.filterbar.make(index, (change, typing) => {
      const difference = typeof change === "function" ? change(meant()) : change;
      go({ ...state, filters: { ...state.filters, ...difference } }, Boolean(typing));
    });
    const read = reader(index, (done, all) => {
      bar.reading(done, all);
      if (done < all && performance.now() - refreshed < 300) return;
      refreshed = performance.now();
      if (state.filters.text === "") return;
      refresh();
      update();
    });
    const href = (row) => hrefOf({ ...state, trial: trialOf(index, row) });
    const isNarrow = window.matchMedia("(max-width: 820px)");
    const listBox = el("div", { class: "list", tabindex: "0", role: "region", "aria-label": "Trials that match" });
    const describe = describer(index, () => state.filters, href);
    const list = mmeval.list.make(listBox, describe);
    const galleryBox = el("div", { class: "gallery", tabindex: "0", role: "region", "aria-label": "Answers that match", hidden: true });
    const gallery = mmeval.gallery.make(galleryBox, index, describe, index.runs.map((_, run) => called(index, run)));
    const none = el("p", { class: "nothing", hidden: true }, "No trial matches.");
    const pane = mmeval.pane.make({ close: () => back(), step: (by) => step(by) });
    mmeval.dom.append(root, [el("aside", { class: "side", "aria-label": "List of trials" }, bar.node, none, listBox, galleryBox), pane.node]);

    const inGallery = () => state.view === "gallery";

    /* The filters with the order that is meant: the gallery begins with the worst answers. */
    function meant() {
      const order = state.filters.order || (inGallery() && !index.outcomes ? "lowest" : "");
      return { ...state.filters, order };
    }

    function refresh() {
      found = mmeval.filters.matching(index, meant(), read.texts);
      none.hidden = found.rows.length > 0;
      if (inGallery()) gallery.set(found.rows, index.runs.length > 1 && state.filters.run === "");
      else list.set(found.rows);
      bar.show(meant(), found);
      pane.place(found.rows.indexOf(opened), found.rows.length);
    }

    /* The trial that is shown: the chosen one, else beside the list its first. */
    function shownRow() {
      if (state.trial) return rowOf(index, state.trial);
      return inGallery() || isNarrow.matches || !found.rows.length ? -1 : found.rows[0];
    }

    async function open(row) {
      const turn = turns += 1;
      opened = row;
      if (row === -1) {
        pane.clear(state.trial ? "There is no such trial in this report." : "");
        return;
      }
      const head = about(index, state.filters, row, href);
      pane.head(mmeval.trial.heading(head));
      pane.place(found.rows.indexOf(row), found.rows.length);
      try {
        const trial = await mmeval.data.trial(row);
        const others = await Promise.all(head.across.map(answerOf));
        if (turn === turns) pane.body(mmeval.trial.body(trial, others, head.name));
      } catch (error) {
        if (turn === turns) pane.body([el("p", { class: "failure" }, plain(error.message))]);
      }
    }

    function show(next) {
      state = next;
      document.body.classList.toggle("in-gallery", inGallery());
      document.body.classList.toggle("has-trial", Boolean(state.trial));
      listBox.hidden = inGallery();
      galleryBox.hidden = !inGallery();
      const key = JSON.stringify([state.view, state.filters]);
      if (key !== filtered) {
        filtered = key;
        listBox.scrollTop = galleryBox.scrollTop = 0;
        refresh();
        if (state.filters.text !== "") read.begin().catch((error) => bar.complain(plain(error.message)));
      }
      update();
    }

    /* Shows the trial of the state, and marks it in the list. */
    function update() {
      const row = shownRow();
      if (row !== opened || row === -1) open(row);
      if (state.trial) list.choose(row);
      else list.mark(row);
    }

    function step(by, key) {
      if (inGallery() && !state.trial) {
        gallery.move(key);
        return;
      }
      const at = found.rows.indexOf(opened);
      const position = at < 0 ? (by > 0 ? 0 : found.rows.length - 1) : at + by;
      if (position < 0 || position >= found.rows.length) return;
      go({ ...state, view: inGallery() ? "gallery" : "samples", trial: trialOf(index, found.rows[position]) }, state.trial !== null);
    }

    function back() {
      const last = opened;
      if (state.trial) {
        go({ ...state, trial: null });
        (inGallery() ? gallery : list).focus(last);
      } else if (!mmeval.filters.isNone(state.filters)) go({ ...state, filters: mmeval.filters.none() });
    }

    const flip = () => go({ ...state, filters: { ...state.filters, ...mmeval.filters.flipped(index, meant()) } });
    isNarrow.addEventListener("change", () => { if (state.view !== "results") update(); });
    return { show, step, back, flip };
  }

  return { make };
})();

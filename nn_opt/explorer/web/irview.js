// IR before and after a pass, side by side.

import { button, copyButton, h } from "./dom.js";
import { lineSpans } from "./highlight.js";
import { LongList } from "./list.js";
import { Search } from "./search.js";
import { belongsTo, buildRows, unifyRows, wordMarks } from "./rows.js";
import { remember, remembered, state, update } from "./state.js";
import { Stepper } from "./stepper.js";

export class IrView {
  constructor(model, selection) {
    this.model = model;
    this.selection = selection;
    this.fold = remembered("fold", "yes") === "yes";
    this.open = new Map();
    this.value = null; // the name of a value that is marked wherever it is, and the part it is in
    this.list = new LongList("IR before and after the pass", (row, index) =>
      this.drawRow(row, index),
    );
    this.unified = remembered("unified", "") === "yes";
    this.narrow = matchMedia("(max-width: 820px)");
    this.narrow.addEventListener("change", () => this.show());
    this.functions = h("select", {
      id: "function",
      "aria-label": "Function",
      onchange: (event) => update({ fn: event.target.value }),
    });
    this.folding = button("Fold unchanged", () => this.setFold(!this.fold), { id: "fold" });
    this.splitting = button("Side by side", () => this.setUnified(!this.unified), { id: "split" });
    this.search = new Search(this);
    this.stepper = new Stepper(this);
    this.bar = h(
      "div",
      { class: "toolbar" },
      this.functions,
      this.folding,
      this.splitting,
      button("↑ change", () => this.jump(-1), {
        title: "previous change (p)",
        "aria-label": "Previous change",
      }),
      button("↓ change", () => this.jump(1), {
        title: "next change (n)",
        "aria-label": "Next change",
      }),
      copyButton("Copy", () => this.textShown(), {
        title: "copy what is shown on the right",
        id: "copy-ir",
      }),
      this.stepper.element,
      this.search.input,
      this.search.found,
    );
    this.titles = h("div", { class: "pane-titles" });
    this.notice = h("div", { class: "notice", role: "alert", hidden: true });
    this.element = h(
      "section",
      { class: "view ir", "aria-label": "IR" },
      this.bar,
      this.notice,
      this.titles,
      this.list.element,
    );
  }

  // The module after the pass, or the function of it that is chosen.
  textShown() {
    const items = this.rewrite ? [this.rewrite.after] : this.model.snapshots[this.snapshots[1]];
    const wanted = items.filter((item) => this.rewrite || !state.fn || belongsTo(item, state.fn));
    return wanted.flatMap((item) => item.part.lines).join("\n");
  }

  get step() {
    return Number(state.pass);
  }

  get snapshots() {
    const k = this.step;
    if (k < 0) return [null, 0];
    return [k, Math.min(k + 1, this.model.last)];
  }

  setFold(value) {
    this.fold = value;
    this.open.clear();
    remember("fold", value ? "yes" : "no");
    this.show();
  }

  setUnified(value) {
    this.unified = value;
    remember("unified", value ? "yes" : "");
    this.show();
  }

  show() {
    const step = this.model.steps[this.step];
    this.rewrite =
      state.rewrite === "" ? null : this.model.rewrite(this.step, Number(state.rewrite));
    this.stepper.show(step);
    if (this.rewrite) {
      const { before, after } = this.rewrite;
      this.fillRows(
        [before],
        [after],
        true,
        { fn: "", fold: this.fold, open: this.open, diff: true, originOf: () => null },
        step,
      );
      return;
    }
    const [before, after] = this.snapshots;
    const [left, right] = [
      before === null ? null : this.model.snapshots[before],
      this.model.snapshots[after],
    ];
    this.drawFunctions(left, right);
    const diff = before !== null && !!step?.changed;
    const options = {
      fn: state.fn,
      fold: this.fold,
      open: this.open,
      diff,
      originOf: (item) => this.model.originOf(after, item),
    };
    this.fillRows(left, right, diff, options, step);
  }

  fillRows(left, right, diff, options, step) {
    const isPlain = !left || !diff;
    const isUnified = !isPlain && (this.unified || this.narrow.matches);
    const rows = buildRows(isPlain ? null : left, right, options);
    this.rows = isUnified ? unifyRows(rows) : rows;
    this.element.classList.toggle("plain", isPlain);
    this.element.classList.toggle("unified", isUnified);
    this.splitting.setAttribute("aria-pressed", String(!isUnified));
    this.folding.setAttribute("aria-pressed", String(this.fold));
    this.notice.hidden = !step?.error;
    this.notice.textContent = step?.error ?? "";
    this.drawTitles(step, isPlain, isUnified);
    let columns = 0;
    for (const row of this.rows)
      if (row.type === "line")
        columns = Math.max(
          columns,
          row.l >= 0 ? row.left.part.lines[row.l].length : 0,
          row.r >= 0 ? row.right.part.lines[row.r].length : 0,
        );
    this.list.show(this.rows, columns);
  }

  drawTitles(step, isPlain, isUnified) {
    if (this.rewrite) {
      const names = isUnified
        ? [`what ${this.rewrite.pattern} did`]
        : [`before ${this.rewrite.pattern}`, `after ${this.rewrite.pattern}`];
      this.titles.replaceChildren(...names.map((name) => h("span", {}, name)));
    } else if (!step) this.titles.replaceChildren(h("span", {}, "What was read"));
    else if (isPlain)
      this.titles.replaceChildren(
        h(
          "span",
          {},
          step.error ? `What ${step.name} was given, or left` : `${step.name} changed nothing`,
        ),
      );
    else if (isUnified) this.titles.replaceChildren(h("span", {}, `what ${step.name} did`));
    else
      this.titles.replaceChildren(
        h("span", {}, `before ${step.name}`),
        h("span", {}, `after ${step.name}`),
      );
  }

  drawFunctions(left, right) {
    const names = this.model.functions(left, right);
    const changed = new Set();
    if (left) {
      const before = new Map(left.map((item) => [`${item.kind} ${item.name}`, item.number]));
      for (const item of right)
        if (before.get(`${item.kind} ${item.name}`) !== item.number) changed.add(item.name);
    }
    const options = names.map((name) =>
      h("option", { value: name }, `${changed.has(name) ? "● " : "   "}${name}`),
    );
    const gone =
      state.fn && !names.includes(state.fn)
        ? [h("option", { value: state.fn }, `${state.fn} (not here)`)]
        : [];
    this.functions.replaceChildren(
      h("option", { value: "" }, `All functions (${names.length})`),
      ...options,
      ...gone,
    );
    this.functions.value = state.fn;
  }

  drawRow(row, index) {
    if (row.type === "head") return this.drawHead(row);
    if (row.type === "fold")
      return button(`⋯ ${row.count} unchanged lines`, () => this.unfold(row.id), {
        class: "row fold-row",
      });
    const kind = row.same ? "" : row.changed ? "modified" : row.l < 0 ? "added" : "removed";
    const marks = row.changed ? wordMarks(row) : null;
    const element = h("div", { class: `row line ${kind}`, data: { row: index } });
    const [old, now] = [
      () => this.drawSide(row, "before", row.left, row.l, marks?.[0]),
      () => this.drawSide(row, "after", row.right, row.r, marks?.[1]),
    ];
    if (this.element.classList.contains("plain")) element.append(...now());
    else if (!this.element.classList.contains("unified")) element.append(...old(), ...now());
    else {
      const [numberBefore, before] = old();
      const [numberAfter, after] = now();
      element.append(numberBefore, numberAfter, row.r >= 0 ? after : before);
    }
    return element;
  }

  drawSide(row, side, item, line, words) {
    const [before, after] = this.snapshots;
    const empty = line < 0;
    const level =
      empty || this.rewrite
        ? ""
        : this.selection.levelOf(side === "before" ? before : after, item, line);
    const classes = `cell ${side} ${empty ? "empty" : ""} ${level}`;
    const number = h(
      "span",
      { class: `number ${side} ${empty ? "empty" : ""}` },
      empty ? "" : String(line + 1),
    );
    if (empty) return [number, h("span", { class: classes })];
    const text = item.part.lines[line];
    const marks = [
      ...(words ?? []).map(([from, to]) => [from, to, "word"]),
      ...this.search.marks(text),
      ...this.readers(item, text),
    ];
    const inner = h("span", { class: "shift" }, ...lineSpans(text, "mlir", marks));
    return [
      number,
      h(
        "span",
        {
          class: classes,
          onclick: (event) => this.choose(side, item, line, event.target),
          ondblclick: (event) => this.follow(event.target),
        },
        inner,
      ),
    ];
  }

  drawHead(row) {
    const { added, removed } = row.counts;
    const counts = [
      added ? h("span", { class: "more" }, `+${added}`) : "",
      removed ? h("span", { class: "less" }, `−${removed}`) : "",
    ];
    const what =
      { function: "@", script: "schedule of @", other: "", module: "" }[row.item.kind] +
      (row.left && row.right && row.left.name !== row.right.name ? `${row.left.name} → @` : "") +
      row.item.name;
    const note =
      !row.left && row.right && row.touched
        ? "new"
        : row.left && !row.right
          ? "gone"
          : row.touched || !row.left
            ? ""
            : "unchanged";
    return button(
      [
        h("span", { class: "twist" }, row.expanded ? "▾" : "▸"),
        h("span", { class: "name" }, what),
        ...counts,
        h("span", { class: "note" }, note),
      ],
      () => {
        this.open.set(row.id, !row.expanded);
        this.show();
      },
      {
        class: `row head ${row.touched ? "touched" : ""}`,
        "aria-expanded": String(!!row.expanded),
      },
    );
  }

  unfold(id) {
    this.open.set(id, true);
    this.show();
  }

  choose(side, item, line, target) {
    const name = target.classList.contains("t-value") ? target.textContent : null;
    this.value =
      name && !(this.value?.name === name && this.value.number === item.number)
        ? { name, number: item.number }
        : null;
    const [before, after] = this.snapshots;
    const at = side === "before" ? before : after;
    const address = `${item.name}:${item.kind === "function" ? "" : item.kind}:${line + 1}`;
    this.list.refresh();
    if (this.rewrite) return;
    const again = !name && state.line === address && Number(state.at || -1) === at;
    update(
      again
        ? { line: "", at: "" }
        : { line: address, at, tab: state.tab === "pass" ? "trail" : state.tab },
    );
  }

  // Shows the function that a symbol names.
  follow(target) {
    const name = target.classList.contains("t-symbol")
      ? target.textContent.slice(1).replace(/^"|"$/g, "")
      : "";
    if (this.model.functions(this.model.snapshots[this.snapshots[1]]).includes(name))
      update({ fn: name, line: "", at: "" });
  }

  // Where the marked value is defined or read in a line.
  readers(item, text) {
    if (this.value?.number !== item.number) return [];
    const found = [];
    const { name } = this.value;
    for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1))
      if (!/[\w$.-]/.test(text[at + name.length] ?? ""))
        found.push([at, at + name.length, "same-value"]);
    return found;
  }

  // Goes to the next stretch of changed lines.
  jump(by) {
    if (this.rewrite) {
      this.stepper.go(Number(state.rewrite) + by);
      return;
    }
    const isChange = (k) => this.rows[k].type === "line" && !this.rows[k].same;
    const starts = this.rows
      .map((_, k) => k)
      .filter((k) => isChange(k) && (k === 0 || !isChange(k - 1)));
    if (!starts.length) return;
    const at = this.jumped ?? -1;
    const next =
      by > 0
        ? (starts.find((k) => k > at) ?? starts[0])
        : (starts.findLast((k) => k < at) ?? starts[starts.length - 1]);
    this.jumped = next;
    this.list.reveal(next, true);
  }

  reset() {
    this.jumped = undefined;
    this.open.clear();
    this.list.scroller.scrollTop = 0;
  }

  // Brings the chosen line, or what it came from or became, into sight.
  revealSelection() {
    if (this.rewrite) return;
    const [before, after] = this.snapshots;
    const hits = (row) =>
      row.type === "line" &&
      ((row.r >= 0 && this.selection.levelOf(after, row.right, row.r)) ||
        (row.l >= 0 && before !== null && this.selection.levelOf(before, row.left, row.l)));
    let index = this.rows.findIndex(hits);
    if (index < 0 && this.openSelected()) {
      this.show();
      index = this.rows.findIndex(hits);
    }
    if (index >= 0) this.list.reveal(index);
    else this.list.refresh();
  }

  // Unfolds the function that holds the selection; returns whether there is one.
  openSelected() {
    const after = this.snapshots[1];
    const op = [...this.selection.opsAt(after)][0];
    if (op === undefined) return false;
    const { item } = this.model.place(after, op);
    if (state.fn && state.fn !== item.name) return false;
    for (const row of this.rows)
      if (row.type === "head" && row.item === item) this.open.set(row.id, true);
    for (const row of this.rows)
      if (row.type === "fold" && row.id.startsWith(`${item.kind} ${item.name} `))
        this.open.set(row.id, true);
    return true;
  }
}

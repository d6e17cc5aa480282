// Generated text, function by function, beside the IR that it comes from: a tab for each language.

import { button, copyButton, h, plural } from "./dom.js";
import { lineSpans } from "./highlight.js";
import { LongList, ROW } from "./list.js";
import { belongsTo } from "./rows.js";
import { remember, remembered, state, update } from "./state.js";

const NOTHING = -1; // beside the code

export class CodeView {
  constructor(model, selection) {
    this.model = model;
    this.selection = selection;
    this.language = remembered("language", "");
    // Machine code is written from the llvm dialect, which looks like it: what was before says more.
    const isLow = model.raw.emitted.some((emitter) => emitter.name === "llvm-ir");
    this.beside = Math.max(0, model.last - (isLow ? 1 : 0));
    this.tabs = h("div", { class: "segments", role: "tablist", "aria-label": "Language" });
    this.functions = h("select", {
      "aria-label": "Function",
      onchange: (event) => update({ fn: event.target.value }),
    });
    this.levels = h("select", {
      "aria-label": "IR beside the code",
      onchange: (event) => this.setBeside(Number(event.target.value)),
    });
    this.facts = h("span", { class: "facts" });
    this.copy = copyButton("Copy", () => this.rows.map((row) => row.text).join("\n"));
    this.code = new LongList("Generated code", (row) => this.drawRow(row, this.emitter.language));
    this.ir = new LongList("IR beside the code", (row) => this.drawRow(row, "mlir"));
    this.halves = h("div", { class: "halves" }, this.ir.element, this.code.element);
    this.element = h(
      "section",
      { class: "view code", "aria-label": "Generated code" },
      h("div", { class: "toolbar" }, this.tabs, this.functions, this.levels, this.copy, this.facts),
      this.halves,
    );
    this.rows = [];
  }

  show() {
    const all = this.model.raw.emitted;
    this.levels.hidden = this.functions.hidden = this.copy.hidden = !all.length;
    if (!all.length) {
      this.facts.textContent =
        "No code: --compile ends in LLVM IR and assembly; --optimize-graph --lower-to-loops --lower-to-c in C and JavaScript.";
      this.tabs.replaceChildren();
      this.halves.hidden = true;
      return;
    }
    this.emitter = all.find((emitter) => emitter.name === this.language) ?? all[0];
    this.tabs.replaceChildren(
      ...all.map((emitter) =>
        button(emitter.title, () => this.choose(emitter.name), {
          role: "tab",
          "aria-selected": String(emitter === this.emitter),
        }),
      ),
    );
    const names = [...new Set(this.emitter.pieces.map((piece) => piece.name.split(".")[0]))];
    this.functions.replaceChildren(
      h("option", { value: "" }, "All functions"),
      ...names.map((name) => h("option", { value: name }, name)),
    );
    this.functions.value = names.includes(state.fn) ? state.fn : "";
    this.drawLevels();
    this.fill(this.functions.value);
  }

  drawLevels() {
    const steps = this.model.steps.filter((step) => step.changed);
    this.levels.replaceChildren(
      h("option", { value: NOTHING }, "No IR beside"),
      h("option", { value: 0 }, "Beside: input"),
      ...steps.map((step) => h("option", { value: step.number + 1 }, `Beside: after ${step.name}`)),
    );
    const nearest = steps.findLast((step) => step.number + 1 <= this.beside);
    this.levels.value = this.beside === NOTHING ? NOTHING : nearest ? nearest.number + 1 : 0;
  }

  fill(name) {
    const shown = this.emitter.pieces.filter((piece) => !name || piece.name.split(".")[0] === name);
    this.rows = shown.flatMap((piece) => {
      const lines = piece.text.split("\n").map((text, k) => ({
        text: text.replaceAll("\t", "    "),
        number: k + 1,
        snapshot: this.model.last,
        ops: piece.ops[k] < 0 ? [] : [piece.ops[k]],
      }));
      return [...lines, { text: "", number: "", ops: [] }];
    });
    this.facts.textContent = `${plural(shown.length, "piece")}, ${plural(this.rows.length, "line")}`;
    showRows(this.code, this.rows);
    const level = Number(this.levels.value);
    this.halves.classList.toggle("alone", level === NOTHING);
    this.irRows = level === NOTHING ? [] : this.irOf(level, name);
    showRows(this.ir, this.irRows);
  }

  irOf(snapshot, name) {
    const items = this.model.snapshots[snapshot].filter((item) => item.kind === "function");
    const mine = items.filter((item) => belongsTo(item, name));
    return (
      mine.length ? mine : name ? items.filter((item) => item.name === "main") : items
    ).flatMap((item) =>
      item.part.lines.map((text, k) => ({
        text,
        number: k + 1,
        snapshot,
        ops: item.part.opsAt(k).map((op) => item.first + op),
      })),
    );
  }

  choose(name) {
    this.language = name;
    remember("language", name);
    this.show();
    this.revealSelection();
  }

  setBeside(snapshot) {
    this.beside = snapshot;
    this.show();
    this.revealSelection();
  }

  drawRow(row, language) {
    return h(
      "div",
      { class: "row line" },
      h("span", { class: "number" }, String(row.number)),
      h(
        "span",
        { class: `cell ${this.levelOf(row)}`, onclick: () => this.chooseRow(row) },
        h("span", { class: "shift" }, ...lineSpans(row.text, language)),
      ),
    );
  }

  levelOf(row) {
    if (!row.ops.length || this.selection.isEmpty) return "";
    const ops = this.selection.opsAt(row.snapshot);
    if (!row.ops.some((op) => ops.has(op))) return "";
    return this.selection.snapshot === row.snapshot ? "chosen" : "related";
  }

  chooseRow(row) {
    if (!row.ops.length) return;
    const { item, line } = this.model.place(row.snapshot, row.ops[0]);
    update({
      at: row.snapshot,
      line: `${item.name}:${item.kind === "function" ? "" : item.kind}:${line + 1}`,
      tab: state.tab === "pass" ? "trail" : state.tab,
    });
  }

  revealSelection() {
    this.reveal(this.code, this.rows);
    this.reveal(this.ir, this.irRows ?? []);
  }

  reveal(list, rows) {
    const [top, bottom] = [
      list.firstInSight,
      list.firstInSight + list.scroller.clientHeight / ROW - 1,
    ];
    const marked = rows.map((_, k) => k).filter((k) => this.levelOf(rows[k]));
    if (marked.length && !marked.some((k) => k >= top && k < bottom)) list.reveal(marked[0]);
    else list.refresh();
  }
}

function showRows(list, rows) {
  list.show(
    rows,
    rows.reduce((most, row) => Math.max(most, row.text.length), 0),
  );
}

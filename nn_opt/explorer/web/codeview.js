// Generated text, function by function: a tab for each language.

import { button, h, plural } from "./dom.js";
import { lineSpans } from "./highlight.js";
import { LongList, ROW } from "./list.js";
import { remember, remembered, state, update } from "./state.js";

export class CodeView {
  constructor(model, selection) {
    this.model = model;
    this.selection = selection;
    this.language = remembered("language", "");
    this.tabs = h("div", { class: "segments", role: "tablist", "aria-label": "Language" });
    this.functions = h("select", { "aria-label": "Function", onchange: (event) => update({ fn: event.target.value }) });
    this.facts = h("span", { class: "facts" });
    this.copy = button("Copy", () => navigator.clipboard?.writeText(this.lines.join("\n")));
    this.list = new LongList("Generated code", (row, index) => this.drawRow(row, index));
    this.element = h("section", { class: "view code", "aria-label": "Generated code" },
      h("div", { class: "toolbar" }, this.tabs, this.functions, this.copy, this.facts), this.list.element);
    this.lines = [];
  }

  show() {
    const all = this.model.raw.emitted;
    if (!all.length) {
      this.facts.textContent = "No code: this pipeline does not end in the llvm dialect; --compile does.";
      this.tabs.replaceChildren();
      this.list.show([]);
      return;
    }
    this.emitter = all.find((emitter) => emitter.name === this.language) ?? all[0];
    this.tabs.replaceChildren(...all.map((emitter) =>
      button(emitter.title, () => this.choose(emitter.name), { role: "tab", "aria-selected": String(emitter === this.emitter) })));
    const names = [...new Set(this.emitter.pieces.map((piece) => piece.name.split(".")[0]))];
    this.functions.replaceChildren(h("option", { value: "" }, "All functions"), ...names.map((name) => h("option", { value: name }, name)));
    this.functions.value = names.includes(state.fn) ? state.fn : "";
    const shown = this.emitter.pieces.filter((piece) => !this.functions.value || piece.name.split(".")[0] === this.functions.value);
    this.lines = shown.flatMap((piece) => [...piece.text.split("\n"), ""]);
    this.ops = shown.flatMap((piece) => [...piece.ops, -1]);
    this.facts.textContent = `${plural(shown.length, "piece")}, ${plural(this.lines.length, "line")}`;
    this.list.show(this.lines, this.lines.reduce((most, line) => Math.max(most, line.length), 0));
  }

  choose(name) {
    this.language = name;
    remember("language", name);
    this.show();
  }

  drawRow(text, index) {
    return h("div", { class: "row line" }, h("span", { class: "number" }, String(index + 1)),
      h("span", { class: `cell ${this.levelOf(index)}`, onclick: () => this.chooseLine(index) }, h("span", { class: "shift" }, ...lineSpans(text.replaceAll("\t", "    "), this.emitter.language))));
  }

  // Lines are there for ops of the last module.
  levelOf(index) {
    const op = this.ops[index];
    if (op < 0 || this.selection.isEmpty || !this.selection.opsAt(this.model.last).has(op)) return "";
    return this.selection.snapshot === this.model.last ? "chosen" : "related";
  }

  chooseLine(index) {
    const op = this.ops[index];
    if (op < 0) return;
    const { item, line } = this.model.place(this.model.last, op);
    update({ at: this.model.last, line: `${item.name}:${item.kind === "function" ? "" : item.kind}:${line + 1}`, tab: state.tab === "pass" ? "trail" : state.tab });
  }

  revealSelection() {
    const first = this.lines.findIndex((_, index) => this.levelOf(index));
    const [top, bottom] = [this.list.firstInSight, this.list.firstInSight + this.list.scroller.clientHeight / ROW];
    const inSight = this.lines.some((_, index) => index > top && index < bottom - 1 && this.levelOf(index));
    if (first >= 0 && !inSight) this.list.reveal(first);
    else this.list.refresh();
  }
}

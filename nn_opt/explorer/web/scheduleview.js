// A kernel's schedule: the loops it is for, the script, and the loops it made.

import { h } from "./dom.js";
import { lineSpans } from "./highlight.js";
import { LongList } from "./list.js";
import { state, update } from "./state.js";

export class ScheduleView {
  constructor(model, selection) {
    this.model = model;
    this.selection = selection;
    this.kernels = h("select", { "aria-label": "Kernel", onchange: (event) => update({ fn: event.target.value }) });
    this.facts = h("span", { class: "facts" });
    this.panes = ["Loops before", "Script", "Loops after"].map((title) => new Pane(title, this));
    this.element = h("section", { class: "view schedule", "aria-label": "Schedules" },
      h("div", { class: "toolbar" }, this.kernels, this.facts), h("div", { class: "thirds" }, ...this.panes.map((pane) => pane.element)));
  }

  show() {
    const at = this.model.snapshots.findLastIndex((snapshot) => snapshot.some((item) => item.kind === "script"));
    const scripts = at < 0 ? [] : this.model.snapshots[at].filter((item) => item.kind === "script");
    const script = scripts.find((item) => item.name === state.fn) ?? scripts[0];
    this.kernels.replaceChildren(...scripts.map((item) => h("option", { value: item.name }, `@${item.name}`)));
    if (!script) {
      this.facts.textContent = "No schedules: --default-schedules writes them, once loops are there.";
      this.panes.forEach((pane) => pane.show(0, null));
      return;
    }
    this.kernels.value = script.name;
    const kernel = (k) => this.model.snapshots[k]?.find((item) => item.kind === "function" && item.name === script.name);
    this.facts.textContent = `${scripts.length} scripts; this one has ${script.part.lines.length - 2} primitives`;
    this.panes[0].show(at, kernel(at));
    this.panes[1].show(at, script);
    this.panes[2].show(at + 1, kernel(at + 1));
  }

  revealSelection() {
    for (const pane of this.panes) pane.list.refresh();
  }
}

class Pane {
  constructor(title, view) {
    this.view = view;
    this.list = new LongList(title, (row, index) => this.drawRow(row, index));
    this.element = h("div", { class: "third" }, h("h3", {}, title), this.list.element);
  }

  show(snapshot, item) {
    [this.snapshot, this.item] = [snapshot, item ?? null];
    const lines = item?.part.lines ?? [];
    this.list.show(lines, lines.reduce((most, line) => Math.max(most, line.length), 0));
  }

  drawRow(text, index) {
    const level = this.view.selection.levelOf(this.snapshot, this.item, index);
    const kind = this.item.kind === "function" ? "" : this.item.kind;
    const choose = () => update({ at: this.snapshot, line: `${this.item.name}:${kind}:${index + 1}`, tab: state.tab === "pass" ? "trail" : state.tab });
    return h("div", { class: "row line" }, h("span", { class: "number" }, String(index + 1)),
      h("span", { class: `cell ${level}`, onclick: choose }, h("span", { class: "shift" }, ...lineSpans(text.replace(/^ {2}/, ""), "mlir"))));
  }
}

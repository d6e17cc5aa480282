// A kernel's schedule, step by step: the loops before a primitive, the script, the loops after it.

import { alignLines } from "./diff.js";
import { button, h } from "./dom.js";
import { lineSpans } from "./highlight.js";
import { LongList } from "./list.js";
import { state, update } from "./state.js";

export class ScheduleView {
  constructor(model, selection) {
    this.model = model;
    this.selection = selection;
    this.at = 0; // the primitive looked at; 0: all of them
    this.kernels = h("select", {
      "aria-label": "Kernel",
      onchange: (event) => update({ fn: event.target.value }),
    });
    this.facts = h("span", { class: "facts" });
    this.panes = [0, 1, 2].map(() => new Pane(this));
    this.element = h(
      "section",
      { class: "view schedule", "aria-label": "Schedules" },
      h(
        "div",
        { class: "toolbar" },
        this.kernels,
        button("All", () => this.go(0), {
          title: "from the first loops to the last",
          id: "all-primitives",
        }),
        button("← primitive", () => this.step(-1), {
          title: "previous primitive (p)",
          "aria-label": "Previous primitive",
        }),
        button("→ primitive", () => this.step(1), {
          title: "next primitive (n)",
          "aria-label": "Next primitive",
        }),
        this.facts,
      ),
      h("div", { class: "thirds" }, ...this.panes.map((pane) => pane.element)),
    );
  }

  show() {
    const at = this.model.snapshots.findLastIndex((snapshot) =>
      snapshot.some((item) => item.kind === "script"),
    );
    const scripts = at < 0 ? [] : this.model.snapshots[at].filter((item) => item.kind === "script");
    const script = scripts.find((item) => item.name === state.fn) ?? scripts[0];
    this.kernels.replaceChildren(
      ...scripts.map((item) => h("option", { value: item.name }, `@${item.name}`)),
    );
    if (!script) {
      this.facts.textContent =
        "No schedules: --default-schedules writes them, once loops are there.";
      this.panes.forEach((pane) => pane.show("", []));
      return;
    }
    if (this.script !== script) this.at = 0;
    [this.snapshot, this.script] = [at, script];
    this.kernels.value = script.name;
    const kernel = (k) =>
      this.model.snapshots[k]?.find(
        (item) => item.kind === "function" && item.name === script.name,
      );
    [this.before, this.after] = [kernel(at), kernel(at + 1)];
    const texts = this.model.raw.texts;
    this.stages = (this.model.steps[at]?.stages[script.name] ?? []).map(({ line, text }) => ({
      line,
      lines: text.map((number) => texts[number]),
    }));
    this.facts.textContent = `${script.part.lines.length - 2} primitives, ${Math.max(0, this.stages.length - 1)} of which change loops; click one to see what it does`;
    this.draw();
  }

  go(line) {
    this.at = line;
    this.draw();
  }

  step(by) {
    const lines = this.stages.slice(1).map((stage) => stage.line);
    if (!lines.length) return;
    const next =
      by > 0 ? lines.find((line) => line > this.at) : lines.findLast((line) => line < this.at);
    this.go(next ?? 0);
  }

  draw() {
    const { script, snapshot } = this;
    let [first, last] = [this.before?.part.lines ?? [], this.after?.part.lines ?? []];
    const undo = (lines) => lines.map((line) => line.replace(/^ {2}/, ""));
    [first, last] = [undo(first), undo(last)];
    const now = this.stages.findLastIndex((stage) => stage.line <= this.at);
    if (this.at && now > 0) {
      const moved = this.stages[now].line === this.at;
      [first, last] = [this.stages[moved ? now - 1 : now].lines, this.stages[now].lines];
    } else if (this.at && this.stages.length)
      [first, last] = [this.stages[0].lines, this.stages[0].lines];
    const pairs = alignLines(first, last);
    const [gone, come] = [
      new Set(pairs.filter(([, j]) => j < 0).map(([i]) => i)),
      new Set(pairs.filter(([i]) => i < 0).map(([, j]) => j)),
    ];
    const what = this.at
      ? script.part.lines[this.at].trim().replace(/^.* = /, "")
      : "all primitives";
    this.panes[0].show(`Before ${what}`, first, {
      marks: gone,
      mark: "removed",
      snapshot,
      item: this.at ? null : this.before,
    });
    this.panes[1].show("Script", undo(script.part.lines), {
      snapshot,
      item: script,
      current: this.at,
    });
    this.panes[2].show(`After ${what}`, last, {
      marks: come,
      mark: "added",
      snapshot: snapshot + 1,
      item: this.at ? null : this.after,
    });
    if (this.at) {
      this.panes[1].list.reveal(this.at);
      for (const [pane, lines] of [
        [this.panes[0], gone],
        [this.panes[2], come],
      ])
        if (lines.size) pane.list.reveal(Math.min(...lines));
    }
  }

  revealSelection() {
    for (const pane of this.panes) pane.list.refresh();
  }
}

class Pane {
  constructor(view) {
    this.view = view;
    this.title = h("h3", {});
    this.list = new LongList("Schedule", (row, index) => this.drawRow(row, index));
    this.element = h("div", { class: "third" }, this.title, this.list.element);
  }

  show(title, lines, how = {}) {
    this.how = how;
    this.title.textContent = title;
    this.list.scroller.setAttribute("aria-label", title || "Schedule");
    this.list.show(
      lines,
      lines.reduce((most, line) => Math.max(most, line.length), 0),
    );
  }

  drawRow(text, index) {
    const { snapshot, item, marks, mark, current } = this.how;
    const level =
      index > 0 && current === index
        ? "chosen"
        : item && current === undefined
          ? this.view.selection.levelOf(snapshot, item, index)
          : "";
    const row = `row line ${marks?.has(index) ? mark : ""}`;
    const side = mark === "removed" ? "before" : "after";
    return h(
      "div",
      { class: row },
      h("span", { class: `number ${side}` }, String(index + 1)),
      h(
        "span",
        { class: `cell ${side} ${level}`, onclick: () => this.choose(index) },
        h("span", { class: "shift" }, ...lineSpans(text, "mlir")),
      ),
    );
  }

  choose(index) {
    const { snapshot, item, current } = this.how;
    if (current !== undefined) {
      if (index > 0 && index < item.part.lines.length - 1)
        this.view.go(current === index ? 0 : index);
      return;
    }
    if (item)
      update({
        at: snapshot,
        line: `${item.name}::${index + 1}`,
        tab: state.tab === "pass" ? "trail" : state.tab,
      });
  }
}

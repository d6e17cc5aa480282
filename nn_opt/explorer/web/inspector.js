// The panel below: the life of the chosen op, the source it is there for, all about the pass.

import { button, copyButton, duration, h, plural } from "./dom.js";
import { lineSpans } from "./highlight.js";
import { LongList } from "./list.js";
import { opName } from "./model.js";
import { state, update } from "./state.js";

const TABS = { pass: "Pass", trail: "Life of the op", source: "Source" };
const MOST_LINES = 4; // of a stage of the trail
const MOST_REMARKS = 500;

export class Inspector {
  constructor(model, selection) {
    this.model = model;
    this.selection = selection;
    this.tabs = h("div", { class: "tabs", role: "tablist", "aria-label": "Details" });
    this.body = h("div", { class: "inspector-body", role: "tabpanel", tabindex: 0 });
    this.grip = h("div", {
      class: "grip",
      role: "separator",
      "aria-orientation": "horizontal",
      "aria-label": "Height of the panel",
      tabindex: 0,
    });
    this.element = h(
      "section",
      { class: "inspector", "aria-label": "Details" },
      this.grip,
      this.tabs,
      this.body,
    );
    this.source = new LongList("Source", (row, index) => this.sourceRow(row, index));
    this.grip.addEventListener("pointerdown", (event) => this.drag(event));
    this.grip.addEventListener("keydown", (event) => {
      const by = { ArrowUp: 24, ArrowDown: -24 }[event.key];
      if (by) this.resize(this.element.clientHeight + by);
    });
  }

  drag(event) {
    const [start, height] = [event.clientY, this.element.clientHeight];
    const move = (moved) => this.resize(height + start - moved.clientY);
    this.grip.setPointerCapture(event.pointerId);
    this.grip.addEventListener("pointermove", move);
    this.grip.addEventListener(
      "pointerup",
      () => this.grip.removeEventListener("pointermove", move),
      { once: true },
    );
  }

  resize(height) {
    this.element.style.height = `${Math.max(60, Math.min(height, innerHeight - 200))}px`;
  }

  show() {
    const buttons = Object.entries(TABS).map(([key, title]) =>
      button(title, () => update({ tab: key }), {
        role: "tab",
        "aria-selected": String(state.tab === key),
        id: `tab-${key}`,
      }),
    );
    this.tabs.replaceChildren(...buttons);
    const content =
      { pass: () => this.pass(), trail: () => this.trail(), source: () => this.sourceView() }[
        state.tab
      ] ?? (() => this.pass());
    this.body.replaceChildren(...[content()].flat());
    if (state.tab === "source") this.revealSource();
  }

  pass() {
    const step = this.model.steps[Number(state.pass)];
    if (!step) return this.overall();
    const facts = `${duration(step.seconds)}, ${plural(step.opsBefore, "op")} before, ${plural(step.opsAfter, "op")} after`;
    return [
      h("h3", {}, h("code", {}, `--${step.spec}`), h("span", { class: "facts" }, facts)),
      step.error && h("pre", { class: "error" }, step.error),
      h("p", { class: "doc" }, step.doc),
      h(
        "p",
        { class: "command" },
        h("code", {}, this.commandUpTo(step)),
        copyButton("Copy", () => this.commandUpTo(step)),
      ),
      this.counts(step),
      this.rewrites(step),
      this.remarks(step),
    ].filter(Boolean);
  }

  // What gives the module after a pass on a terminal.
  commandUpTo(step) {
    const specs = this.model.steps.slice(0, step.number + 1).map((other) => other.spec);
    const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
    const pipeline = quoted(`builtin.module(${specs.join(",")})`);
    const { flags } = this.model.raw;
    return `nn-opt --pass-pipeline=${pipeline} ${flags && `${flags} `}${quoted(this.model.source.name)}`;
  }

  overall() {
    const { command, version, source, error } = this.model.raw;
    return [
      h("h3", {}, source.name),
      h(
        "p",
        {},
        `${plural(source.lines.length, source.kind === "onnx" ? "node" : "line")}, ${plural(this.model.steps.length, "pass", "passes")}, nn-opt ${version}`,
      ),
      command && h("pre", {}, command),
      error && h("pre", { class: "error" }, error),
    ].filter(Boolean);
  }

  counts(step) {
    if (!step.counts.length) return null;
    const rows = step.counts.map(([name, count, text]) =>
      h(
        "tr",
        {},
        h("td", { class: "count" }, count.toLocaleString("en")),
        h("td", {}, name),
        h("td", {}, text),
      ),
    );
    return h("details", { open: true }, h("summary", {}, "Statistics"), h("table", {}, ...rows));
  }

  rewrites(step) {
    const fired = step.rewrites.filter(([, , changed]) => changed);
    if (!step.rewrites.length) return null;
    const rows = fired.map(([name, tried, changed, ops]) =>
      h(
        "tr",
        {},
        h("td", { class: "count" }, changed.toLocaleString("en")),
        h("td", {}, h("code", {}, name)),
        h("td", {}, `of ${tried.toLocaleString("en")} tries`),
        h(
          "td",
          {},
          ...ops.slice(0, 12).map((op) => this.opLink(step.number, op)),
          ops.length > 12 ? ` … ${ops.length - 12} more` : "",
        ),
      ),
    );
    const through = step.applications.length
      ? button("Go through them", () => update({ view: "ir", rewrite: 0 }), { class: "op-link" })
      : "";
    const idle = step.rewrites.length - fired.length;
    return h(
      "details",
      { open: fired.length > 0 },
      h("summary", {}, `Rewrites: ${plural(fired.length, "pattern")} fired, ${idle} did not`),
      through,
      h("table", {}, ...rows),
      idle
        ? h(
            "p",
            { class: "faint" },
            step.rewrites
              .filter(([, , changed]) => !changed)
              .map(([name]) => name)
              .join(", "),
          )
        : "",
    );
  }

  opLink(snapshot, op) {
    const { item, line } = this.model.place(snapshot, op);
    const text = item.part.lines[line].trim();
    return button(shortOp(text), () => this.choose(snapshot, op), {
      class: "op-link",
      title: text,
    });
  }

  remarks(step) {
    if (!step.remarks.length) return null;
    const rows = step.remarks
      .slice(0, MOST_REMARKS)
      .map(([location, operation, text, name]) =>
        h(
          "tr",
          {},
          h("td", {}, this.placeLink(location)),
          h("td", {}, h("code", {}, operation)),
          h("td", {}, text),
          h(
            "td",
            {},
            name
              ? button(`@${name}`, () => update({ fn: name, view: "ir" }), { class: "op-link" })
              : "",
          ),
        ),
      );
    const rest =
      step.remarks.length > MOST_REMARKS
        ? h(
            "p",
            { class: "faint" },
            `${step.remarks.length - MOST_REMARKS} more: --remarks prints them all`,
          )
        : "";
    return h(
      "details",
      { open: true },
      h("summary", {}, `Remarks: ${step.remarks.length}`),
      h("table", {}, ...rows),
      rest,
    );
  }

  placeLink(location) {
    const line = this.lineOf(location);
    return line < 0
      ? h("span", { class: "faint" }, location)
      : button(location, () => this.openSource(line), { class: "op-link" });
  }

  lineOf(location) {
    const place = /^(.*):(\d+):\d+$/s.exec(location);
    if (place && place[1] === this.model.source.name) return Number(place[2]) - 1;
    const node = /^node '(.*)'/s.exec(location);
    return node ? this.model.source.lines.findIndex((line) => line.startsWith(`${node[1]}: `)) : -1;
  }

  openSource(line) {
    this.chosenSource = line;
    update({ tab: "source" });
    this.show();
  }

  choose(snapshot, op) {
    const { item, line } = this.model.place(snapshot, op);
    update({
      pass:
        snapshot === 0 && Number(state.pass) < 0
          ? -1
          : Number(state.pass) === snapshot
            ? snapshot
            : snapshot - 1,
      at: snapshot,
      view: "ir",
      fn: state.fn && state.fn !== item.name ? item.name : state.fn,
      line: `${item.name}:${item.kind === "function" ? "" : item.kind}:${line + 1}`,
    });
  }

  // Every stage at which the op, or what it came from or became, looked different.
  trail() {
    if (this.selection.isEmpty)
      return h(
        "p",
        { class: "faint" },
        "Choose a line of the IR, a node of the graph or a buffer to see what it came from and what became of it.",
      );
    if (!this.selection.ops.length) return h("p", { class: "faint" }, "No op begins on this line.");
    const stages = [];
    let last = "";
    for (let k = 0; k <= this.model.last; k++) {
      const ops = [...this.selection.opsAt(k)];
      const texts = ops.map((op) => this.model.text(k, op));
      const all = texts.join("\n");
      if (all === last) continue;
      last = all;
      stages.push(this.stage(k, ops, texts));
    }
    const names = [
      ...new Set(
        this.selection.ops.map((op) => opName(this.model.text(this.selection.snapshot, op))),
      ),
    ].filter(Boolean);
    const about = names.map((name) =>
      h(
        "p",
        { class: "about" },
        h("code", {}, name),
        " ",
        h("span", { class: "faint" }, this.model.raw.ops[name] ?? ""),
      ),
    );
    return [...about, this.sourceSummary(), h("ol", { class: "trail" }, ...stages)];
  }

  stage(k, ops, texts) {
    const name = k === 0 ? "input" : this.model.steps[k - 1].name;
    const shown = texts
      .slice(0, MOST_LINES)
      .map((text, j) =>
        h(
          "button",
          { type: "button", class: "code-line", onclick: () => this.choose(k, ops[j]) },
          ...lineSpans(text.trim(), "mlir"),
        ),
      );
    const more =
      ops.length > MOST_LINES
        ? h(
            "span",
            { class: "faint" },
            `and ${(ops.length - MOST_LINES).toLocaleString("en")} more ops`,
          )
        : "";
    const gone = ops.length
      ? ""
      : h("span", { class: "faint" }, k < this.selection.snapshot ? "not there yet" : "gone");
    return h(
      "li",
      { class: k === this.selection.snapshot ? "here" : "" },
      button(name, () => update({ pass: k - 1 }), { class: "stage" }),
      h("div", {}, ...shown, more, gone),
    );
  }

  sourceSummary() {
    const lines = this.selection.sourceLines;
    if (!lines.length) return h("p", { class: "faint" }, "It has no place in the source.");
    const { source } = this.model;
    const shown = lines
      .slice(0, 3)
      .map((line) =>
        h(
          "button",
          { type: "button", class: "code-line", onclick: () => this.openSource(line) },
          h("span", { class: "line-number" }, String(line + 1)),
          ...lineSpans(source.lines[line].trim(), source.kind),
        ),
      );
    return h(
      "div",
      { class: "from-source" },
      h("span", { class: "stage" }, source.kind === "onnx" ? "node" : "source"),
      h(
        "div",
        {},
        ...shown,
        lines.length > 3 ? h("span", { class: "faint" }, `and ${lines.length - 3} more`) : "",
      ),
    );
  }

  sourceView() {
    const { source } = this.model;
    const columns = source.lines.reduce((most, line) => Math.max(most, line.length), 0);
    this.source.show(source.lines, columns);
    return this.source.element;
  }

  revealSource() {
    const line = this.chosenSource ?? this.selection.sourceLines[0];
    if (line !== undefined) this.source.reveal(line, true);
  }

  selectionChanged() {
    this.chosenSource = undefined;
  }

  sourceRow(text, index) {
    const marked = this.selection.sourceLines.includes(index) || index === this.chosenSource;
    return h(
      "div",
      { class: "row line" },
      h("span", { class: "number" }, String(index + 1)),
      h(
        "span",
        { class: `cell ${marked ? "chosen" : ""}`, onclick: () => this.fromSource(index) },
        h("span", { class: "shift" }, ...lineSpans(text, this.model.source.kind)),
      ),
    );
  }

  // Chooses what a line of the source is in the module shown, or in the input.
  fromSource(index) {
    const last = Math.min(Number(state.pass) + 1, this.model.last);
    for (const snapshot of [last, 0]) {
      const found = this.mostSpecific(snapshot, index);
      if (!found) continue;
      const { item, op } = found;
      const kind = item.kind === "function" ? "" : item.kind;
      update({
        at: snapshot,
        pass: snapshot === 0 ? -1 : state.pass,
        line: `${item.name}:${kind}:${item.part.opLines[op] + 1}`,
      });
      return;
    }
  }

  // The first op that is there for a line of the source and for the fewest others.
  mostSpecific(snapshot, index) {
    let found = null;
    for (const item of this.model.snapshots[snapshot]) {
      if (item.kind === "module") continue;
      item.part.places.forEach((lines, op) => {
        if (!lines.includes(index) || (found && found.others <= lines.length)) return;
        found = { item, op, others: lines.length };
      });
    }
    return found;
  }
}

function shortOp(text) {
  const match = /^(%[\w#]+(?:, %[\w#]+)*) = /.exec(text);
  return match ? match[1] : text.slice(0, 24);
}

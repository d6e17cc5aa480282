// The chosen line, and what its ops came from and became in every other snapshot.

import { state } from "./state.js";

export class Selection {
  constructor(model) {
    this.model = model;
    this.clear();
  }

  clear() {
    this.snapshot = -1;
    this.item = null;
    this.line = -1;
    this.ops = [];
    this.traced = new Map();
  }

  get isEmpty() {
    return this.line < 0;
  }

  // Reads the selection from the state: `function:kind:line`, or a line of the function shown, of
  // the snapshot `at`, or of a side of the pass.
  read() {
    this.clear();
    const match =
      /^(.*):([a-z]*):(\d+)$/.exec(state.line) ??
      (/^\d+$/.test(state.line) ? [null, state.fn, "", state.line] : null);
    if (!match) return;
    const step = Number(state.pass);
    const shown = state.side === "before" ? Math.max(0, step) : Math.min(step + 1, this.model.last);
    const snapshot = state.at === "" ? shown : Math.min(Number(state.at) || 0, this.model.last);
    const kind = match[2] || "function";
    const item = this.model.snapshots[snapshot].find(
      (other) => other.kind === kind && other.name === match[1],
    );
    const line = Number(match[3]) - 1;
    if (!item || line >= item.part.lines.length) return;
    Object.assign(this, {
      snapshot,
      item,
      line,
      ops: item.part.opsAt(line).map((op) => item.first + op),
    });
  }

  opsAt(snapshot) {
    if (!this.ops.length) return new Set();
    if (!this.traced.has(snapshot))
      this.traced.set(snapshot, this.model.trace(this.snapshot, this.ops, snapshot));
    return this.traced.get(snapshot);
  }

  // How a line is marked: chosen, an origin or descendant of it, or not at all.
  levelOf(snapshot, item, line) {
    if (snapshot === null || this.isEmpty) return "";
    if (snapshot === this.snapshot && item.position === this.item.position && line === this.line)
      return "chosen";
    const ops = this.opsAt(snapshot);
    if (!ops.size) return "";
    return item.part.opsAt(line).some((op) => ops.has(item.first + op)) ? "related" : "";
  }

  get sourceLines() {
    return [...new Set(this.ops.flatMap((op) => this.model.sourceLines(this.snapshot, op)))];
  }
}

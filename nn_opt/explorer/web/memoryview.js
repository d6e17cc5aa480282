// The arena: time to the right, addresses upwards, a box for each buffer.

import { bytes, h, svg } from "./dom.js";
import { state, update } from "./state.js";

const EDGE = { left: 76, right: 16, top: 22, bottom: 34 };
const HUES = 12;

export class MemoryView {
  constructor(model, selection) {
    this.model = model;
    this.selection = selection;
    this.picture = svg("svg", {
      class: "memory-picture",
      role: "img",
      "aria-label": "Buffers in the arena by time and address",
    });
    this.facts = h("span", { class: "facts" });
    this.hover = h("div", { class: "hover", role: "status" });
    this.element = h(
      "section",
      { class: "view memory", "aria-label": "Memory" },
      h("div", { class: "toolbar" }, this.facts),
      this.picture,
      this.hover,
    );
    new ResizeObserver(() => this.plan && this.draw()).observe(this.picture);
  }

  show() {
    const kept = Object.keys(this.model.raw.memory).map(Number);
    const wanted = Math.min(Number(state.pass) + 1, this.model.last);
    this.snapshot = kept.filter((k) => k <= wanted).pop() ?? kept[0];
    this.plan = this.snapshot === undefined ? null : this.model.raw.memory[this.snapshot];
    if (!this.plan) {
      this.picture.replaceChildren();
      this.facts.textContent = "No memory plan: --plan-memory makes it, near the end of --compile.";
      return;
    }
    const { size, lower_bound: bound, boxes } = this.plan;
    const all = boxes.reduce((sum, box) => sum + box.end - box.start, 0);
    const over = bound
      ? `, ${((100 * size) / bound - 100).toFixed(1)}% over what the busiest step needs (${bytes(bound)})`
      : "";
    this.facts.textContent = `Arena of ${bytes(size)} for ${boxes.length} buffers of ${bytes(all)}${over}`;
    this.draw();
  }

  // Steps that run something or at which a buffer comes or goes: the others say nothing of time.
  get eventful() {
    const found = new Set(this.plan.boxes.flatMap((box) => [box.first, box.last]));
    this.plan.steps.forEach((name, k) => !/constant|view|arena|alloc/.test(name) && found.add(k));
    return [...found].sort((one, two) => one - two);
  }

  // Bytes in use at each step, those of a buffer that overwrites another once.
  get usage() {
    const boxes = [...this.plan.boxes].sort((one, two) => one.start - two.start);
    return this.plan.steps.map((_, step) => {
      let [used, top] = [0, 0];
      for (const box of boxes) {
        if (step < box.first || step > box.last) continue;
        used += Math.max(0, box.end - Math.max(box.start, top));
        top = Math.max(top, box.end);
      }
      return used;
    });
  }

  draw() {
    const { clientWidth: width, clientHeight: height } = this.picture;
    const { size, steps, boxes } = this.plan;
    const shown = this.eventful;
    const [wide, high] = [width - EDGE.left - EDGE.right, height - EDGE.top - EDGE.bottom];
    if (wide < 20 || high < 20 || !size) return;
    const x = (step) =>
      EDGE.left + (wide * shown.filter((other) => other < step).length) / shown.length;
    const y = (address) => EDGE.top + high * (1 - address / size);
    const used = this.usage;
    const peak = used.indexOf(Math.max(...used));
    const parts = [
      svg("rect", { x: EDGE.left, y: EDGE.top, width: wide, height: high, class: "memory-ground" }),
      ...this.ticks(size).flatMap((address) => [
        svg("line", {
          x1: EDGE.left,
          x2: EDGE.left + wide,
          y1: y(address),
          y2: y(address),
          class: "grid",
        }),
        svg("text", { x: EDGE.left - 8, y: y(address) + 4, class: "tick end" }, bytes(address)),
      ]),
      svg("rect", {
        x: x(peak),
        y: EDGE.top,
        width: Math.max(3, x(peak + 1) - x(peak)),
        height: high,
        class: "peak",
      }),
      ...boxes.map((box, k) => this.box(box, k, x, y)),
      svg(
        "text",
        {
          x: Math.min(Math.max(x(peak), EDGE.left + 140), width - 160),
          y: 14,
          class: "tick peak-label",
        },
        `peak: ${bytes(used[peak])} at step ${peak}, ${steps[peak]}`,
      ),
      svg("path", {
        d: `M${x(shown[0])} ${y(0)} ${shown.map((k) => `L${x(k)} ${y(used[k])} L${x(k + 1)} ${y(used[k])}`).join(" ")}`,
        class: "usage",
      }),
      svg("line", { x1: EDGE.left, x2: EDGE.left + wide, y1: y(0), y2: y(0), class: "axis" }),
      svg("text", { x: EDGE.left, y: height - 12, class: "tick" }, `step ${shown[0]} of @main`),
      svg(
        "text",
        { x: EDGE.left + wide, y: height - 12, class: "tick end" },
        `step ${shown.at(-1)}; the line is what is in use`,
      ),
    ];
    this.hover.textContent ||=
      "Point at a buffer to see its name, type, place and lifetime; a click follows it through the passes.";
    this.picture.replaceChildren(...parts);
  }

  ticks(size) {
    let unit = 2 ** Math.floor(Math.log2(size / 4));
    if (size / unit > 8) unit *= 2;
    const found = [];
    for (let address = 0; address <= size; address += unit) found.push(address);
    return found;
  }

  box(box, k, x, y) {
    const { steps } = this.plan;
    const left = x(box.first);
    const [width, height] = [
      Math.max(2, x(box.last + 1) - left - 1),
      Math.max(1.5, y(box.start) - y(box.end) - 1),
    ];
    const main = this.model.snapshots[this.snapshot].find(
      (item) => item.kind === "function" && item.name === "main",
    );
    const related = box.op >= 0 && this.selection.opsAt(this.snapshot).has(main.first + box.op);
    const text = `${box.name}\n${box.type}, ${bytes(box.end - box.start)}\nbytes ${box.start.toLocaleString("en")} to ${(box.end - 1).toLocaleString("en")}\nfrom step ${box.first}, ${steps[box.first]}\nto step ${box.last}, ${steps[box.last]}`;
    const label =
      width > 8 * box.name.length && height > 15
        ? svg("text", { x: left + 5, y: y(box.end) + 13, class: "box-label" }, box.name)
        : "";
    const group = svg(
      "g",
      {
        class: `box hue-${k % HUES} ${related ? "chosen" : ""}`,
        tabindex: 0,
        role: "button",
        "aria-label": text,
      },
      svg("rect", { x: left, y: y(box.end) + 0.5, width, height, rx: 2 }),
      label,
    );
    const tell = () => (this.hover.textContent = text);
    group.addEventListener("pointerenter", tell);
    group.addEventListener("focus", tell);
    const choose = () =>
      box.op >= 0 &&
      update({
        at: this.snapshot,
        line: `main::${main.part.opLines[box.op] + 1}`,
        tab: state.tab === "pass" ? "trail" : state.tab,
      });
    group.addEventListener("click", choose);
    group.addEventListener("keydown", (event) => event.key === "Enter" && choose());
    return group;
  }

  revealSelection() {
    if (this.plan) this.draw();
  }
}

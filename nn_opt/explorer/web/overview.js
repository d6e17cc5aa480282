// The whole run: ops by dialect after each pass, and where the time went.

import { duration, h, svg } from "./dom.js";
import { state, update } from "./state.js";

const COLOURED = [
  "graph",
  "tensor",
  "loop",
  "sched",
  "arith",
  "math",
  "vector",
  "memref",
  "func",
  "llvm",
];
const FAR = 10; // times fewer ops
const SIZE = { left: 62, right: 14, top: 14, bottom: 26 };

export class OverView {
  constructor(model) {
    this.model = model;
    this.chart = svg("svg", {
      class: "chart",
      role: "img",
      "aria-label": "Ops by dialect after each pass",
    });
    this.legend = h("div", { class: "legends" });
    this.table = h("tbody");
    this.element = h(
      "section",
      { class: "view over", "aria-label": "Overview" },
      h("h3", {}, "Ops by dialect after each pass"),
      this.legend,
      this.chart,
      h("h3", {}, "Where the time went"),
      h(
        "table",
        { class: "times" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ...["pass", "time", "", "ops before", "after", "rewrites", "remarks"].map((text, k) =>
              h("th", { scope: "col", class: k && text ? "count" : "" }, text),
            ),
          ),
        ),
        this.table,
      ),
    );
    new ResizeObserver(() => this.counts && this.draw()).observe(this.chart);
  }

  show() {
    this.counts ??= this.model.snapshots.map(count);
    this.draw();
    const most = Math.max(...this.model.steps.map((step) => step.seconds), 1e-9);
    const steps = this.model.steps.filter(
      (step) => step.changed || step.error || step.seconds > 0.01 * most,
    );
    this.table.replaceChildren(...steps.map((step) => this.row(step, most)));
  }

  row(step, most) {
    const bar = h("span", { class: "bar" });
    bar.style.width = `${(100 * step.seconds) / most}%`;
    const rewrites = step.rewrites.reduce((sum, [, , changed]) => sum + changed, 0);
    const number = (value) => h("td", { class: "count" }, value ? value.toLocaleString("en") : "");
    return h(
      "tr",
      { class: step.error ? "failed" : "" },
      h(
        "td",
        {},
        h(
          "button",
          {
            type: "button",
            class: "op-link",
            onclick: () => update({ pass: step.number, view: "ir" }),
          },
          step.name,
        ),
      ),
      h("td", { class: "count" }, duration(step.seconds)),
      h("td", { class: "bars" }, bar),
      number(step.opsBefore),
      number(step.opsAfter),
      number(rewrites),
      number(step.remarks.length),
    );
  }

  draw() {
    const names = [...new Set(this.counts.flatMap((counts) => Object.keys(counts)))];
    const order = [
      ...COLOURED.filter((name) => names.includes(name)),
      ...names.filter((name) => !COLOURED.includes(name)).sort(),
    ];
    this.legend.replaceChildren(
      ...order.map((name) => h("span", { class: `legend d-${hue(name)}` }, name)),
    );
    const { clientWidth: width, clientHeight: height } = this.chart;
    const [wide, high] = [width - SIZE.left - SIZE.right, height - SIZE.top - SIZE.bottom];
    if (wide < 40) return;
    const totals = this.counts.map((counts) =>
      Object.values(counts).reduce((sum, value) => sum + value, 0),
    );
    const most = Math.max(...totals, 1);
    const step = wide / this.counts.length;
    const rooted = Math.min(...totals) < most / FAR; // so that small modules stay visible
    const y = (value) => SIZE.top + high * (1 - (rooted ? Math.sqrt(value / most) : value / most));
    const bars = this.counts.map((counts, k) => {
      let sum = 0;
      const parts = order
        .filter((name) => counts[name])
        .map((name) => {
          const from = y(sum);
          sum += counts[name];
          return svg("rect", {
            x: SIZE.left + k * step + 0.5,
            y: y(sum),
            width: Math.max(1, step - 1),
            height: from - y(sum),
            class: `d-${hue(name)}`,
          });
        });
      const title = `${k ? this.model.steps[k - 1].name : "input"}: ${totals[k].toLocaleString("en")} ops\n${order
        .filter((name) => counts[name])
        .map((name) => `${name} ${counts[name].toLocaleString("en")}`)
        .join("\n")}`;
      const group = svg(
        "g",
        { class: `column ${String(k - 1) === String(state.pass) ? "chosen" : ""}` },
        svg("rect", {
          x: SIZE.left + k * step,
          y: SIZE.top,
          width: step,
          height: high,
          class: "column-ground",
        }),
        ...parts,
        svg("title", {}, title),
      );
      group.addEventListener("click", () => update({ pass: k - 1, view: "ir" }));
      return group;
    });
    const ticks = (rooted ? [0, 0.05, 0.25, 0.5, 1] : [0, 0.25, 0.5, 0.75, 1])
      .map((share) => Math.round(share * most))
      .map((value) => [
        svg("line", {
          x1: SIZE.left,
          x2: SIZE.left + wide,
          y1: y(value),
          y2: y(value),
          class: "grid",
        }),
        svg(
          "text",
          { x: SIZE.left - 8, y: y(value) + 4, class: "tick end" },
          value.toLocaleString("en"),
        ),
      ]);
    const labels = [
      svg("text", { x: SIZE.left, y: height - 8, class: "tick" }, "input"),
      svg(
        "text",
        { x: width - SIZE.right, y: height - 8, class: "tick end" },
        `${this.model.steps.at(-1)?.name ?? ""}${rooted ? "  (heights are square roots)" : ""}`,
      ),
    ];
    this.chart.replaceChildren(...ticks.flat(), ...bars, ...labels);
  }

  revealSelection() {}
}

function hue(name) {
  const at = COLOURED.indexOf(name);
  return at < 0 ? "other" : name;
}

function count(snapshot) {
  const counts = {};
  for (const item of snapshot)
    for (const [name, value] of Object.entries(item.part.dialects))
      counts[name] = (counts[name] ?? 0) + value;
  return counts;
}

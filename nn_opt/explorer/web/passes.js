// The pipeline as a tree: time, ops before and after, changed or not, failed.

import { button, duration, h, plural } from "./dom.js";
import { remember, remembered, state, update } from "./state.js";

export class PassList {
  constructor(model) {
    this.model = model;
    this.changedOnly = remembered("changed-only", "") === "yes";
    this.closed = new Set();
    this.slowest = Math.max(...model.steps.map((step) => step.seconds), 1e-9);
    this.list = h("div", { class: "passes", role: "tree", "aria-label": "Passes" });
    this.list.addEventListener("keydown", (event) => this.arrow(event));
    this.toggle = button("Changed only", () => this.setChangedOnly(!this.changedOnly), {
      id: "changed-only",
    });
    const changed = model.steps.filter((step) => step.changed).length;
    this.element = h(
      "nav",
      { class: "sidebar", "aria-label": "Pipeline" },
      h(
        "div",
        { class: "sidebar-head" },
        h(
          "span",
          { class: "summary" },
          `${plural(model.steps.length, "pass", "passes")}, ${changed} changed the module, ${duration(model.seconds)}`,
        ),
        this.toggle,
      ),
      this.list,
    );
    this.draw();
  }

  setChangedOnly(value) {
    this.changedOnly = value;
    remember("changed-only", value ? "yes" : "");
    this.draw();
  }

  // The numbers of the passes in sight, from -1: the input.
  get visible() {
    const numbers = this.model.steps
      .filter((step) => this.isShown(step))
      .map((step) => step.number);
    return [-1, ...numbers];
  }

  arrow(event) {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    this.move(by);
    this.list.querySelector("[aria-selected=true]")?.focus();
  }

  isShown(step) {
    return !this.changedOnly || step.changed || step.error;
  }

  move(by) {
    const numbers = this.visible;
    const current = Number(state.pass);
    let at = numbers.findIndex((number) => number >= current);
    if (at < 0) at = numbers.length - 1;
    if (by > 0 && numbers[at] > current) at -= 1;
    update({ pass: numbers[Math.min(numbers.length - 1, Math.max(0, at + by))] });
  }

  draw() {
    this.toggle.setAttribute("aria-pressed", String(this.changedOnly));
    const input = this.row({
      number: -1,
      name: "input",
      changed: true,
      seconds: null,
      opsAfter: this.model.steps[0]?.opsBefore ?? null,
    });
    this.list.replaceChildren(input, ...this.members(this.model.raw.pipeline, 1, "p"));
    this.reveal();
  }

  members(members, level, path) {
    return members.flatMap((member, k) => {
      if (member.members) return this.group(member, level, `${path}.${k}`);
      if (member.step === null) return this.changedOnly ? [] : [this.skipped(member, level)];
      const step = this.model.steps[member.step];
      return this.isShown(step) ? [this.row(step, level)] : [];
    });
  }

  group(member, level, path) {
    const steps = leaves(member)
      .filter((leaf) => leaf.step !== null)
      .map((leaf) => this.model.steps[leaf.step]);
    const open = !this.closed.has(path);
    const head = button(
      [
        h("span", { class: "twist" }, open ? "▾" : "▸"),
        h("span", { class: "name" }, member.name),
        h("span", { class: "time" }, duration(steps.reduce((sum, step) => sum + step.seconds, 0))),
      ],
      () => {
        open ? this.closed.add(path) : this.closed.delete(path);
        this.draw();
      },
      { class: "group", role: "treeitem", "aria-expanded": String(open), "aria-level": level },
    );
    return open ? [head, ...this.members(member.members, level + 1, path)] : [head];
  }

  skipped(member, level) {
    return h(
      "div",
      { class: "pass skipped", role: "treeitem", "aria-level": level, title: "did not run" },
      h("span", { class: "mark" }),
      h("span", { class: "name" }, member.name),
    );
  }

  row(step, level = 1) {
    const current = String(step.number) === String(state.pass);
    const status = step.error ? "failed" : step.changed ? "changed" : "unchanged";
    const element = button(
      [
        h(
          "span",
          { class: "mark", "aria-hidden": "true" },
          step.error ? "✕" : step.changed ? "●" : "○",
        ),
        h("span", { class: "name" }, step.name),
        h("span", { class: "delta" }, ...deltaText(step)),
        h("span", { class: "time" }, step.seconds === null ? "" : duration(step.seconds)),
      ],
      () => update({ pass: step.number }),
      {
        class: `pass ${status}`,
        role: "treeitem",
        "aria-level": level,
        "aria-selected": String(current),
        "aria-label": `${step.name}, ${status}`,
        title: tooltip(step),
        data: { pass: step.number },
      },
    );
    if (step.seconds !== null)
      element.style.setProperty("--share", `${(100 * step.seconds) / this.slowest}%`);
    return element;
  }

  // Marks the passes after which a text is in the module.
  markHits(query) {
    for (const row of this.list.querySelectorAll(".pass[data-pass]")) {
      const snapshot = Math.min(Number(row.dataset.pass) + 1, this.model.last);
      row.classList.toggle("has-hit", query !== "" && this.model.contains(snapshot, query));
    }
  }

  reveal() {
    for (const row of this.list.querySelectorAll(".pass")) {
      const current = row.dataset.pass === String(state.pass);
      row.setAttribute("aria-selected", String(current));
      if (current) row.scrollIntoView({ block: "nearest" });
    }
  }
}

function leaves(member) {
  return member.members ? member.members.flatMap(leaves) : [member];
}

function deltaText(step) {
  if (step.opsBefore === undefined)
    return step.opsAfter === null ? [""] : [step.opsAfter.toLocaleString("en")];
  const delta = step.opsAfter - step.opsBefore;
  if (delta === 0) return [""];
  return [
    h(
      "span",
      { class: delta > 0 ? "more" : "less" },
      `${delta > 0 ? "+" : "−"}${Math.abs(delta).toLocaleString("en")}`,
    ),
  ];
}

function tooltip(step) {
  if (step.number < 0) return "what was read";
  const ops = `${step.opsBefore.toLocaleString("en")} ops before, ${step.opsAfter.toLocaleString("en")} after`;
  return [step.spec, ops, step.doc.split("\n")[0], step.error].filter(Boolean).join("\n");
}

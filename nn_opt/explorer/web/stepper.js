// Which rewrite of a pass the IR shows, and the way to the others.

import { button, h } from "./dom.js";
import { state, update } from "./state.js";

export class Stepper {
  constructor(view) {
    this.view = view;
    this.element = h("span", { class: "stepper", hidden: true });
  }

  show(step) {
    this.step = step;
    this.count = step?.applications.length ?? 0;
    this.element.hidden = !this.count;
    if (this.view.rewrite) this.element.replaceChildren(...this.controls());
    else this.element.replaceChildren(this.entrance());
  }

  entrance() {
    return button(`Rewrite by rewrite (${this.count})`, () => this.go(0), { id: "rewrites" });
  }

  controls() {
    const at = Number(state.rewrite);
    const isLast = at === this.count - 1;
    const rest = this.step.left_out && isLast ? `, ${this.step.left_out} more are not kept` : "";
    const arrow = (text, by, title) =>
      button(text, () => this.go(at + by), {
        title,
        "aria-label": title,
        disabled: by < 0 ? at === 0 : isLast,
      });
    return [
      arrow("←", -1, "Previous rewrite"),
      h("span", {}, `${at + 1} of ${this.count}: `, h("code", {}, this.view.rewrite.pattern), rest),
      arrow("→", 1, "Next rewrite"),
      button("✕", () => update({ rewrite: "" }), { "aria-label": "The whole pass" }),
    ];
  }

  go(number) {
    if (number < 0 || number >= this.count) return;
    update({ rewrite: number });
    const first = this.view.rows.findIndex((row) => row.type === "line" && !row.same);
    if (first >= 0) this.view.list.reveal(first, true);
  }
}

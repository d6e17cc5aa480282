// A list of any length: only the rows in sight are elements.

import { h } from "./dom.js";

export const ROW = 19; // pixels
const MARGIN = 12; // rows drawn beyond the edges

export class LongList {
  // draw(row, index) returns an element for a row.
  constructor(label, draw) {
    this.draw = draw;
    this.rows = [];
    this.window = h("div", { class: "window" });
    this.sizer = h("div", { class: "sizer" }, this.window);
    this.scroller = h(
      "div",
      { class: "scroller", tabindex: 0, role: "region", "aria-label": label },
      this.sizer,
    );
    this.bar = h("div", { class: "sideways", "aria-hidden": "true" }, h("div", {}));
    this.element = h("div", { class: "long-list" }, this.scroller, this.bar);
    this.scroller.addEventListener("scroll", () => this.schedule(), { passive: true });
    this.scroller.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.bar.addEventListener("scroll", () =>
      this.element.style.setProperty("--shift", `${-this.bar.scrollLeft}px`),
    );
    new ResizeObserver(() => this.schedule()).observe(this.scroller);
  }

  // columns: how many characters the longest line has.
  show(rows, columns = 0) {
    this.rows = rows;
    this.sizer.style.height = `${rows.length * ROW}px`;
    this.bar.firstChild.style.width = `calc(${Math.min(columns, 3000)}ch + 50%)`;
    this.bar.hidden = columns === 0;
    this.refresh();
  }

  wheel(event) {
    const sideways = event.shiftKey ? event.deltaY : event.deltaX;
    if (Math.abs(sideways) <= Math.abs(event.shiftKey ? event.deltaX : event.deltaY)) return;
    event.preventDefault();
    this.bar.scrollLeft += sideways;
  }

  schedule() {
    if (this.pending) return;
    this.pending = requestAnimationFrame(() => {
      this.pending = 0;
      // Rows that stay keep their elements: a click is lost on one replaced between press and release.
      if (String(this.range()) !== this.drawn) this.refresh();
    });
  }

  // The first row to draw, and how many.
  range() {
    const first = Math.max(0, Math.floor(this.scroller.scrollTop / ROW) - MARGIN);
    return [first, Math.ceil((this.scroller.clientHeight || 600) / ROW) + 2 * MARGIN];
  }

  refresh() {
    const [first, count] = this.range();
    this.drawn = String([first, count]);
    const shown = this.rows.slice(first, first + count);
    this.window.style.transform = `translateY(${first * ROW}px)`;
    this.window.replaceChildren(...shown.map((row, k) => this.draw(row, first + k)));
  }

  get firstInSight() {
    return Math.floor(this.scroller.scrollTop / ROW);
  }

  reveal(index, always = false) {
    const [top, height] = [this.scroller.scrollTop, this.scroller.clientHeight];
    const place = index * ROW;
    if (always || place < top + ROW || place > top + height - 3 * ROW)
      this.scroller.scrollTop = Math.max(0, place - Math.max(ROW, height / 3));
    this.refresh();
  }
}

// A text looked for in the rows of the IR.

import { h } from "./dom.js";

const MOST_HITS = 50; // marked in a line

export class Search {
  // view: has rows and their list; onsearch is told of each text.
  constructor(view) {
    this.view = view;
    this.query = "";
    this.at = 0;
    this.input = h("input", {
      type: "search",
      id: "search",
      placeholder: "Search (/)",
      "aria-label": "Search in the IR",
      autocomplete: "off",
      oninput: () => this.find(0),
      onkeydown: (event) => this.key(event),
    });
    this.found = h("span", { class: "found", role: "status" });
  }

  focus() {
    this.input.focus();
    this.input.select();
  }

  // Goes `by` hits on; 0 begins anew.
  find(by) {
    this.query = this.input.value.toLowerCase();
    const places = this.query ? this.places() : [];
    const next = by ? this.at + by : 0;
    this.at = places.length ? (next + places.length) % places.length : 0;
    this.found.textContent = this.told(places.length);
    this.onsearch?.(this.query);
    if (places.length) this.view.list.reveal(places[this.at], true);
    else this.view.list.refresh();
  }

  places() {
    const has = (item, line) =>
      line >= 0 && item.part.lines[line].toLowerCase().includes(this.query);
    const isHit = (row) => row.type === "line" && (has(row.left, row.l) || has(row.right, row.r));
    return this.view.rows.map((_, k) => k).filter((k) => isHit(this.view.rows[k]));
  }

  told(count) {
    if (!this.query) return "";
    return count ? `${this.at + 1} of ${count} lines` : "nothing found";
  }

  marks(text) {
    if (!this.query) return [];
    const marks = [];
    const [lower, size] = [text.toLowerCase(), this.query.length];
    for (let at = lower.indexOf(this.query); at >= 0; at = lower.indexOf(this.query, at + size)) {
      marks.push([at, at + size, "hit"]);
      if (marks.length === MOST_HITS) break;
    }
    return marks;
  }

  key(event) {
    event.stopPropagation();
    if (event.key === "Enter") this.find(event.shiftKey ? -1 : 1);
    if (event.key !== "Escape") return;
    this.input.value = "";
    this.find(0);
    this.view.list.scroller.focus();
  }
}

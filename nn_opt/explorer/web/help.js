// What the keys do, on demand.

import { button, h } from "./dom.js";

const KEYS = [
  ["j  k", "next, previous pass"],
  ["n  p", "next, previous change in the IR, rewrite of a pass, or primitive of a schedule"],
  ["/", "search; Enter and Shift-Enter go through what is found"],
  ["1 … 6", "overview, IR, graph, schedules, memory, code"],
  ["c", "show passes that changed something only"],
  ["f", "fold unchanged lines"],
  ["[  ]", "function before, after in the list"],
  ["b  i", "hide or show the pipeline, the panel below"],
  ["Esc", "forget the chosen line"],
  ["t", "light, dark or as the system is"],
  ["?", "this"],
];

export function helpDialog() {
  const close = () => dialog.close();
  const rows = KEYS.map(([keys, text]) =>
    h(
      "tr",
      {},
      h("td", {}, ...keys.split("  ").map((key) => h("kbd", {}, key))),
      h("td", {}, text),
    ),
  );
  const dialog = h(
    "dialog",
    { class: "help", "aria-label": "Help" },
    h("h2", {}, "Keys"),
    h("table", {}, ...rows),
    h(
      "p",
      {},
      "A click on a line of IR marks what it came from on the left and all that became of it on the right; the panel below follows it from the source to the last module. The mark stays while you walk through the passes.",
    ),
    h(
      "p",
      {},
      "A click on a value marks its definition and all that read it; a double click on a symbol shows the function of that name. Passes after which the text searched for is in the module are marked in the list.",
    ),
    h("p", {}, "The address of the page leads back to what it shows: pass, view, function, line."),
    button("Close", close),
  );
  return dialog;
}

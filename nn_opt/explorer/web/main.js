// The page: the pipeline beside, views of the chosen pass, details below.

import { CodeView } from "./codeview.js";
import { button, h } from "./dom.js";
import { GraphView } from "./graphview.js";
import { helpDialog } from "./help.js";
import { Inspector } from "./inspector.js";
import { IrView } from "./irview.js";
import { loadData } from "./load.js";
import { MemoryView } from "./memoryview.js";
import { Model } from "./model.js";
import { OverView } from "./overview.js";
import { PassList } from "./passes.js";
import { ScheduleView } from "./scheduleview.js";
import { Selection } from "./selection.js";
import { readAddress, state, subscribe, update } from "./state.js";
import { applyTheme, nextTheme } from "./theme.js";

const VIEWS = {
  over: "Overview",
  ir: "IR",
  graph: "Graph",
  sched: "Schedules",
  memory: "Memory",
  code: "Code",
};

class App {
  constructor(model) {
    this.model = model;
    this.selection = new Selection(model);
    this.passes = new PassList(model);
    this.inspector = new Inspector(model, this.selection);
    this.views = {
      over: new OverView(model),
      ir: new IrView(model, this.selection),
      graph: new GraphView(model, this.selection),
      sched: new ScheduleView(model, this.selection),
      memory: new MemoryView(model, this.selection),
      code: new CodeView(model, this.selection),
    };
    this.views.ir.search.onsearch = (query) => this.passes.markHits(query);
    this.help = helpDialog();
    this.theme = button("Theme", () => this.nextTheme(), {
      title: "light, dark, or as the system is (t)",
    });
    this.tabs = h(
      "div",
      { class: "tabs views", role: "tablist", "aria-label": "Views" },
      ...Object.entries(VIEWS).map(([key, title], k) =>
        button(title, () => update({ view: key }), {
          role: "tab",
          id: `view-${key}`,
          title: `${title} (${k + 1})`,
        }),
      ),
    );
    this.stage = h("div", { class: "stage-area", role: "tabpanel" });
    this.element = this.frame();
    this.nameTheme(applyTheme());
  }

  frame() {
    const { source, error } = this.model.raw;
    const failed = error
      ? h("span", { class: "failure", role: "alert" }, error.split("\n")[0])
      : "";
    return h(
      "div",
      { class: "frame" },
      h(
        "header",
        {},
        h("strong", {}, "nn-opt"),
        h("span", { class: "title" }, source.name),
        failed,
        h("span", { class: "space" }),
        this.theme,
        button("?", () => this.help.showModal(), {
          "aria-label": "Help",
          id: "help",
          title: "keys (?)",
        }),
      ),
      this.passes.element,
      h("main", {}, this.tabs, this.stage, this.inspector.element),
      this.help,
    );
  }

  nextTheme() {
    this.nameTheme(nextTheme());
  }

  nameTheme(name) {
    this.theme.textContent = { auto: "Theme: system", light: "Theme: light", dark: "Theme: dark" }[
      name
    ];
  }

  get view() {
    return this.views[state.view] ?? this.views.ir;
  }

  changed(keys) {
    if (
      ["line", "at", "side", "fn"].some((key) => keys.has(key)) ||
      (keys.has("pass") && state.at === "")
    ) {
      this.selection.read();
      this.inspector.selectionChanged();
    }
    if (keys.has("pass")) {
      this.views.ir.reset();
      this.passes.reveal();
    }
    if (["pass", "view", "fn", "rewrite"].some((key) => keys.has(key))) this.showView();
    if (
      ["line", "at", "pass", "view", "fn"].some((key) => keys.has(key)) &&
      !this.selection.isEmpty
    )
      this.view.revealSelection();
    else if (keys.has("line")) this.view.revealSelection();
    this.inspector.show();
  }

  showView() {
    for (const tab of this.tabs.children)
      tab.setAttribute("aria-selected", String(tab.id === `view-${state.view}`));
    if (this.stage.firstChild !== this.view.element) this.stage.replaceChildren(this.view.element);
    this.view.show();
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || this.help.open) return;
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    const action = this.actions()[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  actions() {
    const { ir } = this.views;
    const views = Object.fromEntries(
      Object.keys(VIEWS).map((key, k) => [String(k + 1), () => update({ view: key })]),
    );
    const search = () => {
      update({ view: "ir" });
      ir.search.focus();
    };
    return {
      ...views,
      "/": search,
      j: () => this.passes.move(1),
      k: () => this.passes.move(-1),
      n: () => this.next(1),
      p: () => this.next(-1),
      c: () => this.passes.setChangedOnly(!this.passes.changedOnly),
      f: () => ir.setFold(!ir.fold),
      "[": () => this.moveFunction(-1),
      "]": () => this.moveFunction(1),
      i: () => this.element.classList.toggle("no-inspector"),
      b: () => this.element.classList.toggle("no-sidebar"),
      t: () => this.nextTheme(),
      "?": () => this.help.showModal(),
      Escape: () => update({ line: "", at: "" }),
    };
  }

  next(by) {
    if (this.view === this.views.sched) this.views.sched.step(by);
    else this.views.ir.jump(by);
  }

  moveFunction(by) {
    const [before, after] = this.views.ir.snapshots;
    const names = [
      "",
      ...this.model.functions(this.model.snapshots[before ?? after], this.model.snapshots[after]),
    ];
    update({ fn: names[(names.indexOf(state.fn) + by + names.length) % names.length] });
  }
}

// The pass to begin with: the one that failed, else the first that changed something.
function firstPass(model) {
  const failed = model.steps.find((step) => step.error);
  const changed = model.steps.find((step) => step.changed);
  return (failed ?? changed)?.number ?? -1;
}

async function start() {
  const place = document.getElementById("app");
  const model = new Model(await loadData());
  const read = () => readAddress(firstPass(model));
  read();
  const app = new App(model);
  place.replaceChildren(app.element);
  place.removeAttribute("aria-busy");
  subscribe((keys) => app.changed(keys));
  addEventListener("hashchange", read);
  addEventListener("keydown", (event) => app.key(event));
  app.changed(new Set(["pass", "view", "fn", "line"]));
}

start().catch((error) => {
  document.getElementById("app").textContent = `The page cannot be shown: ${error.message}`;
  throw error;
});

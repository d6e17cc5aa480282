// The data flow of a function, drawn; a click on a node chooses its op.

import { normalised } from "./diff.js";
import { button, h, svg } from "./dom.js";
import { edgePath, measure, nodeBox, unique } from "./graphparts.js";
import { layOut } from "./layout.js";
import { state, update } from "./state.js";

const LEAST_SCALE = 0.75; // at first sight

export class GraphView {
  constructor(model, selection) {
    this.model = model;
    this.selection = selection;
    this.picture = svg("svg", {
      class: "graph-picture",
      role: "img",
      "aria-label": "Data flow",
      tabindex: 0,
    });
    this.title = h("span", { class: "facts" });
    this.functions = h("select", {
      "aria-label": "Function drawn",
      onchange: (event) => update({ fn: event.target.value }),
    });
    const legend = ["contract", "pool", "reduce", "move", "pointwise", "input"].map((kind) =>
      h(
        "span",
        { class: `legend k-${kind}` },
        {
          contract: "conv, matmul",
          pool: "pooling",
          reduce: "reductions",
          move: "moves",
          pointwise: "element by element",
          input: "in, out",
        }[kind],
      ),
    );
    this.element = h(
      "section",
      { class: "view graph", "aria-label": "Graph" },
      h(
        "div",
        { class: "toolbar" },
        this.functions,
        button("Fit", () => this.fit(), { title: "fit (0)" }),
        button("+", () => this.zoom(1.25), { "aria-label": "Zoom in" }),
        button("−", () => this.zoom(0.8), { "aria-label": "Zoom out" }),
        this.title,
        ...legend,
        h("span", { class: "legend k-touched" }, "made or changed by this pass"),
      ),
      this.picture,
    );
    this.view = { x: 0, y: 0, scale: 1 };
    this.picture.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.picture.addEventListener("pointerdown", (event) => this.drag(event));
    this.picture.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.shown && this.place()).observe(this.picture);
  }

  // The newest snapshot up to the one shown that has a picture of a function.
  find() {
    const wanted = state.fn || "main";
    const start = Math.min(Number(state.pass) + 1, this.model.last);
    for (const name of [wanted, "main", ""])
      for (let k = start; k >= 0; k--) {
        const item = this.model.snapshots[k].find(
          (other) => other.part.graph && (other.name === name || !name),
        );
        if (item) return { snapshot: k, item, start };
      }
    return null;
  }

  show() {
    const found = this.find();
    this.drawFunctions(found);
    if (!found) {
      this.picture.replaceChildren();
      this.title.textContent = "Nothing to draw: no function of this module is a graph.";
      this.shown = null;
      return;
    }
    const { snapshot, item, start } = found;
    const key = `${item.number} ${item.name}`;
    const { nodes, edges } = item.part.graph;
    const age =
      snapshot === start
        ? ""
        : `, as it was after ${snapshot ? this.model.steps[snapshot - 1].name : "reading"}`;
    this.title.textContent = `@${item.name}: ${nodes.length} nodes, ${edges.length} edges${age}`;
    this.found = found;
    if (this.shown !== key) {
      this.shown = key;
      this.draw(item.part.graph);
      this.fit(LEAST_SCALE);
    }
    this.mark();
  }

  drawFunctions(found) {
    const start = Math.min(Number(state.pass) + 1, this.model.last);
    const names = new Set();
    for (const item of this.model.snapshots[found?.snapshot ?? start])
      if (item.part.graph) names.add(item.name);
    this.functions.replaceChildren(
      ...[...names].map((name) => h("option", { value: name }, `@${name}`)),
    );
    if (found) this.functions.value = found.item.name;
  }

  draw({ nodes, edges }) {
    this.nodes = nodes.map(([kind, label, type, op, rows, weights]) =>
      measure({ kind, label, type, op, rows, weights }),
    );
    const links = unique(edges);
    const laid = layOut(this.nodes, links);
    this.bounds = laid;
    const lines = links.map((link, k) => edgePath(this.nodes, link, laid.bends[k]));
    const boxes = this.nodes.map((node, k) =>
      nodeBox(node, k, (chosen, event) => this.choose(chosen, event)),
    );
    this.layer = svg("g", {}, ...lines, ...boxes);
    const arrow = svg(
      "marker",
      {
        id: "arrow",
        viewBox: "0 0 8 8",
        refX: 7,
        refY: 4,
        markerWidth: 7,
        markerHeight: 7,
        orient: "auto",
      },
      svg("path", { d: "M0 0 L8 4 L0 8 z", class: "arrow" }),
    );
    this.picture.replaceChildren(svg("defs", {}, arrow), this.layer);
  }

  choose(node, event) {
    if (this.dragged || node.op < 0) return;
    const { snapshot, item } = this.found;
    const row = event.target.closest("text.inner");
    const inner = row
      ? (node.lines.find((line) => line.text === row.textContent)?.op ?? node.op)
      : node.op;
    update({
      at: snapshot,
      line: `${item.name}::${item.part.opLines[inner] + 1}`,
      tab: state.tab === "pass" ? "trail" : state.tab,
    });
  }

  // Marks the nodes of the chosen ops.
  mark() {
    if (!this.shown || !this.found) return;
    const { snapshot, item } = this.found;
    const ops = this.selection.isEmpty ? new Set() : this.selection.opsAt(snapshot);
    const touched = this.touched(snapshot, item);
    const chosen = new Set();
    this.nodes.forEach((node, k) => {
      const mine = [node.op, ...node.rows.map(([, op]) => op)];
      if (mine.some((op) => op >= 0 && ops.has(item.first + op))) chosen.add(k);
    });
    for (const box of this.layer.querySelectorAll(".node")) {
      box.classList.toggle("chosen", chosen.has(Number(box.dataset.node)));
      box.classList.toggle("touched", touched.has(Number(box.dataset.node)));
    }
    for (const edge of this.layer.querySelectorAll(".edge"))
      edge.classList.toggle(
        "chosen",
        chosen.has(Number(edge.dataset.from)) || chosen.has(Number(edge.dataset.to)),
      );
  }

  // The nodes that the pass shown made or changed.
  touched(snapshot, item) {
    const found = new Set();
    if (snapshot !== this.found.start || snapshot === 0 || !this.model.steps[snapshot - 1].changed)
      return found;
    const parents = this.model.parents(snapshot);
    const isNew = (op) => {
      const origins = parents[item.first + op];
      const text = item.part.lines[item.part.opLines[op]];
      return (
        origins.length !== 1 ||
        normalised(this.model.text(snapshot - 1, origins[0])) !== normalised(text)
      );
    };
    this.nodes.forEach(
      (node, k) =>
        [node.op, ...node.rows.map(([, op]) => op)].some((op) => op >= 0 && isNew(op)) &&
        found.add(k),
    );
    return found;
  }

  // All of it if `least` is small, else its top at a size that can be read.
  fit(least = 0.05) {
    if (!this.bounds) return;
    const { clientWidth: width, clientHeight: height } = this.picture;
    const scale = Math.max(
      least,
      Math.min(
        1,
        (width - 40) / Math.max(1, this.bounds.width),
        (height - 40) / Math.max(1, this.bounds.height),
      ),
    );
    this.view = { scale, x: width / 2 - (this.bounds.left + this.bounds.width / 2) * scale, y: 20 };
    this.place();
  }

  zoom(factor, x = this.picture.clientWidth / 2, y = this.picture.clientHeight / 2) {
    const scale = Math.max(0.05, Math.min(4, this.view.scale * factor));
    const ratio = scale / this.view.scale;
    this.view = { scale, x: x - (x - this.view.x) * ratio, y: y - (y - this.view.y) * ratio };
    this.place();
  }

  wheel(event) {
    event.preventDefault();
    const box = this.picture.getBoundingClientRect();
    if (event.ctrlKey || event.metaKey)
      this.zoom(Math.exp(-event.deltaY / 200), event.clientX - box.left, event.clientY - box.top);
    else {
      this.view.x -= event.shiftKey ? event.deltaY : event.deltaX;
      this.view.y -= event.shiftKey ? 0 : event.deltaY;
      this.place();
    }
  }

  drag(event) {
    const start = { x: event.clientX - this.view.x, y: event.clientY - this.view.y };
    const first = { x: event.clientX, y: event.clientY };
    this.dragged = false;
    const move = (moved) => {
      if (Math.hypot(moved.clientX - first.x, moved.clientY - first.y) > 4) this.dragged = true;
      Object.assign(this.view, { x: moved.clientX - start.x, y: moved.clientY - start.y });
      this.place();
    };
    const end = () => {
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", end);
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", end);
  }

  key(event) {
    const by = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }[
      event.key
    ];
    if (by) [this.view.x, this.view.y] = [this.view.x + by[0], this.view.y + by[1]];
    else if (event.key === "+" || event.key === "=") this.zoom(1.25);
    else if (event.key === "-") this.zoom(0.8);
    else if (event.key === "0") this.fit();
    else return;
    event.preventDefault();
    event.stopPropagation();
    this.place();
  }

  place() {
    const { x, y, scale } = this.view;
    this.layer?.setAttribute("transform", `translate(${x} ${y}) scale(${scale})`);
  }

  // Brings the chosen node into sight.
  revealSelection() {
    if (!this.shown) return;
    this.mark();
    const box = this.layer.querySelector(".node.chosen");
    if (!box) return;
    const node = this.nodes[Number(box.dataset.node)];
    const { x, y, scale } = this.view;
    const [left, top] = [node.x * scale + x, node.y * scale + y];
    if (
      left > 0 &&
      left < this.picture.clientWidth &&
      top > 0 &&
      top < this.picture.clientHeight - 40
    )
      return;
    Object.assign(this.view, {
      x: this.picture.clientWidth / 2 - node.x * scale,
      y: this.picture.clientHeight / 3 - node.y * scale,
    });
    this.place();
  }
}

// What a graph is drawn of: boxes, and curves between them.

import { svg } from "./dom.js";

const LINE = 17;
const MOST_ROWS = 12; // ops shown inside a fused one

const KINDS = [
  ["input", /^(input|output)$/],
  ["contract", /conv|matmul|gemm|attention/],
  ["pool", /pool/],
  ["reduce", /reduce|softmax|norm|cumsum/],
  [
    "move",
    /reshape|transpose|concat|slice|pad|gather|scatter|tile|expand|resize|layout|view|pack|split/,
  ],
  ["recur", /scan/],
  ["pointwise", /./],
];

function kindOf(name) {
  return KINDS.find(([, pattern]) => pattern.test(name))[0];
}

// An edge as curves through its bends.
export function edgePath(nodes, [from, to, type], bends) {
  const [a, b] = [nodes[from], nodes[to]];
  let [x, y] = [a.x, a.y + a.height];
  let path = `M${x} ${y}`;
  const curve = (toX, toY) => {
    const middle = (y + toY) / 2;
    path += ` C${x} ${middle} ${toX} ${middle} ${toX} ${toY}`;
    [x, y] = [toX, toY];
  };
  for (const bend of bends) {
    curve(bend.x, bend.top);
    path += ` L${bend.x} ${(y = bend.bottom)}`;
  }
  curve(b.x, b.y - 1);
  return svg(
    "path",
    { d: path, class: "edge", "marker-end": "url(#arrow)", data: { from, to } },
    svg("title", {}, type),
  );
}

// A node as a box with lines; `choose` is told of a click.
export function nodeBox(node, number, choose) {
  const { x, y, width, height } = node;
  const left = x - width / 2;
  const head = svg("rect", {
    x: left,
    y,
    width,
    height: node.head,
    rx: 5,
    class: `node-head k-${headKind(node)}`,
  });
  const frame = svg("rect", { x: left, y, width, height, rx: 5, class: "node-frame" });
  const texts = node.lines.map((line, k) =>
    svg(
      "text",
      { x: left + 9, y: y + node.head + 13 + k * LINE - 1, class: `node-line ${line.class}` },
      line.text,
    ),
  );
  const label = svg("text", { x, y: y + 15, class: "node-label" }, node.title);
  const group = svg(
    "g",
    {
      class: "node",
      tabindex: -1,
      role: "button",
      "aria-label": `${node.title} ${node.type}`,
      data: { node: number },
    },
    frame,
    head,
    label,
    ...texts,
    svg("title", {}, [node.label, node.type, ...node.weights].join("\n")),
  );
  group.addEventListener("click", (event) => choose(node, event));
  return group;
}

function headKind(node) {
  if (node.kind === "input" || node.kind === "output") return "input";
  return kindOf(node.rows.length ? anchorOf(node) : node.label);
}

function anchorOf(node) {
  const names = node.rows.map(([name]) => name);
  return (
    names.find((name) => kindOf(name) === "contract") ??
    names.find((name) => kindOf(name) !== "pointwise") ??
    names[0]
  );
}

function shortName(name) {
  return name.replace(/^(?:graph|tensor)\./, "");
}

// Gives a node its lines of text, and the size that they take.
export function measure(node) {
  const fused = node.rows.length > 0;
  const anchor = fused ? shortName(anchorOf(node)) : "";
  node.title =
    fused && shortName(node.label) === "fused" ? `fused ${anchor}` : shortName(node.label);
  const lines = [];
  for (const [name, op] of node.rows.slice(0, MOST_ROWS))
    lines.push({ text: shortName(name), class: "inner", op });
  if (node.rows.length > MOST_ROWS)
    lines.push({ text: `${node.rows.length - MOST_ROWS} more`, class: "faint" });
  for (const weight of [...new Set(node.weights)].slice(0, 4))
    lines.push({ text: `w ${weight}`, class: "faint" });
  if (node.type) lines.push({ text: node.type, class: "type" });
  const longest = Math.max(node.title.length * 7.3, ...lines.map((line) => line.text.length * 6.4));
  return Object.assign(node, {
    lines,
    head: 22,
    width: Math.max(70, longest + 22),
    height: 22 + (lines.length ? lines.length * LINE + 5 : 0),
  });
}

// The edges without repetitions: one line shows that a node reads another.
export function unique(edges) {
  const seen = new Set();
  return edges.filter(
    ([from, to]) => from !== to && !seen.has(`${from} ${to}`) && seen.add(`${from} ${to}`),
  );
}

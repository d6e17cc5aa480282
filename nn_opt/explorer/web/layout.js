// Layers for a graph without cycles: longest paths, then orders that keep edges short.

const SWEEPS = 8;
const GAP = { x: 28, y: 38 };

// nodes have width and height and get x and y; edges are [from, to]. Returns the bends of each edge
// and the size of all.
export function layOut(nodes, edges) {
  const layers = assignLayers(nodes, edges);
  const { cells, links } = withBends(nodes, edges, layers);
  const rows = [];
  for (const cell of cells) (rows[cell.layer] ??= []).push(cell);
  for (const row of rows) row.forEach((cell, k) => (cell.order = k));
  const [above, below] = [new Map(), new Map()];
  for (const [from, to] of links) {
    below.set(from, [...(below.get(from) ?? []), to]);
    above.set(to, [...(above.get(to) ?? []), from]);
  }
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const down = sweep % 2 === 0;
    for (const row of down ? rows : [...rows].reverse())
      sortByNeighbours(row, down ? above : below);
  }
  placeAcross(rows, above, below);
  return placeDown(rows, nodes, edges, cells);
}

function assignLayers(nodes, edges) {
  const layers = new Array(nodes.length).fill(0);
  const [into, out] = [nodes.map(() => []), nodes.map(() => [])];
  edges.forEach(([from, to]) => {
    out[from].push(to);
    into[to].push(from);
  });
  const waiting = into.map((list) => list.length);
  const order = [];
  const ready = nodes.map((_, k) => k).filter((k) => !waiting[k]);
  while (ready.length) {
    const node = ready.shift();
    order.push(node);
    for (const next of out[node]) {
      layers[next] = Math.max(layers[next], layers[node] + 1);
      if (--waiting[next] === 0) ready.push(next);
    }
  }
  // What nothing leads to moves down to what reads it.
  for (const node of order.reverse())
    if (!into[node].length && out[node].length)
      layers[node] = Math.min(...out[node].map((next) => layers[next])) - 1;
  return layers;
}

// An edge over several layers gets a cell in each of them.
function withBends(nodes, edges, layers) {
  const cells = nodes.map((node, k) => ({
    node: k,
    layer: layers[k],
    width: node.width,
    height: node.height,
    x: 0,
  }));
  const links = [];
  edges.forEach(([from, to], edge) => {
    let before = cells[from];
    for (let layer = layers[from] + 1; layer < layers[to]; layer++) {
      const bend = { node: -1, edge, layer, width: 10, height: 0, x: 0 };
      cells.push(bend);
      links.push([before, bend]);
      before = bend;
    }
    links.push([before, cells[to]]);
  });
  return { cells, links };
}

function sortByNeighbours(row, neighbours) {
  for (const cell of row) {
    const near = neighbours.get(cell) ?? [];
    cell.key = near.length
      ? near.reduce((sum, other) => sum + other.order, 0) / near.length
      : cell.order;
  }
  row.sort((one, two) => one.key - two.key || one.order - two.order);
  row.forEach((cell, k) => (cell.order = k));
}

// Moves cells under and over their neighbours, as far as those beside them let them.
function placeAcross(rows, above, below) {
  for (const row of rows) {
    let x = 0;
    for (const cell of row) {
      cell.x = x + cell.width / 2;
      x += cell.width + GAP.x;
    }
    const middle = (x - GAP.x) / 2;
    for (const cell of row) cell.x -= middle;
  }
  for (let sweep = 0; sweep < 2 * SWEEPS; sweep++) {
    const down = sweep % 2 === 0;
    for (const row of down ? rows : [...rows].reverse()) settle(row, down ? above : below);
  }
}

function settle(row, neighbours) {
  const wanted = row.map((cell) => {
    const near = neighbours.get(cell) ?? [];
    return near.length ? near.reduce((sum, other) => sum + other.x, 0) / near.length : cell.x;
  });
  // Cells that would overlap become a block around the mean of their wishes.
  const blocks = [];
  row.forEach((cell, k) => {
    const offset = k === 0 ? 0 : (row[k - 1].width + cell.width) / 2 + GAP.x;
    blocks.push({ cells: [cell], offsets: [0], gap: offset, sum: wanted[k], x: wanted[k] });
    while (blocks.length > 1) {
      const [one, two] = blocks.slice(-2);
      const end = one.x + one.offsets[one.offsets.length - 1];
      if (two.x >= end + two.gap) break;
      const shift = one.offsets[one.offsets.length - 1] + two.gap;
      one.sum += two.sum - two.cells.length * shift;
      one.offsets.push(...two.offsets.map((value) => value + shift));
      one.cells.push(...two.cells);
      one.x = one.sum / one.cells.length;
      blocks.pop();
    }
  });
  for (const block of blocks)
    block.cells.forEach((cell, k) => (cell.x = block.x + block.offsets[k]));
}

function placeDown(rows, nodes, edges, cells) {
  let [y, left, right] = [0, Infinity, -Infinity];
  const bends = edges.map(() => []);
  for (const row of rows) {
    const height = Math.max(...row.map((cell) => cell.height), 0);
    for (const cell of row) {
      left = Math.min(left, cell.x - cell.width / 2);
      right = Math.max(right, cell.x + cell.width / 2);
      if (cell.node >= 0)
        Object.assign(nodes[cell.node], { x: cell.x, y: y + (height - cell.height) / 2 });
      else bends[cell.edge].push({ x: cell.x, top: y, bottom: y + height });
    }
    y += height + GAP.y;
  }
  if (!cells.length) [left, right] = [0, 0];
  return { bends, left, width: right - left, height: Math.max(0, y - GAP.y) };
}

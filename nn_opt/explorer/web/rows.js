// A pass as rows: what was there before on the left, after on the right, unchanged stretches folded.

import { alignLines, changedWords, commonWords } from "./diff.js";
import { opName } from "./model.js";

const AROUND = 3; // unchanged lines shown beside a change
const LEAST = 4; // lines worth folding
const MOST_PAIRS = 250000; // of removed and added lines that are compared by name

// Pairs the parts of two snapshots by kind and name, or by where they come from, in the order of
// the second; originOf tells the part that a part came from.
export function pairParts(before, after, originOf) {
  const key = (item) => `${item.kind} ${item.name}`;
  const left = new Map((before ?? []).map((item) => [key(item), item]));
  const pairs = [];
  for (const item of after ?? []) {
    pairs.push([left.get(key(item)) ?? null, item]);
    left.delete(key(item));
  }
  for (const pair of pairs) {
    if (pair[0] || pair[1].kind !== "function" || !left.size) continue;
    const origin = originOf(pair[1]);
    if (origin?.kind !== "function" || left.get(key(origin)) !== origin) continue;
    pair[0] = origin;
    left.delete(key(origin));
  }
  for (const item of left.values()) {
    const at = pairs.findIndex(([other]) => other && other.position > item.position);
    pairs.splice(at < 0 ? pairs.length : at, 0, [item, null]);
  }
  return pairs;
}

const aligned = new Map(); // of two parts, by their numbers

export function compareParts(left, right) {
  if (!left || !right) {
    const lines = (left ?? right).part.lines;
    return lines.map((_, k) => (left ? [k, -1] : [-1, k]));
  }
  const key = `${left.number} ${right.number}`;
  if (!aligned.has(key)) {
    const pairs =
      left.number === right.number
        ? left.part.lines.map((_, k) => [k, k])
        : matchChanged(
            alignLines(left.part.lines, right.part.lines),
            left.part.lines,
            right.part.lines,
          );
    aligned.set(key, pairs);
  }
  return aligned.get(key);
}

// Puts removed lines beside the added ones that follow them.
function matchChanged(pairs, left, right) {
  const found = [];
  for (let k = 0; k < pairs.length;) {
    if (pairs[k][0] >= 0 && pairs[k][1] >= 0) {
      found.push(pairs[k++]);
      continue;
    }
    const [gone, come] = [[], []];
    for (; k < pairs.length && (pairs[k][0] < 0 || pairs[k][1] < 0); k++)
      if (pairs[k][0] >= 0) gone.push(pairs[k][0]);
      else come.push(pairs[k][1]);
    pairByName(gone, come, left, right, found);
  }
  return found;
}

// Removed and added lines are beside each other where they hold the same op, in the same order.
function pairByName(gone, come, left, right, found) {
  const names = (lines, numbers) =>
    numbers.map((line) => opName(lines[line]) || lines[line].trim().slice(0, 8));
  const common =
    gone.length * come.length > MOST_PAIRS
      ? []
      : commonWords(names(left, gone), names(right, come));
  let [i, j] = [0, 0];
  for (const [nextI, nextJ] of [...common, [gone.length, come.length]]) {
    while (i < nextI) found.push([gone[i++], -1, true]);
    while (j < nextJ) found.push([-1, come[j++], true]);
    if (i < gone.length && j < come.length) found.push([gone[i++], come[j++], true]);
  }
}

export function countChanges(pairs) {
  let [added, removed] = [0, 0];
  for (const [left, right, changed] of pairs) {
    if (right >= 0 && (left < 0 || changed)) added++;
    if (left >= 0 && (right < 0 || changed)) removed++;
  }
  return { added, removed };
}

// options: fn shows one function; fold hides what is the same; open names what the user unfolded;
// diff is false where there is nothing to compare with; originOf is that of pairParts.
export function buildRows(before, after, options) {
  const rows = [];
  for (const [left, right] of pairParts(before, after, options.originOf)) {
    const item = right ?? left;
    if (options.fn && !belongsTo(item, options.fn) && left?.name !== options.fn) continue;
    const pairs = compareParts(left, right);
    const counts = options.diff ? countChanges(pairs) : { added: 0, removed: 0 };
    const touched = counts.added + counts.removed > 0;
    const id = `${item.kind} ${item.name} ${item.position}`;
    if (item.kind !== "end") rows.push({ type: "head", left, right, item, id, counts, touched });
    const open = options.open.get(id) ?? isOpen(item, touched, options);
    rows[rows.length - 1] && (rows[rows.length - 1].expanded = open);
    if (!open) continue;
    if (options.diff && options.fold && touched) pushFolded(rows, left, right, pairs, id, options);
    else for (const pair of pairs) rows.push(lineRow(left, right, pair, options));
  }
  return rows;
}

// The body of a parallel loop is a function of its own, named after that which runs it.
export function belongsTo(item, name) {
  return item.name === name || item.name.startsWith(`${name}.`);
}

function isOpen(item, touched, options) {
  if (options.fn) return true;
  if (options.diff && options.fold) return touched;
  return item.part.lines.length < 400 || item.name === "main";
}

function lineRow(left, right, [l, r, changed], options) {
  const same = l >= 0 && r >= 0 && !changed;
  return {
    type: "line",
    left,
    right,
    l,
    r,
    same: same || !options.diff,
    changed: changed && l >= 0 && r >= 0,
  };
}

function pushFolded(rows, left, right, pairs, id, options) {
  const isSame = (pair) => pair[0] >= 0 && pair[1] >= 0 && !pair[2];
  for (let k = 0; k < pairs.length;) {
    if (!isSame(pairs[k])) {
      rows.push(lineRow(left, right, pairs[k++], options));
      continue;
    }
    let end = k;
    while (end < pairs.length && isSame(pairs[end])) end++;
    const from = k === 0 ? 1 : k + AROUND;
    const to = end === pairs.length ? end - 1 : end - AROUND;
    const fold = `${id} ${k}`;
    if (to - from < LEAST || options.open.get(fold))
      for (let j = k; j < end; j++) rows.push(lineRow(left, right, pairs[j], options));
    else {
      for (let j = k; j < from; j++) rows.push(lineRow(left, right, pairs[j], options));
      rows.push({ type: "fold", id: fold, count: to - from });
      for (let j = to; j < end; j++) rows.push(lineRow(left, right, pairs[j], options));
    }
    k = end;
  }
}

// The rows of one pane: what a stretch removed comes before what it added.
export function unifyRows(rows) {
  const found = [];
  let added = [];
  for (const row of [...rows, null]) {
    if (row && row.type === "line" && !row.same) {
      if (row.l >= 0) found.push({ ...row, r: -1, twin: row });
      if (row.r >= 0) added.push({ ...row, l: -1, twin: row });
      continue;
    }
    found.push(...added);
    added = [];
    if (row) found.push(row);
  }
  return found;
}

// The words that changed in a row's two lines.
export function wordMarks(row) {
  if (row.twin) return wordMarks(row.twin);
  if (row.marks === undefined)
    row.marks = row.changed
      ? changedWords(row.left.part.lines[row.l], row.right.part.lines[row.r])
      : null;
  return row.marks;
}

// Which lines of two texts are the same: by lines that are unique in both, then by Myers.

const MOST_EDITS = 400; // of one stretch without unique lines; beyond, it counts as replaced

// Lines that differ in the numbers of values only are the same line for this purpose.
export function normalised(line) {
  return line
    .replace(/%\d+/g, "%")
    .replace(/%([A-Za-z]\w*?)_\d+\b/g, "%$1")
    .trim();
}

// Returns pairs [left line or -1, right line or -1] in order.
export function alignLines(left, right) {
  const numbers = new Map();
  const number = (line) => {
    const key = normalised(line);
    if (!numbers.has(key)) numbers.set(key, numbers.size);
    return numbers.get(key);
  };
  const pairs = [];
  align(left.map(number), right.map(number), 0, left.length, 0, right.length, pairs);
  return pairs;
}

function align(a, b, aStart, aEnd, bStart, bEnd, pairs) {
  while (aStart < aEnd && bStart < bEnd && a[aStart] === b[bStart])
    pairs.push([aStart++, bStart++]);
  const tail = [];
  while (aStart < aEnd && bStart < bEnd && a[aEnd - 1] === b[bEnd - 1]) tail.push([--aEnd, --bEnd]);
  if (aStart === aEnd || bStart === bEnd) replace(aStart, aEnd, bStart, bEnd, pairs);
  else {
    const anchors = uniqueInBoth(a, b, aStart, aEnd, bStart, bEnd);
    if (anchors.length === 0) myers(a, b, aStart, aEnd, bStart, bEnd, pairs);
    else {
      for (const [i, j] of anchors) {
        align(a, b, aStart, i, bStart, j, pairs);
        pairs.push([i, j]);
        [aStart, bStart] = [i + 1, j + 1];
      }
      align(a, b, aStart, aEnd, bStart, bEnd, pairs);
    }
  }
  for (let k = tail.length - 1; k >= 0; k--) pairs.push(tail[k]);
}

function replace(aStart, aEnd, bStart, bEnd, pairs) {
  for (let i = aStart; i < aEnd; i++) pairs.push([i, -1]);
  for (let j = bStart; j < bEnd; j++) pairs.push([-1, j]);
}

function uniqueInBoth(a, b, aStart, aEnd, bStart, bEnd) {
  const found = new Map(); // number -> [count in a, place in a, count in b, place in b]
  for (let i = aStart; i < aEnd; i++) {
    const entry = found.get(a[i]) ?? [0, 0, 0, 0];
    found.set(a[i], [entry[0] + 1, i, 0, 0]);
  }
  for (let j = bStart; j < bEnd; j++) {
    const entry = found.get(b[j]);
    if (entry) [entry[2], entry[3]] = [entry[2] + 1, j];
  }
  const both = [];
  for (const [inA, i, inB, j] of found.values()) if (inA === 1 && inB === 1) both.push([i, j]);
  both.sort((one, two) => one[0] - two[0]);
  return longestRising(both);
}

function longestRising(pairs) {
  const tops = [];
  const before = [];
  pairs.forEach(([, j], k) => {
    let [low, high] = [0, tops.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (pairs[tops[middle]][1] < j) low = middle + 1;
      else high = middle;
    }
    before[k] = low > 0 ? tops[low - 1] : -1;
    tops[low] = k;
  });
  const chosen = [];
  for (let k = tops.length ? tops[tops.length - 1] : -1; k >= 0; k = before[k])
    chosen.push(pairs[k]);
  return chosen.reverse();
}

function myers(a, b, aStart, aEnd, bStart, bEnd, pairs) {
  const [n, m] = [aEnd - aStart, bEnd - bStart];
  const most = Math.min(n + m, MOST_EDITS);
  const reach = new Int32Array(2 * most + 3);
  const trail = [];
  for (let edits = 0; edits <= most; edits++) {
    trail.push(reach.slice());
    for (let k = -edits; k <= edits; k += 2) {
      const at = k + most + 1;
      const down = k === -edits || (k !== edits && reach[at - 1] < reach[at + 1]);
      let x = down ? reach[at + 1] : reach[at - 1] + 1;
      while (x < n && x - k < m && a[aStart + x] === b[bStart + x - k]) x++;
      reach[at] = x;
      if (x >= n && x - k >= m) {
        backtrack(trail, edits, most, n, m, aStart, bStart, pairs);
        return;
      }
    }
  }
  replace(aStart, aEnd, bStart, bEnd, pairs);
}

function backtrack(trail, edits, most, n, m, aStart, bStart, pairs) {
  const found = [];
  let [x, y] = [n, m];
  for (let d = edits; d >= 0; d--) {
    const reach = trail[d];
    const k = x - y;
    const at = k + most + 1;
    const down = k === -d || (k !== d && reach[at - 1] < reach[at + 1]);
    const beforeK = down ? k + 1 : k - 1;
    const beforeX = d === 0 ? 0 : reach[beforeK + most + 1];
    const beforeY = d === 0 ? 0 : beforeX - beforeK;
    while (x > beforeX && y > beforeY) found.push([aStart + --x, bStart + --y]);
    if (d > 0) found.push(down ? [-1, bStart + --y] : [aStart + --x, -1]);
  }
  pairs.push(...found.reverse());
}

// The stretches [start, end) of two lines that differ, word by word; null if little is the same.
export function changedWords(left, right) {
  const [a, b] = [words(left), words(right)];
  if (a.length * b.length > 40000) return null;
  const common = commonWords(a.map(plainWord), b.map(plainWord));
  const kept = common.reduce((sum, [i]) => sum + a[i].trim().length, 0);
  if (kept < 0.4 * Math.min(left.trim().length, right.trim().length)) return null;
  return [
    stretches(a, new Set(common.map(([i]) => i))),
    stretches(b, new Set(common.map(([, j]) => j))),
  ];
}

function words(line) {
  return line.match(/[\w.%@^]+|\s+|[^\w\s]/g) ?? [];
}

// Numbers of values and widths of spaces change all the time and mean nothing.
function plainWord(word) {
  return /^\s+$/.test(word) ? " " : word.startsWith("%") ? normalised(word) : word;
}

// The pairs of places of a longest common subsequence.
export function commonWords(a, b) {
  const wide = b.length + 1;
  const table = new Uint16Array((a.length + 1) * wide);
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      table[i * wide + j] =
        a[i] === b[j]
          ? table[(i + 1) * wide + j + 1] + 1
          : Math.max(table[(i + 1) * wide + j], table[i * wide + j + 1]);
  const found = [];
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (a[i] === b[j]) found.push([i++, j++]);
    else if (table[(i + 1) * wide + j] >= table[i * wide + j + 1]) i++;
    else j++;
  }
  return found;
}

function stretches(parts, kept) {
  const found = [];
  let at = 0;
  parts.forEach((part, k) => {
    const last = found[found.length - 1];
    if (!kept.has(k)) {
      if (last && last[1] === at) last[1] = at + part.length;
      else found.push([at, at + part.length]);
    }
    at += part.length;
  });
  return found;
}

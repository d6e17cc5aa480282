// The recording, with what follows from it: lines, ops on lines, ancestors and descendants.

// One stretch of text: a function, a schedule, globals.
class Part {
  constructor(raw, places) {
    this.lines = raw.text.split("\n");
    this.graph = raw.graph ?? null;
    this.opLines = [];
    let line = 0;
    for (const step of raw.lines) this.opLines.push((line += step));
    this.places = raw.places.map((number) => places[number]);
    this._opsAt = null;
    this._dialects = null;
  }

  // The ops that begin on a line, by their numbers in the part.
  opsAt(line) {
    if (this._opsAt === null) {
      this._opsAt = new Map();
      this.opLines.forEach((at, op) => {
        if (!this._opsAt.has(at)) this._opsAt.set(at, []);
        this._opsAt.get(at).push(op);
      });
    }
    return this._opsAt.get(line) ?? [];
  }

  contains(query) {
    this._lower ??= this.lines.join("\n").toLowerCase();
    return this._lower.includes(query);
  }

  get dialects() {
    if (this._dialects === null) {
      this._dialects = {};
      for (const line of this.opLines) {
        const name = dialectOf(this.lines[line]);
        this._dialects[name] = (this._dialects[name] ?? 0) + 1;
      }
    }
    return this._dialects;
  }
}

export function dialectOf(line) {
  const match = /^\s*(?:%[^=]*? = )?"?([a-z_]\w*)\./.exec(line);
  return match ? match[1] : "other";
}

export function opName(line) {
  const match = /^\s*(?:%[^=]*? = )?"?([a-z_]\w*\.[\w.]+)/.exec(line);
  return match ? match[1] : "";
}

export class Model {
  constructor(raw) {
    this.raw = raw;
    this.steps = raw.steps;
    this.source = raw.source;
    const parts = raw.parts.map((part) => new Part(part, raw.places));
    this.snapshots = raw.snapshots.map((items) => {
      let first = 0;
      return items.map((item, position) => {
        const part = parts[item.part];
        const placed = { ...item, number: item.part, part, first, position };
        first += part.opLines.length;
        return placed;
      });
    });
    this._parents = [];
    this._children = [];
    this.steps.forEach((step, k) => this._summarise(step, k));
    this.seconds = this.steps.reduce((sum, step) => sum + step.seconds, 0);
  }

  _summarise(step, k) {
    const [before, after] = [this.snapshots[k], this.snapshots[k + 1] ?? this.snapshots[k]];
    step.number = k;
    step.opsBefore = countOps(before);
    step.opsAfter = countOps(after);
    const numbers = (snapshot) => snapshot.map((item) => `${item.name} ${item.number}`).join("\n");
    step.changed = numbers(before) !== numbers(after);
  }

  get last() {
    return this.snapshots.length - 1;
  }

  // Whether a text is in a snapshot anywhere.
  contains(snapshot, query) {
    return this.snapshots[snapshot].some((item) => item.part.contains(query));
  }

  functions(...snapshots) {
    const names = new Set();
    for (const snapshot of snapshots)
      for (const item of snapshot ?? []) if (item.kind === "function") names.add(item.name);
    return [...names];
  }

  // The two sides of one rewrite of a pass, as items without ops; null if there is none.
  rewrite(step, number) {
    const made = this.steps[step]?.applications[number];
    if (!made) return null;
    const earlier = this.steps[step].applications
      .slice(0, number)
      .findLastIndex((other) => other.function === made.function);
    const texts = this.raw.texts;
    const start = () =>
      this.snapshots[step]
        .find((item) => item.kind === "function" && item.name === made.function)
        ?.part.lines.map((line) => line.replace(/^ {2}/, "")) ?? [];
    const linesOf = (k) => this.steps[step].applications[k].text.map((line) => texts[line]);
    return {
      pattern: made.pattern,
      before: textItem(
        made.function,
        earlier < 0 ? start() : linesOf(earlier),
        `${step} ${number} before`,
      ),
      after: textItem(made.function, linesOf(number), `${step} ${number} after`),
    };
  }

  item(snapshot, op) {
    const items = this.snapshots[snapshot];
    let [low, high] = [0, items.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (items[middle].first <= op) low = middle;
      else high = middle - 1;
    }
    return items[low];
  }

  // Where an op's text is: the item of the snapshot, and the line in it.
  place(snapshot, op) {
    const item = this.item(snapshot, op);
    return { item, line: item.part.opLines[op - item.first] };
  }

  text(snapshot, op) {
    const { item, line } = this.place(snapshot, op);
    return item.part.lines[line];
  }

  sourceLines(snapshot, op) {
    const item = this.item(snapshot, op);
    return item.part.places[op - item.first] ?? [];
  }

  // The part of the snapshot before that the first op of a part came from.
  originOf(snapshot, item) {
    const [origin] =
      snapshot > 0 && item.part.opLines.length ? this.parents(snapshot)[item.first] : [];
    return origin === undefined ? null : this.item(snapshot - 1, origin);
  }

  // For each op of a snapshot, those of the snapshot before that it came from.
  parents(snapshot) {
    if (this._parents[snapshot]) return this._parents[snapshot];
    const before = new Map(this.snapshots[snapshot - 1].map((item) => [keyOf(item), item]));
    const found = [];
    for (const item of this.snapshots[snapshot]) {
      const count = item.part.opLines.length;
      if (item.from === 0) {
        const first = before.get(keyOf(item)).first;
        for (let k = 0; k < count; k++) found.push([first + k]);
      } else for (const from of item.from) found.push(Array.isArray(from) ? from : [from]);
    }
    return (this._parents[snapshot] = found);
  }

  children(snapshot) {
    if (this._children[snapshot]) return this._children[snapshot];
    const found = Array.from({ length: countOps(this.snapshots[snapshot]) }, () => []);
    this.parents(snapshot + 1).forEach((origins, op) => {
      for (const origin of origins) found[origin]?.push(op);
    });
    return (this._children[snapshot] = found);
  }

  // The ops of snapshot `to` that ops of snapshot `from` came from or became.
  trace(from, ops, to) {
    let now = new Set(ops);
    for (let k = from; k > to; k--) now = follow(this.parents(k), now);
    for (let k = from; k < to; k++) now = follow(this.children(k), now);
    return now;
  }
}

function textItem(name, lines, number) {
  return {
    name,
    kind: "function",
    number,
    position: 0,
    part: { lines, opsAt: () => [], opLines: [] },
  };
}

function follow(table, ops) {
  const next = new Set();
  for (const op of ops) for (const other of table[op] ?? []) next.add(other);
  return next;
}

function keyOf(item) {
  return `${item.kind} ${item.name}`;
}

function countOps(snapshot) {
  return snapshot.reduce((sum, item) => sum + item.part.opLines.length, 0);
}

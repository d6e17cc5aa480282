// What is shown: a handful of values that are also the address, so that links lead to them.

const DEFAULTS = {
  pass: "",
  view: "ir",
  fn: "",
  side: "after",
  line: "",
  at: "",
  rewrite: "",
  tab: "pass",
};

const listeners = [];
export const state = { ...DEFAULTS };

export function subscribe(listener) {
  listeners.push(listener);
}

export function update(given) {
  const isOther = "pass" in given && String(given.pass) !== String(state.pass);
  const changes = isOther ? { rewrite: "", ...given } : given; // a rewrite is one of its pass
  const changed = Object.keys(changes).filter((key) => String(changes[key]) !== String(state[key]));
  if (!changed.length) return;
  Object.assign(state, changes);
  const text = address();
  const isFramed = location.protocol === "about:"; // by a notebook: there is no address to keep
  if (!isFramed && location.hash.slice(1) !== text) history.replaceState(null, "", `#${text}`);
  for (const listener of listeners) listener(new Set(changed));
}

function address() {
  const shown = Object.entries(state).filter(([key, value]) => String(value) !== DEFAULTS[key]);
  return new URLSearchParams(shown.map(([key, value]) => [key, String(value)])).toString();
}

// first: the pass to show where the address names none.
export function readAddress(first) {
  const given = new URLSearchParams(location.hash.slice(1));
  const values = { ...DEFAULTS, pass: first };
  for (const key of Object.keys(DEFAULTS)) if (given.has(key)) values[key] = given.get(key);
  update(values);
}

// What is remembered from one visit to the next, where the browser lets it.
export function remembered(key, fallback) {
  try {
    return localStorage.getItem(`nn-opt-${key}`) ?? fallback;
  } catch {
    return fallback;
  }
}

export function remember(key, value) {
  try {
    localStorage.setItem(`nn-opt-${key}`, value);
  } catch {
    // a page without an origin has no storage
  }
}

/* Which engine runs a model, and how: WebAssembly with vectors, or plain JavaScript. */
const PROBES = {
  // modules of one function, whose result is a vector; the first one by relaxed instructions
  "wasm-relaxed": [0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 15, 1, 13, 0, 65, 1, 253, 15, 65, 2, 253, 15, 253, 128, 2, 11],
  wasm: [0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11],
};
function supports(engine) {
  if (engine === "js") return true;
  return typeof WebAssembly === "object" && WebAssembly.validate(Uint8Array.from(PROBES[engine]));
}

const count = (info) => info.shape.reduce((a, b) => a * b, 1);
const empty = (info) => new globalThis[info.array](count(info));

/* 2 / sqrt(pi) * exp(-x^2) * sum of 2^n x^(2n+1) / (1 * 3 * ... * (2n+1)) */
function erf(x) {
  const a = Math.abs(x);
  if (!(a < 6)) return a == a ? Math.sign(x) : x;
  let term = a, sum = a;
  for (let n = 3; term > sum * 1e-17; n += 2) sum += (term *= (2 * a * a) / n);
  return Math.sign(x) * 1.1283791670955126 * Math.exp(-a * a) * sum;
}

async function wasmRunner(code, weights, model) {
  const env = { erf, exp2: (x) => 2 ** x, fmod: (x, y) => x % y, atan2f: Math.atan2, cbrtf: Math.cbrt };
  for (const name of Object.getOwnPropertyNames(Math)) if (typeof Math[name] === "function") env[name] = Math[name];
  const { instance } = await WebAssembly.instantiate(code, { env });
  const { memory, run, ...places } = instance.exports;
  new Uint8Array(memory.buffer, places.weights.value).set(new Uint8Array(weights));
  const view = (kind) => (info, k) => new globalThis[info.array](memory.buffer, places[kind + k].value, count(info));
  const inside = model.inputs.map(view("input")), made = model.outputs.map(view("output"));
  return (inputs, outputs) => {
    inside.forEach((array, k) => array.set(inputs[k]));
    run();
    outputs.forEach((array, k) => array.set(made[k]));
  };
}

function plainRunner(program, weights) {
  const arena = new ArrayBuffer(program.arenaBytes);
  return (inputs, outputs) => program.run(inputs, outputs, weights, arena);
}

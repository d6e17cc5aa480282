// Runs one model for another process: reads the bytes of its inputs, one after the other, from
// standard input, and writes those of its outputs to standard output behind one byte: 0. After a
// fault it writes 1, the number of bytes of a message (4 bytes, little-endian), and the message.
//
// node node_driver.mjs MODEL.mjs|MODEL.wasm [WEIGHTS]
import { readFileSync, readSync, writeSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [file, weights] = process.argv.slice(2);

function aligned(bytes) {
  const made = new ArrayBuffer(bytes.byteLength);
  new Uint8Array(made).set(bytes);
  return made;
}

async function loadModule() {
  const model = await import(pathToFileURL(file));
  const content = weights ? aligned(readFileSync(weights)) : new ArrayBuffer(0);
  const arrays = (list) => list.map((info) => {
    const count = info.shape.reduce((a, b) => a * b, 1);
    return new globalThis[info.array](count);
  });
  const inputs = arrays(model.inputs), outputs = arrays(model.outputs);
  return { inputs, outputs, run: () => model.run(inputs, outputs, content) };
}

function erf(x) {
  const a = Math.abs(x);
  if (!(a < 6)) return a == a ? Math.sign(x) : x;
  let term = a, sum = a;
  for (let n = 3; term > sum * 1e-17; n += 2) sum += (term *= (2 * a * a) / n);
  return Math.sign(x) * 1.1283791670955126 * Math.exp(-a * a) * sum;
}

function loadWasm() {
  const module = new WebAssembly.Module(readFileSync(file));
  const names = Object.getOwnPropertyNames(Math).filter((name) => typeof Math[name] == "function");
  const env = Object.fromEntries(names.map((name) => [name, Math[name]]));
  const exp2 = (x) => Math.pow(2, x);
  const more = { erf, exp2, fmod: (x, y) => x % y, atan2f: Math.atan2, cbrtf: Math.cbrt };
  const { exports } = new WebAssembly.Instance(module, { env: { ...env, ...more } });
  const [section] = WebAssembly.Module.customSections(module, "nn-opt");
  const about = JSON.parse(new TextDecoder().decode(section));
  const at = (info) => new Uint8Array(exports.memory.buffer, exports[info.export].value, info.bytes);
  if (weights) {
    const place = new Uint8Array(exports.memory.buffer, exports.weights.value, about.weight_bytes);
    place.set(readFileSync(weights));
  }
  return { inputs: about.inputs.map(at), outputs: about.outputs.map(at), run: exports.run };
}

const bytesOf = (array) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

function fill(bytes) {
  for (let at = 0; at < bytes.length; ) {
    const count = readSync(0, bytes, at, bytes.length - at);
    if (count == 0) process.exit(0);
    at += count;
  }
}

function write(bytes) {
  for (let at = 0; at < bytes.length; ) at += writeSync(1, bytes, at, bytes.length - at);
}

function fail(error) {
  const text = new TextEncoder().encode(String(error?.message ?? error));
  const size = new Uint8Array(new Uint32Array([text.length]).buffer);
  write(new Uint8Array([1, ...size, ...text]));
}

try {
  const model = file.endsWith(".wasm") ? loadWasm() : await loadModule();
  const inputs = model.inputs.map(bytesOf), outputs = model.outputs.map(bytesOf);
  write(new Uint8Array([0]));
  const request = new Uint8Array(1);
  for (;;) {
    fill(request);
    inputs.forEach(fill);
    try {
      model.run();
      write(new Uint8Array([0]));
      outputs.forEach(write);
    } catch (error) {
      fail(error);
    }
  }
} catch (error) {
  fail(error);
}

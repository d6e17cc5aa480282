// One way to run a model each: a function that runs it once.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import path from "node:path";

const wave = (count) => new Float32Array(count).map((_, k) => Math.sin(k * 0.37) * 0.5);
const product = (shape) => shape.reduce((a, b) => a * b, 1);

function wasm({ file, weights }) {
  const module = new WebAssembly.Module(readFileSync(file));
  const { exports } = new WebAssembly.Instance(module, {});
  const [section] = WebAssembly.Module.customSections(module, "nn-opt");
  const about = JSON.parse(new TextDecoder().decode(section));
  const content = readFileSync(weights);
  new Uint8Array(exports.memory.buffer, exports.weights.value, content.length).set(content);
  for (const info of about.inputs) {
    if (info.dtype != "float32") continue; // indices are zeros
    const place = exports[info.export].value;
    new Float32Array(exports.memory.buffer, place, info.bytes / 4).set(wave(info.bytes / 4));
  }
  return exports.run;
}

async function javascript({ file, weights }) {
  const model = await import(pathToFileURL(file));
  const content = Uint8Array.from(readFileSync(weights)).buffer;
  const make = ({ array, shape }) => new globalThis[array](product(shape));
  const isFloat = (info) => info.array == "Float32Array";
  const inputs = model.inputs.map((info) => (isFloat(info) ? wave(product(info.shape)) : make(info)));
  const outputs = model.outputs.map(make);
  return () => model.run(inputs, outputs, content);
}

async function onnxruntime({ file, peers }) {
  const place = path.join(peers, "node_modules/onnxruntime-web/dist/ort.wasm.min.mjs");
  const ort = await import(pathToFileURL(place));
  ort.env.wasm.numThreads = 1;
  ort.env.wasm.proxy = false;
  const session = await ort.InferenceSession.create(readFileSync(file), {
    executionProviders: ["wasm"],
    graphOptimizationLevel: "all",
  });
  const feeds = Object.fromEntries(
    session.inputMetadata.map(({ name, shape, type }) => {
      const count = product(shape);
      const values = type == "float32" ? wave(count) : new BigInt64Array(count);
      return [name, new ort.Tensor(type, values, shape)];
    }),
  );
  return () => session.run(feeds);
}

async function tensorflow({ backend, program, peers }) {
  const require = createRequire(path.join(path.resolve(peers), "package.json"));
  const tf = require("@tensorflow/tfjs");
  const engine = require("@tensorflow/tfjs-backend-wasm");
  engine.setThreadsCount(1);
  engine.setWasmPaths(`${path.resolve(peers)}/node_modules/@tensorflow/tfjs-backend-wasm/dist/`);
  await tf.setBackend(backend);
  await tf.ready();
  const run = program ? network(tf, JSON.parse(readFileSync(program, "utf8"))) : matmul(tf);
  return async () => {
    if (tf.getBackend() != backend) await tf.setBackend(backend);
    const result = tf.tidy(run);
    await result.data();
    result.dispose();
  };
}

function matmul(tf) {
  const [a, b] = [0, 1].map(() => tf.tensor2d(wave(512 * 512), [512, 512]));
  return () => tf.matMul(a, b);
}

// A list of layers: each reads earlier values by number, of which 0 is the image.
function network(tf, { image, layers }) {
  const [, channels, height, width] = image;
  const x = tf.tensor4d(wave(product(image)), [1, height, width, channels]);
  const made = layers.map((layer) => ({
    ...layer,
    w: layer.shape && tf.tensor(wave(product(layer.shape)), layer.shape),
    b: layer.shape && tf.tensor1d(wave(layer.filters)),
  }));
  return () => {
    const values = [x];
    for (const { kind, from, w, b, stride, activation } of made) {
      const [input, other] = from.map((k) => values[k]);
      const settings = { x: input, filter: w, strides: stride, pad: "same", bias: b, activation };
      if (kind == "conv") values.push(tf.fused.conv2d(settings));
      else if (kind == "depthwise") values.push(tf.fused.depthwiseConv2d(settings));
      else if (kind == "add") values.push(tf.add(input, other));
      else if (kind == "pool") values.push(tf.mean(input, [1, 2]));
      else values.push(tf.fused.matMul({ a: input, b: w, bias: b }));
    }
    return values[values.length - 1];
  };
}

const KINDS = { wasm, javascript, onnxruntime, tensorflow };

export async function makeSubject(about) {
  return await KINDS[about.kind](about);
}

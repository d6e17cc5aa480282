/* $title
 *
 *   import { create } from "./$module";
 *   const model = await create();
 *   const outputs = model.run(inputs); // typed arrays in row-major order, in the order of these lists
 */
export const inputs = $inputs;
export const outputs = $outputs;

const FILES = $files; // the best engine first
const WEIGHTS = $weights;

$engines

async function read(file) {
  const url = new URL(file, import.meta.url);
  if (url.protocol !== "file:") return (await fetch(url)).arrayBuffer();
  const bytes = await (await import("node:fs/promises")).readFile(url);
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
}

/* Make the model for the first of these engines that is here. */
export async function create({ engines = Object.keys(FILES) } = {}) {
  const engine = engines.find((name) => name in FILES && supports(name));
  if (!engine) throw new Error(`no engine of $${engines.join(", ")} is here`);
  const weights = await read(WEIGHTS[engine]);
  if (engine === "js") {
    return new Model(engine, plainRunner(await import(new URL(FILES.js, import.meta.url)), weights));
  }
  return new Model(engine, await wasmRunner(await read(FILES[engine]), weights, { inputs, outputs }));
}

class Model {
  constructor(engine, runner) {
    this.engine = engine;
    this.runner = runner;
  }

  /* Return the outputs; arrays that are given for them are filled. */
  run(given, results = outputs.map(empty)) {
    check(given, inputs, "inputs");
    check(results, outputs, "outputs");
    this.runner(given, results);
    return results;
  }
}

function check(arrays, infos, what) {
  if (arrays.length !== infos.length) throw new Error(`the model has $${infos.length} $${what}, not $${arrays.length}`);
  infos.forEach((info, k) => {
    if (arrays[k]?.constructor?.name === info.array && arrays[k].length === count(info)) return;
    const found = `$${arrays[k]?.constructor?.name} of $${arrays[k]?.length}`;
    throw new Error(`$${info.name} is a $${info.array} of $${count(info)}, not a $${found}`);
  });
}

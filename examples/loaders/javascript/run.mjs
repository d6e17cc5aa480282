/* Runs an ES module that nn-compile made, in node; browsers import it the same way.
 *
 *   nn-compile model.onnx -o net.mjs
 *   node run.mjs ./net.mjs < input.bin > output.bin
 */
import { readFileSync, writeSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const { create, inputs } = await import(pathToFileURL(resolve(process.argv[2])));
const model = await create();

const bytes = readFileSync(0);
let at = 0;
const given = inputs.map(({ array, shape }) => {
  const Array = globalThis[array];
  const size = shape.reduce((a, b) => a * b, 1) * Array.BYTES_PER_ELEMENT;
  const part = bytes.buffer.slice(bytes.byteOffset + at, bytes.byteOffset + at + size);
  at += size;
  return new Array(part);
});

for (const output of model.run(given)) writeSync(1, new Uint8Array(output.buffer));
console.error(`run by ${model.engine}`);

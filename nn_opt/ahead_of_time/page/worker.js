/* Runs the model beside the page, which stays awake. `program` is the model in plain JavaScript. */
let runner;

async function start({ weights, codes, engines }) {
  const engine = engines.find((name) => (name === "js" ? program.run : codes[name]) && supports(name));
  if (!engine) throw new Error("no such engine is in this page");
  runner = engine === "js" ? plainRunner(program, weights.js) : await wasmRunner(codes[engine], weights.wasm, program);
  return { engine };
}

function run({ inputs }) {
  const outputs = program.outputs.map(empty), start = performance.now();
  runner(inputs, outputs);
  return { outputs, time: performance.now() - start };
}

onmessage = async ({ data }) => {
  try {
    const answer = data.weights ? await start(data) : run(data);
    postMessage({ id: data.id, ...answer });
  } catch (error) {
    postMessage({ id: data.id, error: String(error.message || error) });
  }
};

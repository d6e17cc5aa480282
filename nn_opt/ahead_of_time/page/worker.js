/* Runs the model beside the page, which stays awake. `program` is the model's code. */
let runner;

async function start({ weights }) {
  runner = await create(program, weights);
  return { engine: runner.engine };
}

async function create(program, weights) {
  const arena = new ArrayBuffer(program.arenaBytes);
  const count = (info) => info.shape.reduce((a, b) => a * b, 1);
  const run = (inputs) => {
    const outputs = program.outputs.map((info) => new globalThis[info.array](count(info)));
    program.run(inputs, outputs, weights, arena);
    return outputs;
  };
  return { engine: "JavaScript", run };
}

function run({ inputs }) {
  const start = performance.now();
  const outputs = runner.run(inputs);
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

// Times programs in turns: every one runs a few calls, then all others do, and so on.
//
// node [--experimental-wasm-relaxed-simd] turns.mjs TASKS.json
//
// TASKS.json: {"tasks": [{"name", "turns", "calls", "subjects": [{"name", "kind", ..}, ..]}, ..]}.
// Prints {task: {subject: [milliseconds of each call, ..]}}; the time is that of this process on
// its core, so that what else runs on the machine does not count.
import { readFileSync } from "node:fs";
import { makeSubject } from "./subjects.mjs";

const { tasks } = JSON.parse(readFileSync(process.argv[2], "utf8"));

function clock() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

async function measure(task) {
  const subjects = [];
  for (const about of task.subjects) {
    try {
      subjects.push([about.name, await makeSubject(about)]);
    } catch (error) {
      process.stderr.write(`${task.name}: ${about.name}: ${error.message}\n`);
    }
  }
  const times = Object.fromEntries(subjects.map(([name]) => [name, []]));
  for (const [, run] of subjects) for (let k = 0; k < 3; ++k) await run();
  await new Promise((done) => setTimeout(done, 500)); // engines compile again what runs often
  for (let turn = 0; turn < task.turns; ++turn) {
    for (const [name, run] of subjects) {
      await run();
      for (let k = 0; k < task.calls; ++k) {
        const start = clock();
        await run();
        times[name].push(clock() - start);
      }
    }
  }
  return times;
}

const results = {};
for (const task of tasks) results[task.name] = await measure(task);
process.stdout.write(JSON.stringify(results));
process.exit(0);

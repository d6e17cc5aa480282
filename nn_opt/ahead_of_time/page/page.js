const model = JSON.parse(document.getElementById("model").textContent);
const $ = (id) => document.getElementById(id);
const size = (info) => info.shape.reduce((a, b) => a * b, 1);
const shown = (number) => Number(number).toPrecision(6).replace(/(\.\d*?)0+(e|$)/, "$1$2").replace(/\.(e|$)/, "$1");

/* ---- What the page holds, packed */
function bytesOf(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const raw = atob(text), bytes = new Uint8Array(raw.length);
  for (let k = 0; k < raw.length; k++) bytes[k] = raw.charCodeAt(k);
  return bytes;
}

async function unpacked(name) {
  const script = document.querySelector(`script[data-part="${name}"]`);
  if (!script) return undefined;
  const packed = new Blob([bytesOf(script.textContent)]);
  script.remove();
  return new Response(packed.stream().pipeThrough(new DecompressionStream("deflate")));
}

/* ---- The worker */
const ENGINES = { "wasm-relaxed": "WebAssembly with relaxed vectors", wasm: "WebAssembly with vectors", js: "JavaScript" };
const waiting = new Map();
let worker, calls = 0;

function ask(message, moved = []) {
  return new Promise((resolve, reject) => {
    waiting.set(++calls, { resolve, reject });
    worker.postMessage({ ...message, id: calls }, moved);
  });
}

async function startWorker() {
  const program = await (await unpacked("program.js")).text();
  const source = new Blob([program, $("worker").textContent], { type: "text/javascript" });
  worker = new Worker(URL.createObjectURL(source));
  worker.onerror = (event) => complain(new Error(event.message || "the worker cannot start"));
  worker.onmessage = ({ data }) => {
    const { resolve, reject } = waiting.get(data.id);
    waiting.delete(data.id);
    if (data.error) reject(new Error(data.error));
    else resolve(data);
  };
  const codes = {}, weights = {};
  for (const name of ["wasm-relaxed", "wasm", "weights.wasm", "weights.js"]) {
    const content = await (await unpacked(name))?.arrayBuffer();
    if (name.startsWith("weights.")) weights[name.slice(8)] = content;
    else codes[name] = content;
  }
  weights.js ??= weights.wasm;
  const wanted = new URLSearchParams(location.search).get("engine"); // ?engine=js, to compare
  const engines = ["wasm-relaxed", "wasm", "js"].filter((name) => name === (wanted ?? name));
  return ask({ weights, codes, engines });
}

/* ---- What is said */
function say(text) {
  $("status").className = "";
  $("status").textContent = text;
}

function complain(error) {
  document.body.dataset.state = "error";
  document.body.removeAttribute("aria-busy");
  $("status").className = "bad";
  $("status").textContent = error.message;
}

/* ---- One run: the newest input is the one that counts */
let newest = 0, last;
async function infer(inputs) {
  const number = ++newest;
  document.body.dataset.state = "running";
  say("Running …");
  try {
    const { outputs, time } = await ask({ inputs });
    if (number !== newest) return;
    last = { inputs, outputs, time };
    show(outputs);
    say(`${time < 100 ? time.toFixed(1) : Math.round(time)} ms in ${ENGINES[model.engine]}`);
    document.body.dataset.state = "done";
  } catch (error) {
    if (number === newest) complain(error);
  }
}

/* ---- Results */
function element(tag, text, properties = {}) {
  const made = Object.assign(document.createElement(tag), properties);
  if (text !== undefined) made.textContent = text;
  return made;
}

function show(outputs) {
  const parts = outputs.map((values, k) => {
    const info = model.outputs[k];
    return model.classes === k ? top(values) : isPicture(info) ? picture(values, info) : table(values, info);
  });
  $("results").replaceChildren(...parts);
  $("results").hidden = false;
}

function shares(values) {
  const numbers = Array.from(values, Number), sum = numbers.reduce((a, b) => a + b, 0);
  if (numbers.every((v) => v >= 0 && v <= 1) && Math.abs(sum - 1) < 1e-3) return numbers;
  const most = numbers.reduce((a, b) => Math.max(a, b), -Infinity);
  const powers = numbers.map((v) => Math.exp(v - most)), all = powers.reduce((a, b) => a + b, 0);
  return powers.map((v) => v / all);
}

function best(values, count) {
  return Array.from(values, (v, k) => k).sort((a, b) => Number(values[b] - values[a]) || a - b).slice(0, count);
}

function top(values) {
  const share = shares(values), list = element("ol", undefined, { className: "top" });
  for (const k of best(values, 5)) {
    const row = element("li");
    row.dataset.class = k;
    row.style.setProperty("--share", `${(100 * share[k]).toFixed(2)}%`);
    row.append(element("span", model.labels[k] ?? `class ${k}`), element("span", `${(100 * share[k]).toFixed(1)} %`, { className: "share" }));
    list.append(row);
  }
  return list;
}

/* Images that a model makes: planes of one or three colours, the least number black, the most white. */
function isPicture({ dtype, shape: [batch, channels, height, width, ...more] }) {
  const fits = batch === 1 && (channels === 1 || channels === 3) && more.length === 0;
  return Boolean(model.image) && fits && dtype.startsWith("float") && Math.min(height, width) >= 8;
}

function picture(values, info) {
  const [, channels, height, width] = info.shape, area = height * width;
  const canvas = element("canvas", undefined, { width, height }), pen = canvas.getContext("2d");
  const pixels = pen.createImageData(width, height);
  const least = values.reduce((a, b) => Math.min(a, b)), most = values.reduce((a, b) => Math.max(a, b));
  const scale = most > least ? 255 / (most - least) : 0;
  for (let k = 0; k < area; k++) {
    for (let c = 0; c < 3; c++) pixels.data[4 * k + c] = (values[(c % channels) * area + k] - least) * scale;
    pixels.data[4 * k + 3] = 255;
  }
  pen.putImageData(pixels, 0, 0);
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `The image ${info.name}`);
  const figure = element("figure");
  figure.append(canvas, element("figcaption", `${info.name}: from ${shown(least)}, black, to ${shown(most)}, white`));
  return figure;
}

const LONGEST = 200; // rows of a table
function table(values, info) {
  const width = Math.max(1, info.shape.length > 1 ? info.shape[info.shape.length - 1] : 1);
  const columns = Math.min(width, 16), made = element("table");
  made.append(element("caption", `${info.name}: ${info.dtype}[${info.shape.join(", ")}]`));
  const rows = Math.min(Math.ceil(values.length / width), LONGEST);
  for (let row = 0; row < rows; row++) {
    const line = made.insertRow();
    line.append(element("th", row, { scope: "row" }));
    for (let k = 0; k < columns; k++) line.insertCell().textContent = text(values[row * width + k], info);
    if (columns < width) line.insertCell().textContent = "…";
  }
  const box = element("div", undefined, { className: "scroll", tabIndex: 0 });
  box.append(made);
  return box;
}

function text(value, info) {
  if (value === undefined) return "";
  return info.dtype.startsWith("float") ? shown(value) : String(value);
}

/* ---- Images */
function numbers(id) {
  const channels = model.image.channels;
  const words = $(id).value.split(/[\s,;]+/).filter(Boolean).map(Number);
  const all = words.length === 1 ? Array(channels).fill(words[0]) : words;
  if (all.length !== channels || all.some(Number.isNaN)) throw new Error(`${id} needs ${channels} numbers`);
  return all;
}

function tensor(pixels) {
  const { height, width, channels, planar } = model.image, [info] = model.inputs;
  const mean = numbers("mean"), std = numbers("std"), area = height * width;
  const whole = !info.dtype.startsWith("float"), made = new globalThis[info.array](area * channels);
  for (let k = 0; k < area; k++) {
    const [r, g, b] = [pixels[4 * k], pixels[4 * k + 1], pixels[4 * k + 2]];
    const colours = channels === 1 ? [0.299 * r + 0.587 * g + 0.114 * b] : [r, g, b];
    for (let c = 0; c < channels; c++) {
      const value = whole ? Math.round(colours[c]) : (colours[c] / 255 - mean[c]) / std[c];
      made[planar ? c * area + k : k * channels + c] = value;
    }
  }
  return made;
}

let source; // what is seen, in any size
function draw(image, wide, high) {
  source = { image, wide, high };
  const { height, width } = model.image, canvas = $("preview");
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  [canvas.width, canvas.height] = [width, height];
  pen.imageSmoothingQuality = "high";
  pen.fillStyle = "white";
  pen.fillRect(0, 0, width, height);
  const scale = Math.max(width / wide, height / high); // the middle, as large as it gets
  const [w, h] = [width / scale, height / scale];
  pen.drawImage(image, (wide - w) / 2, (high - h) / 2, w, h, 0, 0, width, height);
  try {
    infer([tensor(pen.getImageData(0, 0, width, height).data)]);
  } catch (error) {
    complain(error);
  }
}

async function open(file) {
  if (!file) return;
  try {
    const image = await createImageBitmap(file);
    draw(image, image.width, image.height);
  } catch {
    complain(new Error(`${file.name || "this"} is no image that the browser can read`));
  }
}

function sample() {
  const canvas = element("canvas", undefined, { width: 480, height: 480 }), pen = canvas.getContext("2d");
  const grass = pen.createLinearGradient(0, 0, 0, 480);
  grass.addColorStop(0, "#7fae5a");
  grass.addColorStop(1, "#31612c");
  pen.fillStyle = grass;
  pen.fillRect(0, 0, 480, 480);
  pen.translate(240, 240);
  for (let k = 0; k < 21; k++) { // a daisy
    pen.rotate((2 * Math.PI) / 21);
    pen.fillStyle = k % 2 ? "#ffffff" : "#eceff4";
    pen.beginPath();
    pen.ellipse(0, -135, 22, 78, 0, 0, 2 * Math.PI);
    pen.fill();
  }
  const heart = pen.createRadialGradient(-15, -15, 5, 0, 0, 66);
  heart.addColorStop(0, "#ffe36b");
  heart.addColorStop(1, "#d99a12");
  pen.fillStyle = heart;
  pen.beginPath();
  pen.arc(0, 0, 64, 0, 2 * Math.PI);
  pen.fill();
  draw(canvas, 480, 480);
}

function startImage() {
  const { height, width, channels, mean, std } = model.image, [info] = model.inputs;
  const whole = !info.dtype.startsWith("float");
  $("mean").value = mean.join(", ");
  $("std").value = std.join(", ");
  for (const id of ["mean", "std"]) $(id).disabled = whole;
  const colours = channels === 1 ? "grey" : "red, green, blue";
  $("formula").textContent =
    `The middle of the image, scaled to ${width} by ${height} pixels; ${colours}: ` +
    (whole ? "whole numbers from 0 to 255." : "(value / 255 − mean) / std.");
  $("file").addEventListener("change", () => open($("file").files[0]));
  $("sample").addEventListener("click", sample);
  $("pixels").addEventListener("submit", (event) => event.preventDefault());
  $("pixels").addEventListener("change", () => draw(source.image, source.wide, source.high));
  for (const kind of ["dragenter", "dragover", "dragleave", "drop"]) {
    addEventListener(kind, (event) => {
      event.preventDefault();
      $("drop").classList.toggle("over", kind === "dragenter" || kind === "dragover");
      if (kind === "drop") open([...event.dataTransfer.files].find((file) => file.type.startsWith("image/")));
    });
  }
  addEventListener("paste", (event) => open([...event.clipboardData.files][0]));
  $("image").hidden = false;
  sample();
}

/* ---- Any other inputs */
function parse(text, info) {
  const whole = info.array.startsWith("Big") ? BigInt : Number;
  const words = text.replace(/[[\]]/g, " ").split(/[\s,;]+/).filter(Boolean);
  const wanted = size(info);
  if (words.length !== wanted) throw new Error(`${info.name} needs ${wanted} numbers, not ${words.length}`);
  return globalThis[info.array].from(words, (word) => {
    const value = word === "true" ? 1 : word === "false" ? 0 : word;
    if (Number.isNaN(Number(value))) throw new Error(`${info.name}: ${word} is no number`);
    return whole(value);
  });
}

function fill(make) {
  model.inputs.forEach((info, k) => {
    $(`input${k}`).value = Array.from({ length: size(info) }, () => make(info)).join(", ");
  });
}

function random(info) {
  if (info.dtype === "bool") return Math.random() < 0.5 ? "true" : "false";
  if (!info.dtype.startsWith("float")) return Math.floor(Math.random() * 2);
  const normal = Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
  return normal.toFixed(4);
}

function startValues() {
  model.inputs.forEach((info, k) => {
    const label = element("label", `${info.name}: ${info.dtype}[${info.shape.join(", ")}]`, { htmlFor: `input${k}` });
    $("fields").append(label, element("textarea", undefined, { id: `input${k}`, spellcheck: false }));
  });
  $("values").addEventListener("submit", (event) => {
    event.preventDefault();
    try {
      infer(model.inputs.map((info, k) => parse($(`input${k}`).value, info)));
    } catch (error) {
      complain(error);
    }
  });
  $("random").addEventListener("click", () => fill(random));
  $("zeros").addEventListener("click", () => fill((info) => (info.dtype === "bool" ? "false" : 0)));
  fill(random);
  $("values").hidden = false;
  $("values").requestSubmit();
}

/* For the console: await nnOpt.run([new Float32Array(..)]); nnOpt.last has what the page ran. */
globalThis.nnOpt = { model, run: async (inputs) => (await ask({ inputs })).outputs, get last() { return last; } };

startWorker().then(({ engine }) => {
  model.engine = engine;
  document.body.removeAttribute("aria-busy");
  document.body.dataset.state = "ready";
  if (model.image) startImage();
  else startValues();
}).catch(complain);

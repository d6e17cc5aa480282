// Lines of IR, LLVM IR, assembly and models as coloured spans.

import { h } from "./dom.js";

const MOST = 3000; // characters of a line that are drawn

const RULES = {
  mlir: [
    ["comment", /\/\/.*/y],
    ["string", /"(?:[^"\\]|\\.)*"?/y],
    ["value", /%[\w$.-]+(?:#\d+)?/y],
    ["symbol", /@(?:[\w$.-]+|"[^"]*")/y],
    ["block", /\^[\w$.-]+/y],
    ["attribute", /#[\w$.-]+/y],
    [
      "type",
      /(?:tensor|memref|vector)(?=<)|!?[a-z_]+\.[a-z_]+(?=<)|![\w.$-]+|\b(?:[su]?i\d+|ui\d+|f\d+|bf16|index|x(?:f|i)\d+)\b/y,
    ],
    ["op", /\b[a-z_]\w*(?:\.[a-z_]\w*)+/y],
    ["number", /-?\b(?:0x[0-9A-Fa-f]+|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)(?![\w])/y],
    ["type", /\d+x(?:[\dx]|[a-z]+\d*)*/y],
    ["word", /[A-Za-z_][\w-]*/y],
  ],
  llvm: [
    ["comment", /;.*/y],
    ["string", /c?"(?:[^"\\]|\\.)*"?/y],
    ["value", /%[\w$.-]+|%"[^"]*"/y],
    ["symbol", /@(?:[\w$.-]+|"[^"]*")/y],
    ["attribute", /![\w.]+|#\d+/y],
    ["block", /^[\w.$-]+:/y],
    ["type", /\b(?:i\d+|float|double|half|bfloat|ptr|void|label|x)\b/y],
    ["number", /-?\b(?:0x[0-9A-Fa-f]+|\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\b/y],
    [
      "op",
      /\b(?:define|declare|br|ret|phi|load|store|getelementptr|call|switch|select|icmp|fcmp|f?add|f?sub|f?mul|f?div|[su]div|[su]rem|shl|[al]shr|and|or|xor|fneg|bitcast|[sz]ext|trunc|fpext|fptrunc|[su]itofp|fpto[su]i|shufflevector|insertelement|extractelement|alloca|insertvalue|extractvalue|unreachable)\b/y,
    ],
    ["word", /[A-Za-z_][\w-]*/y],
  ],
  asm: [
    ["comment", /(?:#|\/\/|;).*/y],
    ["string", /"(?:[^"\\]|\\.)*"?/y],
    ["block", /^[\w.$"@-]+:/y],
    ["attribute", /\.[a-z_]\w*/y],
    ["value", /%[a-z]+\d*|\b[xyz]mm\d+\b|\b[wxvqds]\d+\b/y],
    ["number", /\$?-?\b(?:0x[0-9A-Fa-f]+|\d+)\b/y],
    ["op", /(?<=^\s+)[a-z][\w.]*/y],
    ["word", /[A-Za-z_][\w]*/y],
  ],
  c: [
    ["comment", /\/\*.*?(?:\*\/|$)|\/\/.*|^ \*.*/y],
    ["string", /"(?:[^"\\]|\\.)*"?/y],
    ["attribute", /^#\w+.*/y],
    ["op", /\b(?:for|while|if|else|return|static|inline|const|let|function|export|new|void)\b/y],
    ["type", /\b(?:u?int\d+_t|float|double|char|\w+Array|ArrayBuffer|BigInt)\b/y],
    ["number", /\b(?:0x[0-9A-Fa-f]+|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?[fnu]?)\b/y],
    ["symbol", /\b[A-Za-z_]\w*(?=\()/y],
    ["word", /[A-Za-z_]\w*/y],
  ],
  onnx: [
    ["symbol", /^[^:]+(?=: )/y],
    ["string", /'[^']*'/y],
    ["op", /\b\w+(?=\()/y],
    ["number", /-?\b\d+(?:\.\d+)?(?:e-?\d+)?\b/y],
    ["word", /[A-Za-z_][\w./:-]*/y],
  ],
};

export const LANGUAGES = Object.keys(RULES);

export function tokens(text, language) {
  const found = [];
  const rules = RULES[language] ?? [];
  for (let at = 0; at < text.length;) {
    let end = 0;
    for (const [kind, rule] of rules) {
      rule.lastIndex = at;
      const match = rule.exec(text);
      if (match && match[0]) {
        end = at + match[0].length;
        found.push([at, end, kind]);
        break;
      }
    }
    at = end || at + 1;
  }
  return found;
}

// A line as spans; `marks` are stretches [start, end, class] on top of the colours.
export function lineSpans(text, language, marks = []) {
  const shown = text.length > MOST ? text.slice(0, MOST) : text;
  const spans = [];
  let at = 0;
  const push = (start, end, kind) => {
    for (const [from, to, mark] of cut(start, end, marks)) {
      const name = [kind && `t-${kind}`, mark].filter(Boolean).join(" ");
      spans.push(name ? h("span", { class: name }, shown.slice(from, to)) : shown.slice(from, to));
    }
  };
  for (const [start, end, kind] of tokens(shown, language)) {
    if (start > at) push(at, start, "");
    push(start, end, kind);
    at = end;
  }
  if (at < shown.length) push(at, shown.length, "");
  if (shown !== text)
    spans.push(h("span", { class: "cut" }, ` … ${text.length - MOST} more characters`));
  return spans;
}

function* cut(start, end, marks) {
  const edges = new Set([start, end]);
  for (const [from, to] of marks) {
    if (from > start && from < end) edges.add(from);
    if (to > start && to < end) edges.add(to);
  }
  const sorted = [...edges].sort((one, two) => one - two);
  for (let k = 0; k + 1 < sorted.length; k++) {
    const over = marks.filter(([from, to]) => from <= sorted[k] && to >= sorted[k + 1]);
    yield [sorted[k], sorted[k + 1], over.map(([, , mark]) => mark).join(" ")];
  }
}

// Marks which words of a text were removed and added.
"use strict";

const MOST_WORDS = 1_000; // the table of a comparison has the square of this many cells

/** Return [kind, text] of the parts of two texts; kind is 0 (in both), -1 (removed) or 1 (added). */
function compared(before, after) {
  const [a, b] = [before, after].map((text) => text.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? []);
  let start = 0, tail = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  while (tail < Math.min(a.length, b.length) - start && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const x = a.slice(start, a.length - tail), y = b.slice(start, b.length - tail);
  const parts = [[0, a.slice(0, start).join("")]];
  if (x.length > MOST_WORDS || y.length > MOST_WORDS) parts.push([-1, x.join("")], [1, y.join("")]);
  else parts.push(...aligned(x, y));
  parts.push([0, a.slice(a.length - tail).join("")]);
  const joined = [];
  for (const [kind, text] of parts.filter(([, each]) => each)) {
    if (joined.at(-1)?.[0] === kind) joined.at(-1)[1] += text;
    else joined.push([kind, text]);
  }
  return joined;
}

/** Align two lists of words by their longest common subsequence. */
function aligned(x, y) {
  const width = y.length + 1;
  const longest = new Uint16Array((x.length + 1) * width);
  for (let i = x.length - 1; i >= 0; i--) {
    for (let j = y.length - 1; j >= 0; j--) {
      longest[i * width + j] = x[i] === y[j] ? longest[(i + 1) * width + j + 1] + 1
        : Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
    }
  }
  const parts = [];
  let i = 0, j = 0;
  while (i < x.length || j < y.length) {
    if (i < x.length && j < y.length && x[i] === y[j]) { parts.push([0, x[i]]); i++; j++; }
    else if (j >= y.length || (i < x.length && longest[(i + 1) * width + j] >= longest[i * width + j + 1])) parts.push([-1, x[i++]]);
    else parts.push([1, y[j++]]);
  }
  return parts;
}

/** Return a text with the words that differ from `before` marked; without `before`, the text alone. */
function marked(before, after) {
  if (before === undefined || before === null) return make("p", { class: "said" }, after);
  let parts = compared(before, after);
  const kept = parts.filter(([kind]) => kind === 0).reduce((sum, [, text]) => sum + text.length, 0);
  if (kept * 3 < Math.max(before.length, after.length)) parts = [[-1, before], [0, before && after ? "\n" : ""], [1, after]]; // another text
  return make("p", { class: "said" }, parts.filter(([, text]) => text).map(([kind, text]) =>
    kind === 0 ? text : make(kind < 0 ? "del" : "ins", {}, text)));
}

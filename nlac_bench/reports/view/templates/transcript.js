// One episode as a transcript: what the agent and the environment wrote, and the critic's texts beside each turn.
"use strict";

const LONGEST = 6_000; // characters of a text that are shown at once; the rest is folded
const MATHML = new Set(["mrow", "mi", "mo", "mn", "mtext", "mspace", "mfrac", "msqrt", "mroot", "msub", "msup", "msubsup",
  "munder", "mover", "munderover", "mtable", "mtr", "mtd", "mstyle", "mpadded"]);

function formula([name, attributes, ...children]) {
  if (!MATHML.has(name)) throw new Error(`${name} is not an element of a formula`);
  const made = document.createElementNS("http://www.w3.org/1998/Math/MathML", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children.map((child) => (Array.isArray(child) ? formula(child) : child)));
  return made;
}

function rendered([, display, tree, source]) {
  const math = document.createElementNS("http://www.w3.org/1998/Math/MathML", "math");
  math.setAttribute("display", display);
  math.setAttribute("aria-label", source);
  math.append(formula(tree));
  return math;
}

/** A text of a model, a user or a tool, with its line breaks; what is longer than `longest` is folded. */
function said(text, kind = "said", longest = LONGEST) {
  if (Array.isArray(text)) return make("div", { class: kind, dir: "auto" }, text.map((p) => (Array.isArray(p) ? rendered(p) : p)));
  const properties = { class: kind, dir: "auto", ...(kind === "long" ? { tabIndex: 0 } : {}) }; // it can be scrolled
  if (text.length <= longest) return make("div", properties, text || make("em", {}, "(empty)"));
  const rest = text.slice(longest);
  return make("div", properties, text.slice(0, longest), make("details", {},
    make("summary", {}, `${rest.length.toLocaleString("en")} more characters`), rest));
}

/** JSON of a tool with indentation; another text as it is. */
function pretty(text) {
  if (!/^\s*[[{]/.test(text) || text.length > 200_000) return text;
  try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; }
}

const figure = (value, digits = 2) => // a number that JSON does not have is a text
  (typeof value === "string" ? value : Number(value.toFixed(digits)).toLocaleString("en"));
const badge = (text, kind = "") => make("span", { class: `badge ${kind}` }, text);
const spent = ([read, written, seconds]) =>
  `${read.toLocaleString("en")} tokens read, ${written.toLocaleString("en")} written, ${figure(seconds)} s`;

function called(turn) {
  const result = plain(turn.o);
  return make("details", { class: "call" },
    make("summary", {}, make("code", { class: turn.e ? "worse" : "" }, turn.call), make("span", { class: "result" }, ` → ${result.slice(0, 300)}`)),
    make("p", { class: "note" }, "What the agent wrote"), said(plain(turn.t), "long"),
    make("p", { class: "note" }, turn.e ? "The tool's error" : "The tool's result"), said(pretty(result), "long"));
}

function databaseChanges(changes) {
  const value = (text, tag) => (text === null ? "" : make(tag, {}, text.length > 400 ? `${text.slice(0, 400)}…` : text));
  return make("div", { class: "changes" }, make("p", { class: "note" }, "In the database"),
    make("ul", {}, changes.map(([place, before, after]) => make("li", {}, make("bdi", {}, place), ": ",
      value(before, "del"), before !== null && after !== null ? " → " : "", value(after, "ins")))));
}

function candidates(turn, all, gone) {
  for (const name of turn.gone) gone.add(name);
  for (const name of turn.back) gone.delete(name);
  const before = turn.left + turn.gone.length - turn.back.length;
  const now = new Set(turn.gone);
  const meter = make("meter", { min: 0, max: all.length, value: turn.left, "aria-label": "objects left" });
  return make("details", { class: "changes", open: before <= 40 },
    make("summary", {}, `${turn.left} of ${before} objects left `, meter),
    make("p", { class: "objects" }, all.filter((name) => now.has(name) || !gone.has(name)).map((name) =>
      [make(now.has(name) ? "del" : "span", {}, name), " "])));
}

function turnOf(turn, number, transcript, gone) {
  const facts = [
    turn.k === "invalid" && badge("invalid action", "bad"), turn.e && badge("tool error", "bad"), turn.f && badge(`reply: ${turn.f}`, "bad"),
    turn.x && badge("answer unknown"), turn.r && badge(`reward ${figure(turn.r, 3)}`),
  ].filter(Boolean);
  const link = make("a", { href: address({ turn: String(number) }), class: "number" }, `turn ${number}`);
  const body = turn.call ? [called(turn)] : [
    make("p", { class: "who" }, "agent"), said(turn.t, "said agent"),
    make("p", { class: "who" }, "environment"), said(turn.o, "said"),
  ];
  if (turn.ungraded) body.push(make("p", { class: "note" }, `The grader: ${turn.ungraded}`));
  if (turn.db) body.push(databaseChanges(turn.db));
  if (turn.left !== undefined) body.push(candidates(turn, transcript.candidates, gone));
  return make("li", { class: `turn${turn.read ? " criticised" : ""}`, "data-turn": String(number), tabIndex: -1 },
    make("div", { class: "played" }, make("div", { class: "head" }, link, facts, turn.u && make("span", { class: "note" }, spent(turn.u))), body),
    turn.read && rail(turn));
}

function outcome(n) {
  const [mark, word] = MARKS.get(columns.success[n]);
  return badge(`${mark} ${word}`, columns.success[n] === 1 ? "good" : columns.success[n] === 0 ? "bad" : "");
}

/** The head of an episode: its side, how it ended, the parts of its reward, what it cost. */
function headOf(n, transcript) {
  const facts = [`ended: ${transcript.end}`, `reward ${figure(columns.reward[n], 3)}`,
    ...Object.entries(transcript.parts).map(([name, value]) => `${name.replaceAll("_", " ")} ${figure(value, 3)}`)];
  const usage = Object.entries(transcript.usage).filter(([, each]) => each.length).map(([role, each]) => `${role}: ${spent(each)}`);
  const trial = sides[columns.side[n]].planned === null ? `seed ${columns.seed[n]}` : `trial ${columns.trial[n]}`;
  return [
    make("h2", {}, make("bdi", {}, tasks[columns.task[n]])),
    make("p", { class: "facts" }, outcome(n), columns.flags[n] & TRUNCATED ? badge("truncated", "bad") : "",
      make("span", {}, make("bdi", {}, sides[columns.side[n]].name), `, ${trial}`), facts.map((fact) => make("span", {}, fact))),
    usage.length ? make("p", { class: "note" }, usage.join("; ")) : "",
    Object.entries(transcript.facts ?? {}).map(([name, text]) => make("div", { class: "fact" }, make("span", { class: "note" }, name), said(text))),
    transcript.problem ? make("p", { class: "note" }, `No state is shown: ${transcript.problem}.`) : "",
  ];
}

/** One episode as an element. */
async function episodeView(n) {
  const transcript = await transcriptOf(n);
  const gone = new Set();
  const turns = transcript.turns.map((turn, i) => turnOf(turn, i + 1, transcript, gone));
  return make("article", { class: "episode", "aria-label": `${tasks[columns.task[n]]}, ${sides[columns.side[n]].name}` },
    headOf(n, transcript), make("p", { class: "who" }, "environment"), said(transcript.first),
    make("ol", { class: "turns" }, turns));
}

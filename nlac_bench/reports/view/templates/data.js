// Reads the data of the page: the index, and the parts with the transcripts, which are inflated when needed. Every
// string in them is hostile: `make` writes strings as text, and nothing here makes markup from a string.
"use strict";

const index = JSON.parse(document.getElementById("index").textContent);
const { columns, sides, tasks, ends } = index;
const episodes = columns.task.length;
const TRUNCATED = 1, TOOL_ERROR = 2, INVALID = 4, UNKNOWN = 8, CRITIC = 16;

/** Make an element. `properties` are set on it (`class`, `hidden`, `aria-…` as attributes); children may be text. */
function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "class") element.className = value;
    else if (name.includes("-") || name === "for") element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

/** The name of an episode in the address. */
const nameOf = (n) =>
  `${sides[columns.side[n]].name}/${tasks[columns.task[n]]}/${columns.trial[n]}/${columns.seed[n]}`;
const byName = new Map(columns.task.map((_, n) => [nameOf(n), n]));

const waiting = new Map(); // part -> the function that takes its data; parts of a folder are scripts
globalThis.nlacPart = (part, data) => waiting.get(part)?.(data);

// Trusted Types: the only scripts that this page loads are the parts in its own folder.
const rules = { createScriptURL: (part) => `${index.folder}/part-${Number(part)}.js` };
const partAddress = index.folder && globalThis.trustedTypes ? trustedTypes.createPolicy("parts", rules) : rules;

function encoded(part) {
  const block = document.getElementById(`part-${part}`);
  if (block) return Promise.resolve(JSON.parse(block.textContent));
  return new Promise((resolve, reject) => {
    waiting.set(part, resolve);
    const script = document.createElement("script");
    script.onload = () => script.remove();
    script.onerror = () => reject(new Error(`${index.folder}/part-${part}.js is missing: it belongs to this page`));
    script.src = partAddress.createScriptURL(String(part));
    document.head.append(script);
  });
}

async function inflated(part) {
  const bytes = Uint8Array.from(atob(await encoded(part)), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).json();
}

let kept = { part: -1, content: null }; // the part that was read last

function content(part) {
  if (kept.part !== part) kept = { part, content: inflated(part) };
  return kept.content;
}

const transcriptOf = async (n) => (await content(columns.part[n]))[columns.place[n]];

/** The plain text of a text with formulas. */
const plain = (text) => (Array.isArray(text) ? text.map((p) => (Array.isArray(p) ? p[3] : p)).join("") : text);

const texts = new Array(episodes); // of each episode all messages in lower case, for the search
let reading = null;

/** Read the texts of all episodes, once. */
function readTexts() {
  reading ??= (async () => {
    for (let part = 0, n = 0; n < episodes; part++) {
      const transcripts = await inflated(part); // the episodes of a part follow each other
      for (; columns.part[n] === part; n++) texts[n] = searched(transcripts[columns.place[n]]);
    }
  })();
  return reading;
}

function searched(transcript) {
  const found = [plain(transcript.first)];
  for (const turn of transcript.turns) {
    found.push(plain(turn.t), plain(turn.o));
    for (const each of turn.read ?? []) found.push(each.future ?? "", each.critique ?? "", each.refined ?? "");
  }
  return found.join("\n").toLowerCase();
}

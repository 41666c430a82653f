// What the reader has selected, kept in the address after "#" so that it can be sent; and which episodes it selects.
"use strict";

const SELECTED = ["view", "episode", "turn", "with", "state", "at", "q", "result", "end", "side", "flags", "keys"];
let state = {};

function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  state = Object.fromEntries(SELECTED.filter((name) => given.get(name)).map((name) => [name, given.get(name)]));
}

/** The address of the page with `changes` to what is selected; an empty value removes a selection. */
function address(changes) {
  const kept = Object.entries({ ...state, ...changes }).filter(([, value]) => value !== "" && value !== undefined);
  return `#${new URLSearchParams(kept)}`;
}

function remember(changes) {
  history.replaceState(null, "", address(changes));
  readAddress();
}

// Measured sides play the same tasks; the episodes of one task and trial are a pair.
const pairs = new Map();
columns.task.forEach((task, n) => {
  if (sides[columns.side[n]].planned === null) return;
  const key = `${task} ${columns.trial[n]}`;
  pairs.set(key, [...(pairs.get(key) ?? []), n]);
});
const pairOf = (n) =>
  sides[columns.side[n]].planned === null ? [n] : pairs.get(`${columns.task[n]} ${columns.trial[n]}`);

/** The side that alone won a pair, or -1. */
function onlyWinner(pair) {
  const winners = pair.filter((n) => columns.success[n] === 1);
  return pair.length > 1 && winners.length === 1 ? columns.side[winners[0]] : -1;
}

const RESULTS = {
  lost: (n) => columns.success[n] === 0,
  won: (n) => columns.success[n] === 1,
  none: (n) => columns.success[n] === null,
  one: (n) => onlyWinner(pairOf(n)) !== -1,
};

/** The episodes that all filters select, in the order of the grid. */
function selected() {
  const tests = [];
  const of = sides.findIndex((side) => side.name === state.side);
  const end = ends.findIndex(([reason]) => reason === state.end);
  const flags = Number(state.flags ?? 0);
  const words = (state.q ?? "").toLowerCase();
  if (of >= 0) tests.push((n) => columns.side[n] === of);
  if (end >= 0) tests.push((n) => columns.end[n] === end);
  if (flags) tests.push((n) => (columns.flags[n] & flags) === flags);
  if (RESULTS[state.result]) tests.push(RESULTS[state.result]);
  const alone = /^only (\d+)$/.exec(state.result ?? "");
  if (alone) tests.push((n) => onlyWinner(pairOf(n)) === Number(alone[1]));
  if (words) tests.push((n) => (texts[n] ?? "").includes(words) || tasks[columns.task[n]].toLowerCase().includes(words));
  return index.order.filter((n) => tests.every((test) => test(n)));
}

// Shows what the address selects, and reads the keys.
"use strict";

const stage = document.getElementById("stage");
const partner = document.getElementById("with");
const shortcuts = document.getElementById("shortcuts");
let drawn = ""; // the episodes that the stage shows

/** The other episodes of the same task and trial. */
const others = (n) => pairOf(n).filter((other) => other !== n);

async function showEpisode() {
  let n = byName.get(state.episode);
  if (n === undefined) n = shown[0] ?? (episodes ? 0 : undefined);
  if (n === undefined) return;
  if (!state.episode) remember({ episode: nameOf(n) });
  const choices = others(n);
  partner.replaceChildren(make("option", { value: "" }, "nothing"), ...choices.map((other) =>
    make("option", { value: sides[columns.side[other]].name }, sides[columns.side[other]].name)));
  const beside = choices.find((other) => sides[columns.side[other]].name === state.with);
  partner.value = beside === undefined ? "" : state.with;
  partner.closest("label").hidden = !choices.length;
  const wanted = [n, beside].join();
  if (wanted !== drawn) {
    drawn = wanted;
    try {
      const views = await Promise.all([n, beside].filter((each) => each !== undefined).map(episodeView));
      if (wanted !== drawn) return; // another one was chosen meanwhile
      stage.replaceChildren(...views);
      stage.classList.toggle("pair", views.length > 1);
    } catch (error) {
      drawn = "";
      stage.replaceChildren(make("p", { class: "warning", role: "alert" }, error.message));
      return;
    }
  }
  markCurrent();
  showTurn();
}

function showTurn() {
  for (const each of stage.querySelectorAll(".turn.current")) each.classList.remove("current");
  const turns = [...stage.querySelectorAll(`[data-turn="${Number(state.turn)}"]`)];
  for (const each of turns) each.classList.add("current");
  turns[0]?.scrollIntoView({ block: "nearest" });
  turns[0]?.focus({ preventScroll: true });
}

function show() {
  const flips = state.view === "flip" && index.probes !== null;
  document.getElementById("episodes").hidden = flips;
  flip.hidden = !flips;
  for (const link of document.querySelectorAll("[data-view]")) {
    if ((link.dataset.view === "flip") === flips) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
    link.href = address({ view: link.dataset.view });
  }
  shortcuts.checked = state.keys !== "off";
  if (flips) return showFlipbook();
  return showEpisode();
}

async function restore() {
  readAddress();
  restoreControls();
  if (state.q) await readTexts();
  showGrid();
  await show();
}

/** Go to the episode that is `step` further in the grid. */
function moveEpisode(step) {
  const at = shown.indexOf(byName.get(state.episode));
  const next = shown[at === -1 ? 0 : at + step];
  if (next === undefined) return;
  remember({ episode: nameOf(next), turn: "" });
  showEpisode();
  grid.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
}

function moveTurn(step) {
  const last = stage.querySelectorAll(".episode:first-child .turn").length;
  const turn = Math.min(Math.max(1, (Number(state.turn) || 0) + step), last);
  if (!last) return;
  remember({ turn: String(turn) });
  showTurn();
}

function toggleComparison() {
  const n = byName.get(state.episode);
  const choices = n === undefined ? [] : others(n);
  if (!choices.length) return;
  remember({ with: partner.value ? "" : sides[columns.side[choices.at(-1)]].name });
  showEpisode();
}

const KEYS = {
  j: () => moveTurn(1),
  k: () => moveTurn(-1),
  "]": () => moveEpisode(1),
  "[": () => moveEpisode(-1),
  c: toggleComparison,
  "/": () => controls.q.focus(),
};

addEventListener("keydown", (event) => {
  const typing = event.target.closest?.("input:not([type=checkbox]):not([type=range]), select, textarea");
  if (event.key === "Escape" && typing) typing.blur();
  if (typing || event.ctrlKey || event.metaKey || event.altKey || state.keys === "off" || state.view === "flip") return;
  if (!KEYS[event.key]) return;
  event.preventDefault();
  KEYS[event.key]();
});
shortcuts.addEventListener("input", () => remember({ keys: shortcuts.checked ? "" : "off" }));
partner.addEventListener("input", () => { remember({ with: partner.value }); showEpisode(); });
for (const each of document.querySelectorAll("[data-reload]")) each.addEventListener("click", () => location.reload());
addEventListener("hashchange", restore);
fillControls();
restore();
if (!index.folder) (globalThis.requestIdleCallback ?? setTimeout)(readTexts); // so that the first search need not wait

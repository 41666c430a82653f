// The grid of tasks and trials, and its filters.
"use strict";

const grid = document.getElementById("grid");
const count = document.getElementById("count");
const sheet = document.styleSheets[0];
const layout = sheet.cssRules[sheet.insertRule("#grid {}", sheet.cssRules.length)]; // the policy forbids style attributes
let shown = []; // the selected episodes, in the order of the grid

const MARKS = new Map([[1, ["✓", "won"]], [0, ["✗", "lost"]], [null, ["–", "no result"]]]);

const made = new Map(); // the cells that were shown, by episode: making one takes longer than moving it

function cell(n) {
  if (!made.has(n)) made.set(n, newCell(n));
  return made.get(n);
}

function newCell(n) {
  const [mark, word] = MARKS.get(columns.success[n]);
  const flags = columns.flags[n];
  const side = sides[columns.side[n]].name;
  const extra = [flags & TRUNCATED && "truncated", flags & TOOL_ERROR && "tool error"].filter(Boolean);
  const trial = sides[columns.side[n]].planned === null ? "" : `, trial ${columns.trial[n]}`;
  return make(
    "a",
    {
      class: `cell ${word.replace(" ", "-")}${flags & TRUNCATED ? " truncated" : ""}`,
      href: `#${new URLSearchParams({ episode: nameOf(n) })}`,
      tabIndex: -1,
      title: [`${side}${trial}: ${word}`, ends[columns.end[n]][1], ...extra].join(", "),
      "aria-label": [`${tasks[columns.task[n]]}, ${side}${trial}: ${word}`, ...extra].join(", "),
      "data-episode": String(n),
    },
    mark,
  );
}

/** Show the selected episodes: a row for each task, a column for each side. */
function showGrid() {
  shown = selected();
  const used = [...new Set(shown.map((n) => columns.side[n]))].sort((a, b) => a - b);
  const most = new Map(used.map((side) => [side, 1])); // cells of a side in a row
  const head = make("tr", { role: "row" }, ["task", ...used.map((side) => sides[side].name)].map((name) =>
    make("th", { scope: "col", role: "columnheader" }, name)));
  const rows = [];
  let row = null, task = -1;
  for (const n of shown) {
    if (columns.task[n] !== task) {
      task = columns.task[n];
      row = new Map(used.map((side) => [side, make("td", { role: "cell" })]));
      const name = make("th", { scope: "row", role: "rowheader" }, make("bdi", {}, tasks[task]));
      rows.push(make("tr", { role: "row" }, name, ...row.values()));
    }
    const side = columns.side[n], cells = row.get(side);
    cells.append(cell(n));
    if (cells.childElementCount > most.get(side)) most.set(side, cells.childElementCount);
  }
  // Each row is laid out by itself, so the browser leaves out those that are not seen; the widths are common to all.
  const beside = Math.max(2, Math.floor(9 / used.length)); // cells of a side that have room beside each other
  const width = (side) => // of the cells or of the side's name, in rem
    Math.max(1.75 * Math.min(most.get(side), beside) + 0.7, 0.52 * Math.min(sides[side].name.length, 10) + 0.5);
  layout.style.setProperty("--columns", used.map((side) => `${width(side)}rem`).join(" "));
  grid.replaceChildren(make("thead", { role: "rowgroup" }, head), make("tbody", { role: "rowgroup" }, rows));
  count.textContent = shown.length ? `${shown.length.toLocaleString("en")} of ${episodes.toLocaleString("en")} episodes`
    : episodes ? "No episode matches" : "No episode is recorded yet";
  markCurrent();
}

/** Mark the opened episode; it, or the first one, can be reached with the Tab key, the others with arrows. */
function markCurrent() {
  grid.querySelector("[aria-current]")?.removeAttribute("aria-current");
  grid.querySelector("[tabindex='0']")?.setAttribute("tabindex", "-1");
  const current = grid.querySelector(`[data-episode="${byName.get(state.episode) ?? -1}"]`);
  current?.setAttribute("aria-current", "true");
  (current ?? grid.querySelector("a"))?.setAttribute("tabindex", "0");
}

grid.addEventListener("click", (event) => {
  const link = event.target.closest("a");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return; // a new tab shows the episode alone
  event.preventDefault();
  location.hash = address({ episode: nameOf(Number(link.dataset.episode)), turn: "" });
});

grid.addEventListener("keydown", (event) => {
  const from = event.target.closest("a");
  const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!from || !step || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  const links = [...grid.querySelectorAll("a")];
  let to = links.indexOf(from) + step;
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    const row = (link) => link.closest("tr");
    while (links[to] && row(links[to]) === row(from)) to += step;
  }
  if (!links[to]) return;
  from.tabIndex = -1;
  links[to].tabIndex = 0;
  links[to].focus();
});

const controls = {
  q: document.getElementById("q"),
  result: document.getElementById("result"),
  end: document.getElementById("end"),
  side: document.getElementById("side"),
};
const flagBoxes = [...document.querySelectorAll("[data-flag]")];

function fillControls() {
  const option = (value, text) => make("option", { value }, text);
  const measured = sides.map((side, i) => [side, i]).filter(([side]) => side.planned !== null);
  controls.result.append(option("", "any result"), option("lost", "lost"), option("won", "won"));
  if (columns.success.includes(null)) controls.result.append(option("none", "no result"));
  if (measured.length > 1) {
    controls.result.append(option("one", "won by one only"));
    for (const [side, i] of measured) controls.result.append(option(`only ${i}`, `won by ${side.name} only`));
  }
  controls.end.append(option("", "any end"), ...ends.map(([reason, words]) => option(reason, words)));
  controls.side.append(option("", "all"), ...sides.map((side) => option(side.name, side.name)));
  controls.side.closest("label").hidden = sides.length < 2;
  for (const box of flagBoxes) {
    box.closest("label").hidden = !columns.flags.some((flags) => flags & Number(box.dataset.flag));
  }
}

/** Show in the controls what the address selects. */
function restoreControls() {
  for (const [name, control] of Object.entries(controls)) {
    control.value = state[name] ?? "";
    if (control.selectedIndex === -1) control.value = ""; // not one of the choices
  }
  for (const box of flagBoxes) box.checked = Boolean(Number(state.flags ?? 0) & Number(box.dataset.flag));
}

async function applyFilters() {
  const flags = flagBoxes.filter((box) => box.checked).reduce((sum, box) => sum | Number(box.dataset.flag), 0);
  remember({
    flags: flags ? String(flags) : "",
    ...Object.fromEntries(Object.entries(controls).map(([name, control]) => [name, control.value])),
  });
  if (state.q) await readTexts();
  showGrid();
}

for (const control of [...Object.values(controls), ...flagBoxes]) control.addEventListener("input", applyFilters);
document.getElementById("clear").addEventListener("click", () => {
  for (const control of Object.values(controls)) control.value = "";
  for (const box of flagBoxes) box.checked = false;
  applyFilters();
});

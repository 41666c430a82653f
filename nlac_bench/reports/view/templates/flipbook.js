// The flip-book: one state of the fixed probe set, and what the critic says about it at each validation.
"use strict";

const flip = document.getElementById("flipbook");
const slider = document.getElementById("at");
const stateChoice = document.getElementById("probe");
let probes = null; // for each state, its readings by validation

async function readProbes() {
  probes ??= content(index.probes);
  return probes;
}

function validationName(reading) {
  const row = index.validations.find((each) => each.run === reading.run && each.iteration === reading.i);
  if (!row) return `iteration ${reading.i}`;
  return `gradient step ${row.step.toLocaleString("en")}, validation success ${figure(row.success, 3)}`;
}

function timeline(readings, at) {
  return readings.map((reading, i) => {
    const right = reading.predicted && reading.success !== null ? (reading.predicted === "success") === reading.success : null;
    const word = right === null ? "no outcome predicted" : right ? "predicted rightly" : "predicted wrongly";
    const button = make("button", { type: "button", class: `tick ${right === null ? "" : right ? "won" : "lost"}`, title: `${validationName(reading)}: ${word}`,
      "aria-label": `${validationName(reading)}: ${word}` }, right === null ? "–" : right ? "✓" : "✗");
    if (i === at) button.setAttribute("aria-current", "true");
    button.addEventListener("click", () => { remember({ at: String(i) }); showFlipbook(); });
    return make("li", {}, button);
  });
}

async function showFlipbook() {
  const all = await readProbes();
  if (!stateChoice.options.length) {
    stateChoice.append(...all.map((readings, i) => make("option", { value: String(i) },
      `${i + 1}: ${readings[0].task}, turn ${readings[0].step + 1}`)));
  }
  const which = Math.min(Math.max(0, Number(state.state ?? 0) || 0), all.length - 1);
  const readings = all[which];
  const at = Math.min(Math.max(0, Number(state.at ?? readings.length - 1) || 0), readings.length - 1);
  const reading = readings[at];
  stateChoice.value = String(which);
  slider.max = String(readings.length - 1);
  slider.value = String(at);
  slider.setAttribute("aria-valuetext", validationName(reading));
  document.getElementById("when").textContent = `validation ${at + 1} of ${readings.length}: ${validationName(reading)}`;
  document.getElementById("timeline").replaceChildren(...timeline(readings, at));
  document.getElementById("flip-state").replaceChildren(
    make("h3", {}, "The state"), make("p", { class: "who" }, "environment"), said(reading.heard, "said", 400),
    make("p", { class: "who" }, "agent"), said(reading.played, "said agent", 400),
    make("p", {}, make("a", { href: address({ view: "", episode: reading.episode, turn: String(reading.step + 1), state: "", at: "" }) }, "The whole episode")));
  const changed = at ? "Words that differ from the validation before are marked." : "The first validation.";
  document.getElementById("flip-texts").replaceChildren(
    make("h3", {}, "The critic"), make("p", { class: "note" }, changed),
    ...criticTexts(reading, reading.played, reading.answered.slice(0, 400), readings[at - 1]).flat());
}

slider.addEventListener("input", () => { remember({ at: slider.value }); showFlipbook(); });
stateChoice.addEventListener("input", () => { remember({ state: stateChoice.value }); showFlipbook(); });

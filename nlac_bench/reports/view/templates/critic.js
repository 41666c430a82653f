// The critic's texts about one action: predicted beside what happened, the critique, played → refined, right or wrong.
"use strict";

const ENDED = new Map([[true, "success"], [false, "failure"], [null, "no outcome"]]);

/** Whether the predicted outcome was the outcome: a badge, or nothing if one of them is unknown. */
function predictionBadge(reading) {
  if (!reading.predicted || reading.success === null) return null;
  const right = (reading.predicted === "success") === reading.success;
  return badge(`${right ? "✓" : "✗"} predicted ${reading.predicted}`, right ? "good" : "bad");
}

/** Whether the refined action did better than the played one from the same state, where both were played on. */
function refinementBadge(reading) {
  if (!reading.tried) return null;
  const [[played], [refined]] = reading.tried;
  if (played === refined) return badge(played ? "both actions won" : "both actions lost");
  return refined ? badge("✓ refined won, played lost", "good") : badge("✗ refined lost, played won", "bad");
}

const verdict = (reading) => (reading.optimal === undefined ? null : badge(reading.optimal ? "called optimal" : "called not optimal"));

/** The texts of one reading. With `before`, an earlier reading, the words that differ from it are marked. */
function criticTexts(reading, played, answered, before) {
  const part = (title, text, earlier) => (text === undefined ? "" : make("div", {}, make("h4", {}, title), marked(before ? earlier ?? "" : null, text)));
  const subject = reading.proposed ?? played;
  const proposal = reading.proposed !== undefined && reading.proposed !== played;
  return [
    make("p", { class: "badges" }, predictionBadge(reading), verdict(reading), refinementBadge(reading)),
    make("div", { class: "beside" }, part("Predicted", reading.future, before?.future),
      make("div", {}, make("h4", {}, "What happened"), make("p", { class: "said" }, answered),
        make("p", { class: "note" }, `The episode: ${ENDED.get(reading.success)}.`))),
    proposal ? make("div", {}, make("h4", {}, "Criticised: a new action"), make("p", { class: "said" }, reading.proposed)) : "",
    part("Critique", reading.critique, before?.critique),
    reading.refined === undefined ? "" : make("div", {}, make("h4", {}, proposal ? "New → refined" : "Played → refined"),
      reading.refined === subject ? make("p", { class: "note" }, "The same action.") : marked(subject, reading.refined)),
  ];
}

/** What stands beside a turn: its newest reading, and folded the earlier ones. */
function rail(turn) {
  const [newest, ...earlier] = [...turn.read].reverse();
  const heard = plain(turn.o);
  const [played, answered] = [plain(turn.t), heard.length > 120 ? `${heard.slice(0, 120)}…` : heard];
  return make("aside", { class: "rail", "aria-label": "The critic about this turn" },
    make("h3", {}, `Critic, iteration ${newest.i}`), criticTexts(newest, played, answered),
    earlier.map((reading) => make("details", {}, make("summary", {}, `iteration ${reading.i}`), criticTexts(reading, played, answered))));
}

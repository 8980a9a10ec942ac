// One notification's timeline, and what the ledger remembers of a device.

import { get } from "./api.js";
import { by, el, pill } from "./dom.js";
import { moment, moodOf, shortKey, span } from "./format.js";

const KEY = /^[0-9a-f]{64}$/i;
const LIMIT = 50;

function when(text) {
  return el("time", { datetime: text ?? "", title: text ?? "", text: moment(text) });
}

function step(mood, time, text, ...more) {
  return el("li", { class: mood }, when(time), el("span", {}, text, ...more));
}

function stepsOf(row) {
  const steps = [step("", row.created, "stored on its stream")];
  row.receipts.forEach((receipt, at) => {
    const mood = receipt.effect === "sent" ? "good"
      : receipt.effect === "maybe_sent" ? "doubt" : "bad";
    steps.push(step(mood, receipt.at, `answer ${at + 1}: ${receipt.verdict} `,
      el("span", { class: "muted", text: `(${receipt.effect.replace("_", " ")})` }),
      receipt.message_id ? el("code", { class: "receipt", text: receipt.message_id }) : null));
  });
  if (row.ended) steps.push(step(moodOf(row.state), row.ended, `ended: ${row.state}`,
    row.dead_letter === "none" ? null : `, dead letter ${row.dead_letter}`));
  else if (row.state === "claimed")
    steps.push(step("busy", row.lease_end, "claimed: a call is under way, at the latest until then"));
  else if (row.next_at) steps.push(step("busy", row.next_at, "the next attempt, at the earliest"));
  return steps;
}

function facts(pairs) {
  return el("dl", { class: "facts-list" }, ...pairs.filter(([, value]) => value)
    .map(([name, value]) => el("div", {}, el("dt", { text: name }), el("dd", {}, value))));
}

function story(row) {
  return el("article", { class: "story", "aria-label": `Delivery ${shortKey(row.key)}` },
    el("div", { class: "provider-head" },
      el("h3", {}, el("code", { text: shortKey(row.key), title: row.key })),
      pill(row.state, moodOf(row.state)),
      el("span", { class: "muted", text: `${row.class}${row.provider ? ` · ${row.provider}` : ""}` })),
    row.reason && row.reason !== row.state
      ? el("p", { class: "reason", text: row.reason }) : null,
    el("ol", { class: "steps" }, ...stepsOf(row)),
    facts([["effect", row.effect.replace("_", " ")],
      ["fault", row.fault === "none" ? "" : row.fault],
      ["attempts", `${row.attempts}`], ["device", row.ref], ["deadline", moment(row.deadline)],
      ["remembered until", moment(row.keep_until)]]),
    el("details", {}, el("summary", { text: "Key and notification id" }),
      el("code", { class: "long", text: row.key }), el("code", { class: "long", text: row.nid })));
}

function heldLine(held) {
  return el("li", { class: "busy" }, el("span", {},
    `in hand: message ${held.sequence} of ${held.stream}, target ${held.target}, ${held.doing} ` +
    `(${held.provider})${held.reason ? `: ${held.reason}` : ""}`));
}

async function show(what) {
  const place = by("stories");
  try {
    const answer = await get("/v1/inspect",
      KEY.test(what) ? { key: what, limit: LIMIT } : { event: what, limit: LIMIT });
    const held = answer.held ?? [];
    if (answer.items.length + held.length === 0) {
      place.replaceChildren(el("p", { class: "empty", text: "No such delivery. It was never " +
        "published, waits on its stream, or is forgotten." }));
      return;
    }
    place.replaceChildren(
      held.length > 0 ? el("ol", { class: "steps" }, ...held.map(heldLine)) : "",
      ...answer.items.map(story),
      answer.more ? el("p", { class: "more", text: `The first ${LIMIT}; there are more.` }) : "");
  } catch (error) {
    place.replaceChildren(el("p", { class: "said bad", text: error.message }));
  }
}

/** From a table: shows it here, and the reader is here too. */
export async function inspect(key) {
  by("what").value = key;
  await show(key);
  by("lookup").scrollIntoView({ block: "start" });
  by("stories").focus({ preventScroll: true });
}

async function showDevice(hash) {
  const place = by("device");
  try {
    const device = await get("/v1/device", { hash });
    const age = device.since ? (Date.now() - Date.parse(device.since)) / 1000 : null;
    place.replaceChildren(
      el("div", { class: "provider-head" },
        el("h3", {}, el("code", { text: device.hash.slice(0, 8), title: device.hash })),
        pill(device.state, moodOf(device.state))),
      facts([["since", device.since ? `${moment(device.since)}, ${span(age)} ago` : ""],
        ["registered", device.registered_at ? moment(device.registered_at) : ""]]),
      device.since ? "" : el("p", { class: "muted",
        text: "Nothing is remembered of it: it counts as active." }));
  } catch (error) {
    place.replaceChildren(el("p", { class: "said bad", text: error.message }));
  }
}

export function listen() {
  by("find-notification").addEventListener("submit", (event) => {
    event.preventDefault();
    show(by("what").value.trim());
  });
  by("find-device").addEventListener("submit", (event) => {
    event.preventDefault();
    showDevice(by("hash").value.trim().toLowerCase());
  });
}

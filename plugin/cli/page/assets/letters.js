// Dead letters: they lie on a stream of NATS, so that they are asked for less often.

import { get, post } from "./api.js";
import { Question } from "./dialogs.js";
import { by, el, keep, pill, setText } from "./dom.js";
import { moment, moodOf, shortKey } from "./format.js";

const LIMIT = 50;
const PAUSE_MS = 10_000;
const FAILED_PAUSE_MS = 30_000; // while NATS is away
const SOON_MS = 2_000;

export class Letters {
  depth = null;
  #question = new Question(by("replay"));
  #from = [1]; // where the pages up to this one begin
  #next = 0;
  #stored = null; // copies, as the daemon counts them
  #inspect;

  constructor(inspect) {
    this.#inspect = inspect;
    by("letters-again").addEventListener("click", () => this.read());
    const force = this.#question.fields.force;
    force.addEventListener("change", () => this.#demand());
  }

  async look(stored, now) {
    const fresh = this.#stored !== null && this.#stored !== stored;
    this.#stored = stored;
    if (fresh) this.#next = Math.min(this.#next, now + SOON_MS);
    if (now >= this.#next) await this.read();
  }

  async read() {
    this.#next = performance.now() + PAUSE_MS;
    try {
      const answer = await get("/letters", { from: this.#from.at(-1), limit: LIMIT });
      this.depth = answer.depth;
      this.#show(answer);
      if (by("letters-said").classList.contains("bad")) this.#say("");
    } catch (error) {
      this.depth = null;
      this.#next = performance.now() + FAILED_PAUSE_MS;
      this.#say(`The letters cannot be read: ${error.message}`, "bad");
    }
  }

  #say(text, mood = "good") {
    const said = by("letters-said");
    said.className = `said ${mood}`;
    setText(said, text);
  }

  #show({ items, more }) {
    const place = by("letters-list");
    if (items.length === 0 && this.#from.length === 1) {
      place.replaceChildren(el("p", { class: "empty", text: "No dead letters." }));
      return;
    }
    if (!place.querySelector("table")) place.replaceChildren(table(), this.#pager());
    keep(place.querySelector("tbody"), items, (letter) => letter.sequence,
      (letter) => this.#line(letter));
    place.querySelector("[data-turn=back]").disabled = this.#from.length === 1;
    const on = place.querySelector("[data-turn=on]");
    on.disabled = !more;
    on.value = items.length === 0 ? "" : items.at(-1).sequence + 1;
    place.querySelector(".pager").hidden = !more && this.#from.length === 1;
  }

  #pager() {
    const turn = (name, text, click) => el("button",
      { type: "button", class: "quiet", "data-turn": name, text, on: { click } });
    return el("div", { class: "pager" },
      turn("back", "Older", () => {
        this.#from.pop();
        this.read();
      }),
      turn("on", "Newer", (event) => {
        this.#from.push(event.currentTarget.value);
        this.read();
      }));
  }

  #line(letter) {
    const actions = el("td", { class: "actions" });
    if (!letter.conflict)
      actions.append(el("button", { type: "button", text: "Replay",
        "aria-label": `Replay letter ${letter.sequence}`, on: { click: () => this.#ask(letter) } }));
    if (letter.key !== "")
      actions.append(el("button", { type: "button", class: "quiet", text: "Timeline",
        "aria-label": `Timeline of letter ${letter.sequence}`,
        on: { click: () => this.#inspect(letter.key) } }));
    return el("tr", {},
      el("th", { scope: "row", text: letter.sequence }),
      el("td", { "data-label": "stored" }, el("time", { datetime: letter.stored_at,
        text: moment(letter.stored_at) })),
      el("td", { "data-label": "class", text: letter.class || "–" }),
      el("td", { "data-label": "why", class: "why", text: letter.reason || "–" }),
      el("td", { "data-label": "row" }, letter.conflict ? pill("conflict", "idle")
        : letter.row_state === "-" ? "–" : pill(letter.row_state, moodOf(letter.row_state))),
      actions);
  }

  // A forced decision has a reason; what was or may have been sent needs force.
  #demand() {
    const { force, reason } = this.#question.fields;
    reason.required = force.checked;
  }

  #ask(letter) {
    const sent = letter.row_state === "accepted" || letter.row_state === "unknown";
    const about = `Letter ${letter.sequence} of class ${letter.class || "?"}, ` +
      `${letter.bytes} bytes for ${letter.subject || "?"}: ${letter.reason}`;
    this.#question.ask(about, async ({ force, reason }) => {
      const done = await post("/letters/replay", { sequence: letter.sequence,
        force: force.checked ? "true" : "false", reason: reason.value });
      if (!done.done) throw new Error(`Nothing was sent: ${done.text}`);
      this.#say(`Letter ${letter.sequence} ${done.text}.`);
      await this.read();
      this.#next = performance.now() + SOON_MS; // by then it has ended, mostly
    });
    const { force } = this.#question.fields;
    force.required = sent;
    this.#demand();
    setText(this.#question.part(".advice"), sent
      ? `Its delivery is ${letter.row_state} by now, so only force sends it again.`
      : letter.key === "" ? "It could not be read as a notification; it is published as it is."
        : "It is sent at most once, however often it is replayed.");
  }
}

function table() {
  const heads = ["letter", "stored", "class", "why", "delivery"];
  return el("table", { class: "rows" },
    el("caption", { text: "Dead letters" }),
    el("thead", {}, el("tr", {}, ...heads.map((text) => el("th", { scope: "col", text })),
      el("th", { scope: "col" }, el("span", { class: "hidden", text: "actions" })))),
    el("tbody"));
}

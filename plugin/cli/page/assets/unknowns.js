// Deliveries in doubt. The list is a scan of the ledger, so it is read when the counters say that
// it has changed, and now and then because somebody else may have decided.

import { get, post } from "./api.js";
import { Question } from "./dialogs.js";
import { by, el, keep, setText } from "./dom.js";
import { moment, shortKey } from "./format.js";

const LIMIT = 50;
const PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 60_000;
const LONG_PAUSE = 20; // times what the last scan took

export class Unknowns {
  #question = new Question(by("decide"));
  #rows = null;
  #more = false;
  #mark = null; // what the counters said when it was read
  #next = 0;
  #inspect;

  constructor(inspect) {
    this.#inspect = inspect;
    by("unknowns-again").addEventListener("click", () => this.read());
  }

  /** For the tile; null: not read yet. */
  get number() {
    return this.#rows === null ? null : `${this.#rows.length}${this.#more ? "+" : ""}`;
  }

  async look(status, now) {
    const mark = status.classes.map((c) => [c.name, c.unknown, c.looks_found])
      .concat(status.started).join();
    const due = mark !== this.#mark || now > this.#next + LONGEST_PAUSE_MS;
    if (!due || now < this.#next) return;
    this.#mark = mark;
    await this.read();
  }

  async read() {
    const begun = performance.now();
    try {
      const answer = await get("/v1/rows", { state: "unknown", limit: LIMIT });
      this.#rows = answer.items;
      this.#more = answer.more;
      this.#show();
    } catch (error) {
      this.#mark = null;
      this.#say(`The list cannot be read: ${error.message}`, "bad");
    }
    const took = performance.now() - begun;
    this.#next = performance.now() + Math.max(PAUSE_MS, LONG_PAUSE * took);
  }

  #say(text, mood = "good") {
    const said = by("unknowns-said");
    said.className = `said ${mood}`;
    setText(said, text);
  }

  #show() {
    const place = by("unknowns-list");
    if (this.#rows.length === 0) {
      place.replaceChildren(el("p", { class: "empty", text: "Nothing is in doubt." }));
      return;
    }
    if (!place.querySelector("table")) place.replaceChildren(table(), el("p", { class: "more" }));
    keep(place.querySelector("tbody"), this.#rows, (row) => row.key, (row) => this.#line(row));
    setText(place.querySelector(".more"),
      this.#more ? `The first ${this.#rows.length}; there are more.` : "");
  }

  #line(row) {
    const decide = el("button", { type: "button", text: "Decide",
      "aria-label": `Decide about ${shortKey(row.key)}`, on: { click: () => this.#ask(row) } });
    const story = el("button", { type: "button", class: "quiet", text: "Timeline",
      "aria-label": `Timeline of ${shortKey(row.key)}`,
      on: { click: () => this.#inspect(row.key) } });
    return el("tr", {},
      el("th", { scope: "row" }, el("code", { text: shortKey(row.key), title: row.key })),
      el("td", { "data-label": "class", text: row.class }),
      el("td", { "data-label": "provider", text: row.provider || "–" }),
      el("td", { "data-label": "device", text: row.ref || "–" }),
      el("td", { "data-label": "since" }, el("time", { datetime: row.ended ?? "",
        text: moment(row.ended) })),
      el("td", { "data-label": "why", class: "why", text: row.reason || "–" }),
      el("td", { class: "actions" }, decide, story));
  }

  #ask(row) {
    const about = `Delivery ${shortKey(row.key)} of class ${row.class}, ` +
      `${row.attempts} ${row.attempts === 1 ? "attempt" : "attempts"} by ` +
      `${row.provider || "nobody"}.`;
    this.#question.ask(about, async (fields) => {
      const as = fields.as.value;
      const done = await post("/v1/delivery/resolve",
        { key: row.key, class: row.class, as, reason: fields.reason.value });
      if (!done.done) throw new Error(`Nothing was changed: ${done.refused}`);
      this.#say(as === "resend"
        ? `${shortKey(row.key)}: publish its event again before ${moment(done.deadline)}, and it ` +
          "is sent once more."
        : `${shortKey(row.key)} is ${done.state} now.`);
      await this.read();
    });
  }
}

function table() {
  const heads = ["delivery", "class", "provider", "device", "since", "why"];
  return el("table", { class: "rows" },
    el("caption", { text: "Unknown deliveries" }),
    el("thead", {}, el("tr", {}, ...heads.map((text) => el("th", { scope: "col", text })),
      el("th", { scope: "col" }, el("span", { class: "hidden", text: "actions" })))),
    el("tbody"));
}

// A card for each provider: is it up, what does it answer, how fast, and whose fault are the rest.

import { Chart } from "./charts.js";
import { by, el, keep, setText } from "./dom.js";
import { count, latency, span } from "./format.js";
import { quantileLines } from "./traffic.js";

const RECENT_S = 300;

// Who must act decides where a verdict stands: what is ours is never shown as a device's.
const MIX = [
  ["accepted", "accepted", "accepted"],
  ["ambiguous", "in doubt", "unknown"],
  ["retryable", "to be repeated", "series-1"],
  ["throttled", "throttled", "series-4"],
  ["token_terminal", "device gone", "suppressed"],
  ["token_mismatch", "device of another app", "series-6"],
  ["payload_error", "message refused", "conflict"],
  ["provider_auth", "credential refused", "failed"],
  ["config_error", "setting refused", "series-5"],
];
const FAULTS = [
  ["Ours to mend", [["provider_auth", "credential refused"], ["config_error", "setting refused"]]],
  ["Devices", [["token_terminal", "gone"], ["token_mismatch", "of another app"]]],
  ["Messages", [["payload_error", "refused"]]],
  ["The provider's", [["retryable", "to be repeated"], ["throttled", "throttled"],
    ["ambiguous", "in doubt"]]],
];

function healthOf(p) {
  if (p.paused) return ["paused", "doubt"];
  if (p.holds.some((hold) => hold.part === "")) return ["held", "bad"];
  if (p.holds.length > 0) return ["partly held", "doubt"];
  return ["up", "good"];
}

function holdLine(hold) {
  const what = hold.part === "" ? "Everything" : hold.part;
  return el("li", {}, el("b", { text: `${what} is held (${hold.fault}): ` }), hold.reason);
}

class Mix {
  node = el("div", { class: "mix" });
  #bar = el("div", { class: "mix-bar", role: "img" });
  #legend = el("ul", { class: "legend" });

  constructor() {
    this.node.append(this.#bar, this.#legend);
  }

  show(verdicts) {
    const parts = MIX.map(([verdict, name, colour]) => ({ name, colour, n: verdicts[verdict] ?? 0 }))
      .filter((part) => part.n > 0);
    const total = parts.reduce((all, part) => all + part.n, 0);
    keep(this.#bar, parts, (part) => part.name, (part) => {
      const node = el("span", {});
      node.style.setProperty("--dot", `var(--${part.colour})`);
      node.style.flexGrow = part.n;
      return node;
    });
    keep(this.#legend, parts, (part) => part.name, (part) => {
      const dot = el("span", { class: "dot" });
      dot.style.setProperty("--dot", `var(--${part.colour})`);
      return el("li", {}, dot, `${part.name} `, el("b", { text: count(part.n) }));
    });
    const words = parts.map((part) => `${part.name} ${count(part.n)}`).join(", ");
    this.#bar.setAttribute("aria-label", total === 0 ? "no answers yet" : `Answers: ${words}`);
  }
}

class Card {
  #state = el("span", {});
  #holds = el("ul", { class: "holds" });
  #mix = new Mix();
  #facts = new Map();
  #faults = new Map();
  #chart = new Chart({ title: "Latency", note: "of a call", format: latency, least: 0.01,
    height: 120 });

  constructor(p) {
    const facts = el("dl", { class: "facts-list" });
    for (const name of ["p50", "p95", "p99", "breaker", "in flight", "queued", "connections",
      "access token"]) {
      const value = el("dd", { text: "–" });
      this.#facts.set(name, value);
      facts.append(el("div", {}, el("dt", { text: name }), value));
    }
    const faults = el("div", { class: "faults" });
    for (const [title, verdicts] of FAULTS) faults.append(this.#group(title, verdicts));
    this.lastError = el("p", { class: "last-error" });
    this.withheld = el("p", { class: "last-error" });
    this.node = el("article", { class: "card padded provider", "aria-label": `Provider ${p.name}` },
      el("div", { class: "provider-head" }, el("h3", { text: p.name }),
        el("span", { class: "kind", text: p.kind }), this.#state),
      this.#holds, this.#mix.node, facts, faults, this.withheld, this.lastError, this.#chart.node);
    this.#chart.node.classList.remove("card");
  }

  #group(title, verdicts) {
    const list = el("dl", {});
    for (const [verdict, name] of verdicts) {
      const value = el("dd", { text: "0" });
      this.#faults.set(verdict, value);
      list.append(el("div", {}, el("dt", { text: name }), value));
    }
    return el("section", {}, el("h4", { text: title }), list);
  }

  #fact(name, text, mood = "") {
    const node = this.#facts.get(name);
    setText(node, text);
    node.className = mood;
  }

  show(p, history) {
    const [word, mood] = healthOf(p);
    this.#state.className = `pill ${mood}`;
    setText(this.#state, word);
    const holds = p.paused ? [{ part: "", fault: "paused", reason: p.paused }, ...p.holds] : p.holds;
    keep(this.#holds, holds, (hold) => hold.part + hold.fault, holdLine);
    this.#mix.show(p.verdicts);
    for (const [verdict, node] of this.#faults) {
      const n = p.verdicts[verdict] ?? 0;
      setText(node, count(n));
      const ours = verdict === "provider_auth" || verdict === "config_error";
      node.className = n === 0 ? "" : ours ? "bad" : "some";
    }
    this.#showFacts(p, history);
    setText(this.lastError, p.last_error ? `Last fault of a connection: ${p.last_error}` : "");
    setText(this.withheld, p.invalidations_held
      ? "So many devices are called dead that none is believed; the registry is not told of " +
        `${count(p.device_faults_withheld)}.`
      : p.mismatches
        ? "So many devices are called another sender's that the sender must be wrong: " +
          "environment, app or credential?"
        : "");
    const of = (sample) => sample.providers[p.name]?.calls ?? null;
    this.#chart.show(history.times(), quantileLines(history, of));
  }

  #showFacts(p, history) {
    const of = (sample) => sample.providers[p.name]?.calls ?? null;
    const recent = history.lastQuantiles([0.5, 0.95, 0.99], of, RECENT_S);
    ["p50", "p95", "p99"].forEach((name, at) => this.#fact(name, latency(recent.values[at])));
    const open = p.holds.some((hold) => hold.fault === "provider");
    this.#fact("breaker", open ? "open" : "closed", open ? "bad" : "");
    this.#fact("in flight", count(p.in_flight));
    this.#fact("queued", count(p.queued));
    this.#fact("connections", count(p.connections));
    const ends = history.last.providers[p.name]?.credentialEnds ?? null;
    const left = ends === null ? 0 : ends - history.last.t;
    this.#fact("access token", ends === null ? "none that ends"
      : left > 0 ? `${span(left)} left` : `ended ${span(-left)} ago`,
    ends !== null && left < 60 ? "bad" : "");
  }
}

export class Providers {
  #cards = new Map();

  show(status, history) {
    const place = by("provider-cards");
    for (const p of status.providers)
      if (!this.#cards.has(p.name)) this.#cards.set(p.name, new Card(p));
    const names = new Set(status.providers.map((p) => p.name));
    for (const name of [...this.#cards.keys()]) if (!names.has(name)) this.#cards.delete(name);
    const wanted = status.providers.map((p) => this.#cards.get(p.name).node);
    if (wanted.some((node, at) => place.children[at] !== node) ||
        place.children.length !== wanted.length) place.replaceChildren(...wanted);
    for (const p of status.providers) this.#cards.get(p.name).show(p, history);
  }
}


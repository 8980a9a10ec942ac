// Tiles, charts and the table of classes.

import { Chart } from "./charts.js";
import { by, el, keep, pill, setText } from "./dom.js";
import { bytes, count, latency, percent, rate, span } from "./format.js";

const LINES = ["series-1", "series-2", "series-3", "series-4", "series-5", "series-6"];
const RECENT_S = 300;

// ---- tiles --------------------------------------------------------------------------------------

function tile(title, target) {
  const value = el("b", { class: "value", text: "–" });
  const about = el("span", { class: "about" });
  const node = el("a", { class: "tile", href: target }, el("span", { class: "name", text: title }),
    value, about);
  return {
    node,
    show(text, more, mood = "") {
      setText(value, text);
      setText(about, more);
      node.className = `tile ${mood}`;
    },
  };
}

export class Tiles {
  #accepted = tile("Accepted", "#traffic");
  #hand = tile("In hand", "#traffic");
  #repeats = tile("Repeated calls", "#traffic");
  #unknown = tile("Unknown", "#unknowns");
  #letters = tile("Dead letters", "#letters");
  #ledger = tile("Ledger", "#classes");

  constructor() {
    by("tiles").append(this.#accepted.node, this.#hand.node, this.#repeats.node,
      this.#unknown.node, this.#letters.node, this.#ledger.node);
  }

  show(status, history, unknowns) {
    const all = (of) => (sample) => of(sample.classes[""]);
    const now = history.last.classes[""];
    this.#accepted.show(rate(history.lastRate(all((c) => c.accepted))),
      `${count(now.accepted)} since the start`);
    this.#hand.show(count(now.held), now.held > 0
      ? `the oldest for ${latency(now.oldest)}` : `${count(now.pending)} wait on the stream`);
    const repeated = history.shares(all((c) => c.again + c.inDoubt),
      all((c) => c.first + c.again + c.inDoubt), RECENT_S).at(-1);
    this.#repeats.show(percent(repeated),
      `${count(now.again)} after no, ${count(now.inDoubt)} in doubt`, repeated > 0.3 ? "warn" : "");
    this.#unknown.show(unknowns === null ? "–" : unknowns,
      unknowns === "0" ? "nothing to decide" : "a person decides",
      unknowns === null || unknowns === "0" ? "" : "warn");
    const { depth } = history.last;
    this.#letters.show(count(depth), depth === 0 ? "none" : "on their stream",
      depth > 0 ? "bad" : "");
    const ledger = status.ledger;
    this.#ledger.show(percent(ledger.used_bytes / ledger.map_bytes),
      `of ${bytes(ledger.map_bytes)}, ${count(ledger.rows)} rows`, ledger.claims_stopped ? "bad" : "");
  }
}

// ---- charts -------------------------------------------------------------------------------------

export class Charts {
  #choice = by("class-choice");
  #throughput = new Chart({ title: "Throughput", note: "deliveries ended", format: rate });
  #states = new Chart({ title: "States", note: "how they ended", format: rate, stack: true });
  #backlog = new Chart({ title: "Backlog", note: "messages", format: count, stack: true, least: 4 });
  #receipt = new Chart({ title: "Time to receipt", note: "from the stream", format: latency,
    least: 0.01 });
  #repeats = new Chart({ title: "Repeated calls", note: "of all calls", format: percent,
    stack: true, least: 0.05 });
  #letters = new Chart({ title: "Dead letters", note: "on their stream", format: count, least: 4 });

  constructor(changed) {
    by("charts").append(this.#throughput.node, this.#states.node, this.#backlog.node,
      this.#receipt.node, this.#repeats.node, this.#letters.node);
    this.#choice.addEventListener("change", changed);
  }

  show(status, history) {
    const names = status.classes.map((c) => c.name);
    this.#offer(names);
    const chosen = this.#choice.value;
    const of = (read) => (sample) => (sample.classes[chosen] ? read(sample.classes[chosen]) : null);
    const times = history.times();
    const calls = of((c) => c.first + c.again + c.inDoubt);
    this.#throughput.show(times, this.#perClass(names, chosen, history));
    this.#states.show(times, ["unknown", "failed", "conflict", "suppressed", "accepted"].map(
      (name) => ({ name, colour: name, values: history.rates(of((c) => c[name])) })));
    this.#backlog.show(times, [
      { name: "wait on the stream", colour: "series-6", values: history.values(of((c) => c.pending)) },
      { name: "in hand", colour: "series-1", values: history.values(of((c) => c.held)) },
    ]);
    this.#receipt.show(times, quantileLines(history, of((c) => c.after)));
    this.#repeats.show(times, [
      { name: "in doubt", colour: "unknown", values: history.shares(of((c) => c.inDoubt), calls) },
      { name: "after no", colour: "series-1", values: history.shares(of((c) => c.again), calls) },
    ]);
    this.#letters.show(times, [
      { name: "letters", colour: "failed", values: history.values((sample) => sample.depth) }]);
  }

  #perClass(names, chosen, history) {
    return names.filter((name) => chosen === "" || name === chosen).slice(0, LINES.length).map(
      (name) => ({
        name,
        colour: LINES[names.indexOf(name) % LINES.length],
        values: history.rates((sample) => sample.classes[name]?.ended ?? null),
      }));
  }

  #offer(names) {
    const wanted = ["", ...names];
    const known = [...this.#choice.options].map((option) => option.value);
    if (wanted.join("\n") === known.join("\n")) return;
    const chosen = this.#choice.value;
    this.#choice.replaceChildren(...wanted.map((name) => new Option(name || "all", name)));
    this.#choice.value = wanted.includes(chosen) ? chosen : "";
  }
}

/** p50, p95 and p99 of a histogram, a line each. */
export function quantileLines(history, of) {
  return [["p50", 0.5, "series-2"], ["p95", 0.95, "series-1"], ["p99", 0.99, "series-4"]].map(
    ([name, q, colour]) => ({ name, colour, values: history.quantiles(q, of) }));
}

// ---- classes ------------------------------------------------------------------------------------

function stateOf(c) {
  if (c.paused) return pill("paused", "doubt");
  return c.ready ? pill("ready", "good") : pill("not ready", "bad");
}

function cell(label, value, mood = "") {
  return el("td", { class: `num ${mood}`, "data-label": label, text: count(value) });
}

function classRow(c) {
  const reason = c.paused || c.reason || "";
  return el("tr", {},
    el("th", { scope: "row", text: c.name }),
    el("td", { "data-label": "state" }, stateOf(c),
      reason ? el("span", { class: "why", text: reason }) : null),
    cell("received", c.received), cell("accepted", c.accepted),
    cell("failed", c.failed, c.failed > 0 ? "bad" : ""),
    cell("unknown", c.unknown, c.unknown > 0 ? "doubt" : ""),
    cell("suppressed", c.suppressed), cell("duplicates", c.duplicates_suppressed),
    cell("in hand", c.held));
}

export function showClasses(status) {
  const body = by("classes").tBodies[0];
  keep(body, status.classes, (c) => c.name, classRow);
}

export function showHeader(status) {
  setText(by("instance"), status.instance);
  document.title = `${status.instance}: ${status.state} · sendonce`;
  const up = (Date.parse(status.time) - Date.parse(status.started)) / 1000;
  setText(by("facts"), `up ${span(up)} · config ${status.config_hash.slice(0, 8)}`);
}

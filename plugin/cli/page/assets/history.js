// What was seen, for an hour: a sample every poll. The daemon keeps no history; for more than this
// hour there is Prometheus.

import { between, histogram, quantile, sum } from "./metrics.js";

export const HISTORY_S = 3600;
const RATE_S = 10; // a rate is over at least this long, or every message would be a spike
const LATENCY_S = 60;

const OUTCOMES = ["accepted", "suppressed", "failed", "unknown", "conflict"];

function classSample(families, name) {
  const of = name === "" ? {} : { class: name };
  const one = (metric, more = {}) => sum(families, metric, { ...of, ...more }) ?? 0;
  const outcomes = Object.fromEntries(
    OUTCOMES.map((outcome) => [outcome, one("sendonce_outcomes_total", { outcome })]));
  return {
    ...outcomes,
    ended: OUTCOMES.reduce((total, outcome) => total + outcomes[outcome], 0),
    received: one("sendonce_messages_received_total"),
    first: one("sendonce_attempts_total", { kind: "first" }),
    again: one("sendonce_attempts_total", { kind: "again" }),
    inDoubt: one("sendonce_attempts_total", { kind: "in_doubt" }),
    letters: one("sendonce_dead_letters_total"),
    held: one("sendonce_messages_held"),
    pending: one("sendonce_stream_pending_messages"),
    oldest: Math.max(0, ...(families.get("sendonce_messages_oldest_seconds") ?? [])
      .filter((m) => name === "" || m.labels.class === name).map((m) => m.value)),
    after: histogram(families, "sendonce_accepted_after_seconds", of),
  };
}

function providerSample(families, name) {
  const of = { provider: name };
  return {
    calls: histogram(families, "sendonce_provider_call_duration_seconds", of),
    credentialEnds: sum(families, "sendonce_provider_credential_expiry_timestamp_seconds", of),
  };
}

/** A sample of one poll; `depth` is null where nobody has asked for the dead letters yet. */
export function sampleOf(status, families, depth, seconds) {
  const classes = { "": classSample(families, "") };
  for (const { name } of status.classes) classes[name] = classSample(families, name);
  const providers = {};
  for (const { name } of status.providers) providers[name] = providerSample(families, name);
  return { t: seconds, life: status.started, depth, classes, providers };
}

export class History {
  #samples = [];

  add(sample) {
    this.#samples.push(sample);
    const first = this.#samples.findIndex((one) => one.t > sample.t - HISTORY_S);
    if (first > 0) this.#samples.splice(0, first);
  }

  get last() {
    return this.#samples.at(-1) ?? null;
  }

  times() {
    return this.#samples.map((sample) => sample.t);
  }

  /** `of(sample)` at each moment. */
  values(of) {
    return this.#samples.map((sample) => of(sample) ?? null);
  }

  /** The sample that lies at least `seconds` before `at`, in the same life; null: none does. */
  #before(at, seconds) {
    const { t, life } = this.#samples[at];
    for (let i = at - 1; i >= 0 && this.#samples[i].life === life; i -= 1)
      if (this.#samples[i].t <= t - seconds) return this.#samples[i];
    const first = this.#samples.findIndex((sample) => sample.life === life);
    return first < at ? this.#samples[first] : null;
  }

  #rateAt(at, of, seconds) {
    const before = this.#before(at, seconds);
    if (before === null) return null;
    const now = this.#samples[at];
    const [a, b] = [of(before), of(now)];
    return a === null || b === null ? null : Math.max(0, b - a) / (now.t - before.t);
  }

  /** How fast a counter grew, a second. */
  rates(of) {
    return this.#samples.map((_, at) => this.#rateAt(at, of, RATE_S));
  }

  lastRate(of) {
    return this.#samples.length === 0 ? null : this.#rateAt(this.#samples.length - 1, of, RATE_S);
  }

  /** part of whole, of what came within the last `seconds`; null: nothing came. */
  shares(partOf, wholeOf, seconds = LATENCY_S) {
    return this.#samples.map((_, at) => {
      const whole = this.#rateAt(at, wholeOf, seconds);
      return whole === null || whole === 0 ? null : this.#rateAt(at, partOf, seconds) / whole;
    });
  }

  /** A quantile of what a histogram saw within the last `seconds` before each moment. */
  quantiles(q, of, seconds = LATENCY_S) {
    return this.#samples.map((sample, at) => {
      const before = this.#before(at, seconds);
      return before === null || !of(before) ? null : quantile(q, between(of(before), of(sample)));
    });
  }

  /** {value, since}: of the last `seconds`, or, when nothing came, of the daemon's life. */
  lastQuantiles(qs, of, seconds) {
    const at = this.#samples.length - 1;
    if (at < 0) return null;
    const now = of(this.#samples[at]) ?? [];
    const before = this.#before(at, seconds);
    const recent = before === null || !of(before) ? now : between(of(before), now);
    const some = quantile(0.5, recent) !== null && before !== null;
    return { recent: some, values: qs.map((q) => quantile(q, some ? recent : now)) };
  }
}

// Numbers, times and words as the page shows them.

const whole = new Intl.NumberFormat("en-US");
const short = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });

export function count(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  return Math.abs(value) < 100_000 ? whole.format(Math.round(value)) : short.format(value);
}

export function rate(value) {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "0/s";
  if (value < 10) return `${value.toFixed(value < 0.1 ? 2 : 1)}/s`;
  return `${count(value)}/s`;
}

export function percent(value) {
  if (value === null || value === undefined) return "–";
  const number = value * 100;
  if (number === 0 || number >= 10) return `${number.toFixed(0)} %`;
  return `${number.toFixed(number < 0.1 ? 2 : 1)} %`;
}

/** Seconds, as a latency. */
export function latency(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds === 0) return "0";
  if (seconds < 0.001) return "< 1 ms";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  return seconds < 10 ? `${seconds.toFixed(1)} s` : span(seconds);
}

/** Seconds, as an age or a wait. */
export function span(seconds) {
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 86_400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86_400)} d ${Math.floor((s % 86_400) / 3600)} h`;
}

export function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let at = 0;
  while (value >= 1024 && at < units.length - 1) {
    value /= 1024;
    at += 1;
  }
  return `${value.toFixed(at > 0 && value < 10 ? 1 : 0)} ${units[at]}`;
}

const clock = new Intl.DateTimeFormat([], {
  hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23",
});
const calendar = new Intl.DateTimeFormat([], { month: "short", day: "numeric" });

/** A moment of today by its time, any other with its day; local, as the person's clock has it. */
export function moment(text, now = new Date()) {
  if (!text) return "–";
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) return text;
  const same = time.toDateString() === now.toDateString();
  return same ? clock.format(time) : `${calendar.format(time)} ${clock.format(time)}`;
}

export function shortKey(key) {
  return key ? key.slice(0, 8) : "–";
}

// Which colour a word gets; every pill has its word, so that none depends on colour.
const MOODS = {
  accepted: "good", ready: "good", up: "good", active: "good",
  failed: "bad", stopped: "bad", invalid: "bad", revoked: "bad", held: "bad",
  unknown: "doubt", waiting: "doubt", starting: "doubt", draining: "doubt", paused: "doubt",
  suspect: "doubt", mismatch: "doubt", claimed: "busy", suppressed: "idle",
};

export function moodOf(word) {
  return MOODS[word] ?? "idle";
}

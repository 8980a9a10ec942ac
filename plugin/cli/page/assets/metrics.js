// The Prometheus text format, as far as the daemon writes it, and quantiles of its histograms.

const LINE = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-z_]+)="((?:[^"\\]|\\.)*)"/g;

function labelsOf(text) {
  const labels = {};
  for (const [, name, value] of (text ?? "").matchAll(LABEL))
    labels[name] = value.replace(/\\(.)/g, (_, c) => (c === "n" ? "\n" : c));
  return labels;
}

/** Name -> list of {labels, value}. */
export function parseMetrics(text) {
  const families = new Map();
  for (const line of text.split("\n")) {
    const parts = line.startsWith("#") ? null : LINE.exec(line);
    if (!parts) continue;
    if (!families.has(parts[1])) families.set(parts[1], []);
    const value = parts[3] === "+Inf" ? Infinity : Number(parts[3]);
    families.get(parts[1]).push({ labels: labelsOf(parts[2]), value });
  }
  return families;
}

function matches(labels, wanted) {
  return Object.entries(wanted).every(([name, value]) => labels[name] === value);
}

/** The sum over all that have these labels; null: there is none. */
export function sum(families, name, wanted = {}) {
  const found = (families.get(name) ?? []).filter((one) => matches(one.labels, wanted));
  return found.length === 0 ? null : found.reduce((total, one) => total + one.value, 0);
}

/** [{bound, count}] with cumulative counts, summed over all that have these labels. */
export function histogram(families, name, wanted = {}) {
  const counts = new Map();
  for (const one of families.get(`${name}_bucket`) ?? []) {
    if (!matches(one.labels, wanted)) continue;
    const bound = one.labels.le === "+Inf" ? Infinity : Number(one.labels.le);
    counts.set(bound, (counts.get(bound) ?? 0) + one.value);
  }
  return [...counts].sort((a, b) => a[0] - b[0]).map(([bound, n]) => ({ bound, count: n }));
}

/** What came between two histograms of the same buckets; `before` null: since the beginning. */
export function between(before, after) {
  if (!before || before.length !== after.length) return after;
  return after.map(({ bound, count }, at) => ({ bound, count: count - before[at].count }));
}

/** Linear within a bucket, as histogram_quantile of Prometheus; null: nothing was observed. */
export function quantile(q, buckets) {
  const total = buckets.length === 0 ? 0 : buckets[buckets.length - 1].count;
  if (total <= 0) return null;
  const rank = q * total;
  const at = buckets.findIndex((bucket) => bucket.count >= rank);
  const low = at === 0 ? 0 : buckets[at - 1].bound;
  // Beyond the last bound nothing is known but that.
  if (buckets[at].bound === Infinity) return low;
  const below = at === 0 ? 0 : buckets[at - 1].count;
  const inside = buckets[at].count - below;
  return low + (buckets[at].bound - low) * (inside === 0 ? 1 : (rank - below) / inside);
}

// Charts in the colours of the page, which follow the light of the room.

import uPlot from "./uplot/uPlot.esm.js";
import { HISTORY_S } from "./history.js";
import { el, setText } from "./dom.js";

const SHORTEST_S = 120;
const HEIGHT = 160;
const MINUTES = [1, 2, 5, 10, 15, 30].map((n) => n * 60);

const style = getComputedStyle(document.documentElement);
const colour = (name) => style.getPropertyValue(`--${name}`).trim();

function timeRange(u, min, max) {
  const end = max ?? Date.now() / 1000;
  const span = Math.min(HISTORY_S, Math.max(SHORTEST_S, end - (min ?? end)));
  return [end - span, end];
}

const hour = (seconds) =>
  new Date(seconds * 1000).toLocaleTimeString([], {
    hour: "2-digit", minute: "2-digit", hourCycle: "h23",
  });

/** Of a stack: each line is its own value and all below it, the topmost first. */
function stacked(values) {
  const sums = [];
  for (const line of [...values].reverse())
    sums.unshift(line.map((value, at) => {
      const below = sums.length === 0 ? null : sums[0][at];
      return value === null && below === null ? null : (value ?? 0) + (below ?? 0);
    }));
  return sums;
}

export class Chart {
  #plot = null;
  #lines = [];
  #values = [];
  #times = [];
  #numbers = [];
  #place = el("div", { class: "plot" });
  #legend = el("ul", { class: "legend" });
  #empty = el("p", { class: "empty", text: "Nothing yet." });

  /** `format` writes a value; `least` is the highest value that the axis shows at least. */
  constructor({ title, note, format, stack = false, least = 1, height = HEIGHT }) {
    this.format = format;
    this.stack = stack;
    this.least = least;
    this.height = height;
    this.node = el("figure", { class: "card chart" },
      el("figcaption", {}, el("b", { text: title }), note ? el("span", { text: note }) : null),
      this.#legend, this.#place);
    this.#place.setAttribute("role", "img");
    this.title = title;
    new ResizeObserver(() => this.#fit()).observe(this.#place);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#build());
  }

  /** `lines`: [{name, colour, values}], colours by their names in page.css. */
  show(times, lines) {
    const same = lines.length === this.#lines.length &&
      lines.every((line, at) => line.name === this.#lines[at].name);
    this.#lines = lines;
    this.#times = times;
    this.#values = lines.map((line) => line.values);
    if (!same || this.#plot === null) this.#build();
    else this.#plot.setData(this.#data());
    this.#speak(null);
    const any = this.#values.some((line) => line.some((value) => value !== null));
    this.#place.classList.toggle("none", !any);
    if (!any) this.#place.append(this.#empty);
    else this.#empty.remove();
  }

  #data() {
    return [this.#times, ...(this.stack ? stacked(this.#values) : this.#values)];
  }

  #fit() {
    const width = this.#place.clientWidth;
    if (this.#plot !== null && width > 0 && width !== this.#plot.width)
      this.#plot.setSize({ width, height: this.height });
  }

  #build() {
    this.#plot?.destroy();
    this.#plot = null;
    if (this.#place.clientWidth === 0 && !this.#place.isConnected) return;
    this.#numbers = this.#lines.map(() => el("b"));
    const items = this.#lines.map((line, at) => {
      const dot = el("span", { class: "dot" });
      dot.style.setProperty("--dot", `var(--${line.colour})`);
      return el("li", {}, dot, `${line.name} `, this.#numbers[at]);
    });
    // The topmost of a stack is the rarest.
    this.#legend.replaceChildren(...(this.stack ? items.reverse() : items));
    this.#plot = new uPlot(this.#options(), this.#data(), this.#place);
  }

  #options() {
    const font = `11px ${style.fontFamily}`;
    const axis = { stroke: colour("muted"), font, ticks: { show: false } };
    return {
      width: Math.max(this.#place.clientWidth, 100),
      height: this.height,
      padding: [8, 10, 0, 0],
      legend: { show: false },
      cursor: { sync: { key: "page" }, drag: { x: false, y: false }, points: { size: 6 } },
      hooks: { setCursor: [(u) => this.#speak(u.cursor.idx ?? null)] },
      scales: {
        x: { range: timeRange },
        y: { range: (u, min, max) => [0, Math.max(this.least, (max ?? 0) * 1.08)] },
      },
      axes: [
        { ...axis, grid: { show: false }, size: 24, space: 64, incrs: MINUTES,
          values: (u, at) => at.map((t) => hour(t)) },
        { ...axis, grid: { stroke: colour("line"), width: 1 }, size: 56, space: 36,
          values: (u, at) => at.map((value) => this.format(value)) },
      ],
      series: [{}, ...this.#lines.map((line) => this.#series(line))],
      bands: this.stack
        ? this.#lines.slice(1).map((line, at) => ({ series: [at + 1, at + 2] }))
        : [],
    };
  }

  #series(line) {
    const stroke = colour(line.colour);
    const fill = this.stack ? `${stroke}59` : this.#lines.length === 1 ? `${stroke}26` : undefined;
    return { stroke, fill, width: 1.5, points: { show: false }, spanGaps: false };
  }

  // The legend's numbers: under the pointer, else the last. And in words for who cannot see it.
  #speak(at) {
    const index = at ?? this.#times.length - 1;
    const words = [];
    this.#lines.forEach((line, i) => {
      const text = this.format(this.#values[i][index] ?? null);
      if (this.#numbers[i]) setText(this.#numbers[i], text);
      words.push(`${line.name} ${text}`);
    });
    if (at === null) this.#place.setAttribute("aria-label", `${this.title}: ${words.join(", ")}`);
  }
}

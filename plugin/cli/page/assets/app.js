// Asks every two seconds while somebody looks, and shows what came.

import * as api from "./api.js";
import { by, el, keep, setText } from "./dom.js";
import { moment, moodOf } from "./format.js";
import { History, sampleOf } from "./history.js";
import { Letters } from "./letters.js";
import { inspect, listen } from "./lookup.js";
import { parseMetrics } from "./metrics.js";
import { Providers } from "./providers.js";
import { Charts, Tiles, showClasses, showHeader } from "./traffic.js";
import { Unknowns } from "./unknowns.js";

const POLL_MS = 2_000;
const SLOW_MS = 5_000;

const history = new History();
const tiles = new Tiles();
const charts = new Charts(() => draw());
const providers = new Providers();
const unknowns = new Unknowns(inspect);
const letters = new Letters(inspect);
let status = null;
let answeredAt = new Date();

function notices(list) {
  keep(by("notices"), list, (notice) => notice.name, (notice) =>
    el("p", { class: `notice ${notice.mood}` }, el("b", { text: `${notice.name}: ` }), notice.text));
}

function state(word) {
  by("state").className = `pill ${moodOf(word)}`;
  setText(by("state"), word);
}

// What stands there is old, and says so.
function away(error) {
  const name = error.status === 0 || error.status === 401 ? "page" : "daemon";
  state("no answer");
  by("state").className = "pill bad";
  const what = /[.?!]$/.test(error.message) ? error.message : `${error.message}.`;
  notices([{ name, mood: "bad",
    text: `${what} What stands below is of ${moment(answeredAt.toISOString())}.` }]);
  document.body.classList.add("old");
}

function draw() {
  if (status?.classes === undefined || history.last === null) return;
  tiles.show(status, history, unknowns.number);
  charts.show(status, history);
  providers.show(status, history);
}

function shown(reasons) {
  answeredAt = new Date();
  document.body.classList.remove("old");
  state(status.state);
  const ready = status.state === "ready";
  notices(reasons.map(({ name, text }) => ({ name, text, mood: ready ? "warn" : "bad" })));
  showHeader(status);
  showClasses(status);
}

async function poll() {
  const slow = setTimeout(() => away({ status: 504, message: "the daemon is slow to answer" }),
    SLOW_MS);
  try {
    const [answer, text, reasons] = await Promise.all(
      [api.get("/v1/status"), api.metricsText(), api.readiness()]);
    clearTimeout(slow);
    status = answer;
    if (status.classes === undefined) { // it starts or stops, and has no numbers
      state(status.state);
      notices([{ name: status.state, text: status.reason, mood: "warn" }]);
      return;
    }
    history.add(sampleOf(status, parseMetrics(text), letters.depth, Date.now() / 1000));
    shown(reasons);
    const now = performance.now();
    await Promise.all([unknowns.look(status, now),
      letters.look(history.last.classes[""].letters, now)]);
    draw();
  } catch (error) {
    if (!(error instanceof api.ApiError)) throw error;
    away(error);
  } finally {
    clearTimeout(slow);
  }
}

const visible = () => new Promise((resolve) => {
  if (!document.hidden) return resolve();
  document.addEventListener("visibilitychange", resolve, { once: true });
});

listen();
for (;;) {
  await visible();
  await poll();
  await new Promise((resolve) => setTimeout(resolve, POLL_MS));
}

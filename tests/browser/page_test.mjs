// Uses the page as people do, and as a stranger would. page_test.py starts all that it needs and
// says where it is, as JSON in the first argument.

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { pathToFileURL } from "node:url";

const told = JSON.parse(process.argv[2]);
const { chromium } = await import(pathToFileURL(told.playwright));
const origin = new URL(told.url).origin;
const PATIENCE_MS = 30_000;
const REASON = "seen in the customer's app";

const browser = await chromium.launch({
  executablePath: told.chromium,
  // Its sandbox refuses root; all pages are ours.
  args: process.getuid() === 0 ? ["--no-sandbox"] : [],
});
const complaints = [];

async function opened(options = {}) {
  const context = await browser.newContext({ viewport: { width: 1360, height: 900 }, ...options });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  return { context, page };
}

async function step(name, body) {
  try {
    await body();
  } catch (error) {
    console.log(`FAILED: ${name}`);
    throw error;
  }
  console.log(`ok: ${name}`);
}

const until = (page, condition, argument) =>
  page.waitForFunction(condition, argument, { timeout: PATIENCE_MS });
const textOf = (page, selector) => page.locator(selector).innerText();

async function picture(page, name) {
  if (!told.screenshots) return;
  mkdirSync(told.screenshots, { recursive: true });
  await page.screenshot({ path: `${told.screenshots}/${name}.png`, fullPage: true });
}

// ---- the way in ---------------------------------------------------------------------------------

async function wayIn(context, page) {
  await step("without a session there is only what to do", async () => {
    const answer = await page.goto(`${origin}/`);
    assert.equal(answer.status(), 401);
    assert.match(await textOf(page, "body"), /sendonce page/);
  });
  await step("a wrong token opens nothing", async () => {
    const answer = await page.goto(`${origin}/?token=${"A".repeat(43)}`);
    assert.equal(answer.status(), 403);
    assert.deepEqual(await context.cookies(), []);
  });
  complaints.length = 0; // of the statuses above
  await step("the token is exchanged for a cookie that no script sees", async () => {
    const answer = await page.goto(told.url);
    assert.equal(answer.status(), 200);
    assert.equal(page.url(), `${origin}/`);
    const [cookie, ...more] = await context.cookies();
    assert.equal(more.length, 0);
    assert.equal(cookie.httpOnly, true);
    assert.equal(cookie.sameSite, "Strict");
    assert.equal(await page.evaluate(() => document.cookie), "");
    const policy = answer.headers()["content-security-policy"];
    assert.match(policy, /default-src 'self'/);
    assert.match(policy, /frame-ancestors 'none'/);
  });
  await step("a used token opens nothing for others", async () => {
    const other = await opened();
    assert.equal((await other.page.goto(told.url)).status(), 403);
    assert.deepEqual(await other.context.cookies(), []);
    await other.context.close();
    complaints.length = 0;
  });
}

// ---- the panels ---------------------------------------------------------------------------------

async function panels(page) {
  await step("numbers are read and counted as Prometheus counts", async () => {
    assert.deepEqual(await page.evaluate(async () => {
      const m = await import("/metrics.js");
      const families = m.parseMetrics('# HELP a b\na{x="1",y="q\\"}{"} 2\na{x="2"} 3\nh_bucket' +
        '{le="1"} 0\nh_bucket{le="2"} 10\nh_bucket{le="+Inf"} 20\nbroken\n');
      const buckets = m.histogram(families, "h");
      return [m.sum(families, "a"), m.sum(families, "a", { x: "2" }), m.sum(families, "none"),
        families.get("a")[0].labels.y, m.quantile(0.25, buckets), m.quantile(0.99, buckets),
        m.quantile(0.5, []), m.quantile(0.5, m.between(buckets, buckets))];
    }), [5, 3, null, 'q"}{', 1.5, 2, null, null]);
  });
  await step("a rate does not reach over a restart of the daemon", async () => {
    assert.deepEqual(await page.evaluate(async () => {
      const { History } = await import("/history.js");
      const history = new History();
      const seen = [[0, 0, "a"], [10, 50, "a"], [20, 70, "a"], [22, 4, "b"], [32, 14, "b"],
        [34, null, "b"]];
      for (const [t, n, life] of seen) history.add({ t, n, life });
      const rates = history.rates((sample) => sample.n);
      history.add({ t: 3610, n: 1, life: "b" });
      return [rates, history.times()];
    }), [[null, 5, 2, null, 1, null], [20, 22, 32, 34, 3610]]);
  });
  await step("the header says who and how", async () => {
    await until(page, () => document.getElementById("state").textContent === "ready");
    assert.equal(await textOf(page, "#instance"), "shop-eu");
  });
  await step("every tile has a number", async () => {
    await until(page, () => [...document.querySelectorAll(".tile .value")]
      .every((tile) => /\d/.test(tile.textContent)));
    await until(page, () => !/^0/.test(document.querySelector(".tile .value").textContent));
  });
  await step("every chart has values", async () => {
    await until(page, () => {
      const all = [...document.querySelectorAll("#charts .chart")];
      return all.length === 6 && all.every((chart) => chart.querySelector("canvas") &&
        !chart.querySelector(".plot.none") &&
        [...chart.querySelectorAll(".legend b")].some((value) => /\d/.test(value.textContent)));
    });
  });
  await step("a class can be chosen", async () => {
    const lines = () => page.locator("#charts .chart").first().locator(".legend li").count();
    assert.equal(await lines(), 3);
    await page.selectOption("#class-choice", "otp");
    assert.equal(await lines(), 1);
    await page.selectOption("#class-choice", "");
  });
  await step("the classes stand in their table", async () => {
    assert.equal(await page.locator("#classes tbody tr").count(), 3);
    assert.match(await textOf(page, "#classes tbody tr:has-text('orders')"), /ready/);
  });
  await step("a fault of ours is not a device's", async () => {
    const card = (name) => page.locator(`.provider[aria-label="Provider ${name}"]`);
    await until(page, () => document.querySelectorAll(".provider").length === 3);
    const old = card("apns_old_key");
    assert.match(await old.innerText(), /held/);
    const number = async (of, group, name) => Number(await of
      .locator(`section:has(h4:text-is("${group}")) div:has(> dt:text-is("${name}")) dd`)
      .innerText());
    assert.ok(await number(old, "Ours to mend", "credential refused") > 0);
    assert.equal(await number(old, "Devices", "gone"), 0);
    const apns = card("apns");
    assert.equal(await number(apns, "Ours to mend", "credential refused"), 0);
    assert.ok(await number(apns, "Devices", "gone") > 0);
    for (const name of ["p50", "p95", "p99"])
      assert.match(await apns.locator(`div:has(> dt:text-is("${name}")) dd`).innerText(), /\d/);
    assert.equal(await apns.locator('div:has(> dt:text-is("breaker")) dd').innerText(), "closed");
    assert.match(await card("fcm").innerText(), /access token\s+\d+ min left/);
    assert.match(await textOf(page, "#notices"), /provider\.apns_old_key/);
  });
}

// ---- deciding -----------------------------------------------------------------------------------

async function resolving(page) {
  const rows = page.locator("#unknowns-list tbody tr");
  await step("what is in doubt is listed", async () => {
    await until(page, () => document.querySelectorAll("#unknowns-list tbody tr").length === 4);
    assert.match(await rows.first().innerText(), /apns/);
  });
  await step("no decision without a reason", async () => {
    await rows.first().getByRole("button", { name: /^Decide/ }).click();
    await page.getByRole("radio", { name: /accepted/ }).check();
    await page.locator("#decide [type=submit]").click();
    assert.equal(await page.locator("#decide").evaluate((d) => d.open), true);
    assert.equal(await rows.count(), 4);
  });
  await step("a person decides, with a reason", async () => {
    const key = await rows.first().locator("code").innerText();
    await page.locator("#decide [name=reason]").fill(REASON);
    await page.keyboard.press("Enter");
    await until(page, () => document.querySelectorAll("#unknowns-list tbody tr").length === 3);
    assert.equal(await textOf(page, "#unknowns-said"), `${key} is accepted now.`);
    assert.equal((await page.locator("#unknowns-list").innerText()).includes(key), false);
  });
  await step("a dialog is left by Escape, and nothing happens", async () => {
    const button = rows.first().getByRole("button", { name: /^Decide/ });
    await button.focus();
    await page.keyboard.press("Enter");
    assert.equal(await page.locator("#decide").evaluate((d) => d.open), true);
    await picture(page, "dialog");
    await page.keyboard.press("Escape");
    assert.equal(await page.locator("#decide").evaluate((d) => d.open), false);
    assert.equal(await rows.count(), 3);
    assert.equal(await button.evaluate((b) => b === document.activeElement), true);
  });
}

async function replaying(page) {
  const letter = page.locator("#letters-list tbody tr:has-text('413'), " +
    "#letters-list tbody tr:has-text('PayloadTooLarge')").first();
  await step("dead letters are listed with their reasons", async () => {
    await until(page, () => document.querySelectorAll("#letters-list tbody tr").length >= 3);
    assert.match(await letter.innerText(), /failed/);
  });
  await step("a replay goes out", async () => {
    await letter.getByRole("button", { name: /^Replay/ }).click();
    await page.locator("#replay [type=submit]").click();
    await until(page, () => /published as message/.test(
      document.getElementById("letters-said").textContent));
    await until(page, () => [...document.querySelectorAll("#letters-list .pill")]
      .some((pill) => pill.textContent === "accepted"));
  });
  await step("what was sent is not sent again without force and reason", async () => {
    const sent = page.locator("#letters-list tbody tr:has(.pill:text-is('accepted'))").first();
    await sent.getByRole("button", { name: /^Replay/ }).click();
    await page.locator("#replay [type=submit]").click();
    assert.equal(await page.locator("#replay").evaluate((d) => d.open), true, "force is wanted");
    await page.locator("#replay [name=force]").check();
    await page.locator("#replay [type=submit]").click();
    assert.equal(await page.locator("#replay").evaluate((d) => d.open), true, "so is a reason");
    await page.locator("#replay [value=cancel]").click();
  });
}

// ---- looking up ---------------------------------------------------------------------------------

async function lookups(page) {
  await step("one notification's timeline", async () => {
    await page.fill("#what", "e1");
    await page.keyboard.press("Enter");
    await until(page, () => document.querySelectorAll("#stories .steps li").length >= 3);
    assert.match(await textOf(page, "#stories"), /accepted/);
  });
  await step("the timeline of a letter, from its table", async () => {
    await page.locator("#letters-list tbody tr").first()
      .getByRole("button", { name: /^Timeline/ }).click();
    await until(page, () => document.activeElement.id === "stories");
    assert.match(await page.inputValue("#what"), /^[0-9a-f]{64}$/);
    assert.match(await textOf(page, "#stories"), /stored on its stream/);
  });
  await step("an event that nobody knows", async () => {
    await page.fill("#what", "<img src=x onerror=alert(1)>");
    await page.keyboard.press("Enter");
    await until(page,
      () => /No such delivery/.test(document.getElementById("stories").textContent));
  });
  await step("a device by its hash", async () => {
    await page.fill("#hash", told.device);
    await page.keyboard.press("Enter");
    await until(page, () => /invalid/.test(document.getElementById("device").textContent));
  });
}

// ---- strangers ----------------------------------------------------------------------------------

async function strangers(context, page) {
  const other = await context.newPage(); // of the same browser, with the same cookies
  await other.goto(told.stranger);
  const target = `${origin}/v1/pause?name=orders&reason=stranger`;
  await step("a form of another origin is refused", async () => {
    const [answer] = await Promise.all([other.waitForNavigation(), other.evaluate((action) => {
      const form = document.createElement("form");
      form.method = "post";
      form.action = action;
      document.body.append(form);
      form.submit();
    }, target)]);
    assert.equal(answer.status(), 403);
    assert.match(await textOf(other, "body"), /only the page itself/);
  });
  await step("a script of another origin is refused, and reads nothing", async () => {
    await other.goto(told.stranger);
    const seen = await other.evaluate(async ([action, status]) => {
      const blocked = (promise) => promise.then(() => "answered", () => "blocked");
      return [
        await blocked(fetch(action, { method: "POST", credentials: "include",
          headers: { "Sendonce-Request": "1" } })),
        await blocked(fetch(action, { method: "POST", credentials: "include", mode: "no-cors" })),
        await blocked(fetch(status, { credentials: "include" })),
      ];
    }, [target, `${origin}/v1/status`]);
    assert.equal(seen[0], "blocked");
    assert.equal(seen[2], "blocked");
  });
  await step("a cookie that another server was sent opens nothing", async () => {
    const [cookie] = await context.cookies();
    const answer = await fetch(`${origin}/v1/status`,
      { headers: { cookie: `${cookie.name}=${cookie.value}`, "sendonce-request": "1" } });
    assert.equal(answer.status, 403);
  });
  await step("nothing was paused", async () => {
    const paused = await page.evaluate(async () => {
      const status = await (await fetch("/v1/status",
        { headers: { "Sendonce-Request": localStorage.getItem("proof") } })).json();
      return status.classes.map((c) => c.paused).join("");
    });
    assert.equal(paused, "");
  });
  await step("the page cannot be framed", async () => {
    await other.goto(told.stranger);
    const framed = await other.evaluate((address) => new Promise((resolve) => {
      const frame = document.createElement("iframe");
      frame.src = address;
      frame.onload = () => resolve(frame.contentDocument === null ? "closed" : "open");
      document.body.append(frame);
    }), `${origin}/`);
    assert.equal(framed, "closed");
  });
  await other.close();
}

// ---- looks --------------------------------------------------------------------------------------

async function looks(context, page) {
  await step("it fits a phone", async () => {
    await page.setViewportSize({ width: 360, height: 800 });
    await page.waitForTimeout(300); // the charts follow their frames
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= 360, `${width} px wide`);
    await picture(page, "phone");
    await page.setViewportSize({ width: 1360, height: 900 });
  });
  await step("it goes with the light", async () => {
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await ground();
    await picture(page, "light");
    await page.emulateMedia({ colorScheme: "dark" });
    assert.notEqual(await ground(), light);
    await page.waitForTimeout(300);
    await picture(page, "dark");
    await page.setViewportSize({ width: 360, height: 800 });
    await page.waitForTimeout(300);
    await picture(page, "phone-dark");
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize({ width: 1360, height: 900 });
  });
  await step("a keyboard reaches everything, and every field has a name", async () => {
    const bare = await page.evaluate(() => {
      const named = (e) => e.labels?.length || e.textContent.trim() || e.getAttribute("aria-label");
      return [...document.querySelectorAll("input, select, button, a")]
        .filter((e) => !named(e)).map((e) => e.outerHTML);
    });
    assert.deepEqual(bare, []);
    const wanted = await page.evaluate(() => {
      const all = [...document.querySelectorAll("a, button, input, select, summary")]
        .filter((e) => !e.disabled && e.checkVisibility());
      all.forEach((e, at) => { e.dataset.walk = at; });
      all[0].focus();
      return all.length;
    });
    const reached = new Set();
    for (let i = 0; i < wanted + 5; i += 1) {
      reached.add(await page.evaluate(() => document.activeElement.dataset.walk));
      await page.keyboard.press("Tab");
    }
    reached.delete(undefined);
    assert.ok(reached.size >= wanted, `${reached.size} of ${wanted}`);
  });
  await step("no complaint in the console", async () => {
    assert.deepEqual(complaints, []);
  });
}

async function away(page) {
  await step("a daemon that is away is said to be", async () => {
    process.kill(told.daemon, "SIGKILL");
    await until(page, () => /is sendonced running\?/.test(
      document.getElementById("notices").textContent));
    assert.equal(await textOf(page, "#state"), "no answer");
    await picture(page, "away");
  });
}

try {
  const { context, page } = await opened({ colorScheme: "light" });
  await wayIn(context, page);
  await panels(page);
  await resolving(page);
  await replaying(page);
  await lookups(page);
  await looks(context, page);
  await strangers(context, page);
  await away(page);
} finally {
  await browser.close();
}

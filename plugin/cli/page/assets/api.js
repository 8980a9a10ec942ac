// Asks the process that serves this page, which asks the daemon.

const PATIENCE_MS = 20_000; // longer than it waits for the daemon
const DEED_PATIENCE_MS = 60_000; // a replay is published until it is known to be stored

// It came with the address, behind the '#'. A cookie is sent to every port of this host; this is
// kept for our own, and without it nothing but the page's files is answered.
const PROOF = "#proof=";
if (location.hash.startsWith(PROOF)) {
  localStorage.setItem("proof", location.hash.slice(PROOF.length));
  history.replaceState(null, "", "/");
}
const proof = localStorage.getItem("proof") ?? "";

export class ApiError extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status; // 0: nobody answers
  }
}

function address(path, query) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== "") parameters.set(name, value);
  const text = parameters.toString();
  return text === "" ? path : `${path}?${text}`;
}

async function ask(path, query, options) {
  try {
    return await fetch(address(path, query), {
      ...options,
      headers: { "Sendonce-Request": proof },
      credentials: "same-origin",
      redirect: "error",
      signal: AbortSignal.timeout(options.method === "POST" ? DEED_PATIENCE_MS : PATIENCE_MS),
    });
  } catch {
    throw new ApiError(0, "nobody answers: was the command sendonce page ended?");
  }
}

async function jsonOf(answer) {
  const body = await answer.json().catch(() => null);
  if (body === null || typeof body !== "object")
    throw new ApiError(answer.status, `the answer (${answer.status}) is no JSON`);
  if (!answer.ok) throw new ApiError(answer.status, body.detail ?? `error ${answer.status}`);
  return body;
}

export async function get(path, query = {}) {
  return jsonOf(await ask(path, query, {}));
}

export async function post(path, query = {}) {
  return jsonOf(await ask(path, query, { method: "POST" }));
}

export async function metricsText() {
  const answer = await ask("/metrics", {}, {});
  if (!answer.ok) await jsonOf(answer);
  return answer.text();
}

/** Its reasons are in the answer whether it is ready or not. */
export async function readiness() {
  const answer = await ask("/readyz", {}, {});
  const body = await answer.json().catch(() => null);
  return Array.isArray(body?.reasons) ? body.reasons : [];
}

// Registers the worker, and subscribes when asked.
"use strict";

const element = (id) => document.getElementById(id);

function bytesOf(base64url) {
  const text = atob(base64url.replace(/-/g, "+").replace(/_/g, "/"));
  return Uint8Array.from(text, (c) => c.charCodeAt(0));
}

// One of the `targets` of an envelope (docs/formats.md).
function targetOf(subscription) {
  const { endpoint, keys } = subscription.toJSON();
  return { kind: "webpush", subscription: { endpoint, p256dh: keys.p256dh, auth: keys.auth } };
}

async function subscribe() {
  const registration = await navigator.serviceWorker.ready;
  const subscription = await registration.pushManager.subscribe({
    userVisibleOnly: true,
    applicationServerKey: bytesOf(element("key").value.trim()),
  });
  element("target").value = JSON.stringify(targetOf(subscription), null, 2);
}

element("subscribe").addEventListener("click", () => {
  element("state").textContent = "";
  subscribe().catch((error) => {
    element("state").textContent = String(error);
  });
});

navigator.serviceWorker.register("sw.js").catch((error) => {
  element("state").textContent = `no service worker: ${error}`;
});

// The service worker of the example: shows what sendonce sent, and each notification once.
//
// A push may arrive twice: under `resend` sendonce sends again when it cannot know whether the
// first got through, and push services repeat. Every copy carries the same `nid`, so the browser is
// where the last copy can be dropped. What was shown is remembered in IndexedDB, which outlives
// this worker: a browser stops it after some seconds of silence, and variables go with it.

"use strict";

const WINDOW_MS = 24 * 60 * 60 * 1000; // how long a nid is remembered

function openMemory() {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open("sendonce", 1);
    request.onupgradeneeded = () => {
      request.result.createObjectStore("shown", { keyPath: "nid" }).createIndex("at", "at");
    };
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

// True for the first caller with this nid within the window. One transaction reads and writes, so
// of two pushes that are handled at the same time one is first.
async function isFirst(nid, now) {
  const memory = await openMemory();
  return new Promise((resolve, reject) => {
    const transaction = memory.transaction("shown", "readwrite");
    const shown = transaction.objectStore("shown");
    let first = false;
    const old = shown.index("at").openCursor(IDBKeyRange.upperBound(now - WINDOW_MS));
    old.onsuccess = () => {
      if (old.result) {
        old.result.delete();
        old.result.continue();
        return;
      }
      const found = shown.get(nid);
      found.onsuccess = () => {
        first = found.result === undefined;
        if (first) shown.put({ nid, at: now });
      };
    };
    transaction.oncomplete = () => {
      memory.close();
      resolve(first);
    };
    transaction.onabort = () => reject(transaction.error);
  });
}

async function onPush(notification) {
  const { nid, title, body, tag, data } = notification;
  let first = true;
  try {
    if (nid) first = await isFirst(nid, Date.now());
  } catch (error) {
    // A copy rather than nothing.
    console.warn("cannot remember what was shown, showing it:", error);
  }
  if (!first) return;
  await self.registration.showNotification(title || "", { body, tag, data });
}

self.addEventListener("push", (event) => {
  let notification;
  try {
    notification = event.data.json();
  } catch {
    notification = { title: "New message" }; // not ours, or empty; a push must show something
  }
  event.waitUntil(onPush(notification));
});

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const url = event.notification.data && event.notification.data.url;
  // Only a page of our own: what a push says must not open any address.
  if (typeof url === "string" && url.startsWith("/") && !url.startsWith("//"))
    event.waitUntil(self.clients.openWindow(url));
});

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

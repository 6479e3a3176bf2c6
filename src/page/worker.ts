/// <reference lib="webworker" />

/**
 * The service worker: keeps the page itself, so that it opens without a connection and says so. It never keeps an
 * answer of the API.
 */

declare const self: ServiceWorkerGlobalScope;
/** paths of script, style sheet and icons, and the name of this build; the build puts them in front */
declare const SHELL: string[];
declare const VERSION: string;

self.addEventListener('install', (event) => {
  event.waitUntil(caches.open(VERSION).then((cache) => cache.addAll(SHELL)));
  void self.skipWaiting();
});

self.addEventListener('activate', (event) => {
  event.waitUntil(
    caches
      .keys()
      .then((names) => Promise.all(names.filter((name) => name !== VERSION).map((name) => caches.delete(name))))
      .then(() => self.clients.claim()),
  );
});

self.addEventListener('fetch', (event) => {
  const { pathname, origin } = new URL(event.request.url);
  if (origin !== self.location.origin || event.request.method !== 'GET') return;
  if (event.request.mode === 'navigate' && ['/', '/mobile', '/mobile/'].includes(pathname))
    event.respondWith(openPage(event.request));
  else if (SHELL.includes(pathname))
    event.respondWith(caches.match(pathname).then((kept) => kept ?? fetch(event.request)));
});

/** The page of the server; without a connection, the one that was kept. */
async function openPage(request: Request): Promise<Response> {
  try {
    const response = await fetch(request);
    if (response.ok && response.headers.has('X-Fetch-Page'))
      await (await caches.open(VERSION)).put('/', response.clone());
    return response;
  } catch (error) {
    const kept = await caches.match('/');
    if (kept) return kept;
    throw error;
  }
}

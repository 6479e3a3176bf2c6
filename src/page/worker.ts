/// <reference lib="webworker" />

/**
 * The service worker: keeps the page itself, so that it opens without a connection and says so, and shows notices. It
 * never keeps an answer of the API.
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

/** As `PushMessage` of the server. */
type Message = { title: string; body: string; tag: string; url: string } | { close: string };

self.addEventListener('push', (event) => {
  const message = event.data?.json() as Message | undefined;
  if (message) event.waitUntil('close' in message ? takeBack(message.close) : show(message));
});

const ICON = SHELL.find((path) => path.includes('icon-192'));

const show = ({ title, body, tag, url }: Exclude<Message, { close: string }>): Promise<void> =>
  self.registration.showNotification(title, { body, tag, data: { url }, icon: ICON, badge: ICON });

/** A browser wants each push to show something, so the answered one is shown again without a sound, and closed. */
async function takeBack(tag: string): Promise<void> {
  const [open] = await self.registration.getNotifications({ tag });
  await self.registration.showNotification(open?.title ?? 'Fetch', { body: open?.body ?? '', tag, silent: true });
  for (const each of await self.registration.getNotifications({ tag })) each.close();
}

self.addEventListener('notificationclick', (event) => {
  event.notification.close();
  const { url = '/#/now' } = (event.notification.data ?? {}) as { url?: string };
  event.waitUntil(open(url));
});

/** In the page that is open, else in a new one. */
async function open(url: string): Promise<void> {
  const [page] = await self.clients.matchAll({ type: 'window', includeUncontrolled: true });
  if (!page) return void (await self.clients.openWindow(url));
  await page.focus().catch(() => {});
  page.postMessage({ open: new URL(url, self.location.origin).hash });
}

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

import { render } from 'preact';
import type { OwnerEvent } from '../contracts/owner.ts';
import { App } from './app.tsx';
import { followRoute } from './shared/route.ts';
import { tellResources } from './shared/server/resource.ts';
import { follow } from './shared/server/sse.ts';
import { watchSleep } from './shared/server/wake.ts';
import { startTheme } from './shared/theme.ts';

/** Follows what changes, for as long as the page is open. Each change has what depends on it read again. */
function followChanges(): void {
  let seq: number | null = null;
  let lost = false;
  void follow({
    address: () => `/v1/owner/events${seq === null ? '' : `?since_seq=${seq}`}`,
    onData: (data) => {
      const event = data as OwnerEvent;
      // several changes may have one `seq`, and reading something twice does no harm
      seq = event.seq;
      tellResources(event);
    },
    // what could not be read while the server was away
    onOpen: () => {
      if (lost) tellResources({ seq: seq ?? 0, about: 'all', thread_id: null, kinds: [] });
      lost = true;
    },
    signal: new AbortController().signal,
  }).catch(() => {});
}

startTheme();
followRoute();
watchSleep();
// tasks of their own, so that a slow phone answers a touch between them
for (const work of [draw, followChanges, keepForOffline]) setTimeout(work);

function draw(): void {
  render(<App />, document.getElementById('app')!);
}

/** Not in every browser. */
type TrustedWindow = typeof window & {
  trustedTypes?: { createPolicy(name: string, rules: object): { createScriptURL(address: string): unknown } };
};

/** Browsers allow it on https and localhost only. */
function keepForOffline(): void {
  if (!('serviceWorker' in navigator)) return;
  const address = '/sw.js';
  const { trustedTypes } = window as TrustedWindow;
  const trusted =
    trustedTypes?.createPolicy('fetch', { createScriptURL: () => address }).createScriptURL(address) ?? address;
  navigator.serviceWorker.register(trusted as string).catch(() => {});
  // a notice was pressed
  navigator.serviceWorker.addEventListener('message', ({ data }) => {
    const { open } = data as { open?: unknown };
    if (typeof open === 'string' && open.startsWith('#/')) location.hash = open;
  });
}

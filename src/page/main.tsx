import { render } from 'preact';
import { App } from './app.tsx';
import { followRoute } from './shared/route.ts';
import { followChanges } from './shared/server/live.ts';
import { startTheme } from './shared/theme.ts';

startTheme();
followRoute();
followChanges();
render(<App />, document.getElementById('app')!);
keepForOffline();

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
}

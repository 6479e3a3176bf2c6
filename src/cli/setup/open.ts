import { spawn } from 'node:child_process';
import { reasonOf } from '../../client/api-client.ts';
import { type Config, childEnvironment } from '../../config.ts';
import { runningInstance } from '../instance/urls.ts';

const PATIENCE_MS = 10_000;

/**
 * `fetch open`: the link to the owner's page, with the token that lets a browser in; opened where there is a person and
 * a browser.
 */
export async function run(config: Config, options: { print?: boolean }): Promise<void> {
  const { baseUrl, token } = runningInstance(config);
  try {
    await fetch(`${baseUrl}/health`, { signal: AbortSignal.timeout(PATIENCE_MS) });
  } catch (error) {
    throw new Error(
      `No Fetch answers at ${baseUrl}: ${reasonOf(error)}. Start one with "fetch up", or look at "fetch status".`,
    );
  }
  const link = `${baseUrl}/?token=${encodeURIComponent(token)}`;
  process.stdout.write(`${link}\n`);
  if (options.print) return;
  process.stdout.write(
    'Open this once; the browser remembers it for 180 days. Who has the link may do what you may.\n',
  );
  if (process.stdout.isTTY) openBrowser(link);
}

/**
 * As a program and its argument, so that no shell reads the address. Where no browser opens, the printed address is
 * enough.
 */
export function openBrowser(address: string): void {
  const { DISPLAY, WAYLAND_DISPLAY, SSH_CONNECTION } = childEnvironment({});
  const openers: Partial<Record<NodeJS.Platform, string[]>> = {
    darwin: ['open'],
    win32: ['rundll32', 'url.dll,FileProtocolHandler'],
  };
  const opener = openers[process.platform] ?? (DISPLAY || WAYLAND_DISPLAY ? ['xdg-open'] : null);
  if (!opener || SSH_CONNECTION) return;
  const [program, ...args] = [...opener, address];
  spawn(program!, args, { stdio: 'ignore', detached: true })
    .on('error', () => {})
    .unref();
}

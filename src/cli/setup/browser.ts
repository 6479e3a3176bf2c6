import { spawn } from 'node:child_process';
import { childEnvironment } from '../../config.ts';

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

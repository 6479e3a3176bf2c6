import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../config.ts';
import type { Urls } from './home/state-file.ts';

/** An address to listen on may not be one to connect to. */
const shown = (host: string): string =>
  host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host;

export const urlsOf = (config: Config): Urls => ({
  runtime: `http://${shown(config.runtimeHost)}:${config.FETCH_RUNTIME_PORT}`,
  status: `http://${shown(config.FETCH_HOST)}:${config.FETCH_STATUS_PORT}`,
  temporalUi:
    config.TEMPORAL_ADDRESS && !config.FETCH_TEMPORAL_UI_URL
      ? null
      : `http://127.0.0.1:${config.FETCH_TEMPORAL_UI_PORT}`,
});

/**
 * Address and token of the runtime API of this home's instance, which may have ended. Throws an Error whose message is
 * for a person.
 */
export function runningInstance(config: Config): { baseUrl: string; token: string } {
  const read = (name: string): string | undefined => {
    try {
      return readFileSync(join(config.FETCH_HOME, name), 'utf8').trim() || undefined;
    } catch {
      return undefined;
    }
  };
  let baseUrl: string | undefined;
  try {
    baseUrl = (JSON.parse(read('run.json') ?? '{}') as { urls?: { runtime?: string } }).urls?.runtime;
  } catch {
    // being written, or torn by a crash; the configured address will do
  }
  baseUrl ??= urlsOf(config).runtime;
  const token = config.runtimeToken ?? read('runtime-token');
  if (!token)
    throw new Error(
      `Nothing was started with ${config.FETCH_HOME} yet: it has no token. Start it with "fetch start", or name another home with FETCH_HOME.`,
    );
  return { baseUrl, token };
}

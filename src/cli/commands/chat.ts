import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../config.ts';
import { ApiClient } from '../chat/api-client.ts';
import { ApiError, reasonOf } from '../chat/api-request.ts';
import { chat } from '../chat/chat.ts';
import type { ChatOptions } from '../chat/options.ts';

/** `fetch chat`: connects this terminal to a running instance. Throws an Error whose message is for a person. */
export async function run(config: Config): Promise<void> {
  const { baseUrl, token } = runningInstance(config);
  try {
    await new ApiClient({ baseUrl, token }).consoleThread(AbortSignal.timeout(10_000));
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) {
      throw new Error(
        `${baseUrl} refused the token. It is in ${join(config.FETCH_HOME, 'runtime-token')}, or set FETCH_RUNTIME_TOKEN to the one that the server was started with.`,
      );
    }
    throw new Error(`No Fetch answers at ${baseUrl}: ${reasonOf(error)}. Start one with "fetch start", or look at "fetch status".`);
  }
  await chat({ baseUrl, token, home: config.FETCH_HOME, offer: whatsappOf(config) });
}

/** Links WhatsApp beside a chat with the running instance of this home. */
export const whatsappOf =
  (config: Config): NonNullable<ChatOptions['offer']> =>
  async (...beside) => {
    // loaded only when asked for, so that a chat begins at once
    const [{ offerPairing }, { whatsappClientOf }] = await Promise.all([import('./pair.ts'), import('../setup/whatsapp-client.ts')]);
    return offerPairing(await whatsappClientOf(config), ...beside);
  };

/** Address and token of this home's running instance. */
function runningInstance(config: Config): { baseUrl: string; token: string } {
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
  // an address to listen on may not be one to connect to
  const host = config.FETCH_HOST === '0.0.0.0' || config.FETCH_HOST === '::' ? '127.0.0.1' : config.FETCH_HOST;
  baseUrl ??= `http://${host.includes(':') ? `[${host}]` : host}:${config.FETCH_RUNTIME_PORT}`;
  const token = config.runtimeToken ?? read('runtime-token');
  if (!token)
    throw new Error(
      `There is no token in ${join(config.FETCH_HOME, 'runtime-token')}, so nothing has been started with this home. Start it with "fetch start", or name another home with FETCH_HOME.`,
    );
  return { baseUrl, token };
}

import { join } from 'node:path';
import { ApiClient, reasonOf } from '../../client/api-client.ts';
import type { Config } from '../../config.ts';
import { ApiError } from '../../domain/api-error.ts';
import { chat } from '../chat/chat.ts';
import type { ChatOptions } from '../chat/input/session.ts';
import { runningInstance } from '../instance/urls.ts';

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
    throw new Error(
      `No Fetch answers at ${baseUrl}: ${reasonOf(error)}. Start one with "fetch start", or look at "fetch status".`,
    );
  }
  await chat({ baseUrl, token, home: config.FETCH_HOME, offer: whatsappOf(config) });
}

/** Links WhatsApp beside a chat with the running instance of this home. */
export const whatsappOf =
  (config: Config): NonNullable<ChatOptions['offer']> =>
  async (...beside) => {
    // loaded only when asked for, so that a chat begins at once
    const [{ offerPairing }, { whatsappClientOf }] = await Promise.all([
      import('./whatsapp/pair.ts'),
      import('./whatsapp/whatsapp-client.ts'),
    ]);
    return offerPairing(await whatsappClientOf(config), ...beside);
  };

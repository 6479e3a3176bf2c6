import type { Server } from '../chat/api-request.ts';
import { logReporter } from '../instance/progress.ts';
import { ensureToken } from '../instance/tokens.ts';
import { type Call, ensureUp } from './background.ts';

const say = (mark: string) => (text: string) => void process.stderr.write(`${mark}${text}\n`);
/** Standard output belongs to the protocol that the program speaks. */
const onStderr = logReporter({ info: say(''), warn: say('! ') });

/** The running instance of this home, for a program that speaks a protocol on standard output. It is started in the background where none runs. */
export async function serverOf(call: Call, signal: AbortSignal): Promise<Server> {
  const { config, state } = await ensureUp(call, onStderr, signal);
  return { baseUrl: state.urls.runtime, token: ensureToken(config.FETCH_HOME, 'runtime-token', config.runtimeToken) };
}

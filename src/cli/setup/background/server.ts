import { setTimeout as pause } from 'node:timers/promises';
import type { Server } from '../../../client/api-client.ts';
import { ApiError } from '../../../domain/api-error.ts';
import { ensureToken } from '../../instance/home/home.ts';
import { logReporter } from '../../instance/progress.ts';
import { type Call, ensureUp } from './background.ts';

const say = (mark: string) => (text: string) => void process.stderr.write(`${mark}${text}\n`);
/** Standard output belongs to the protocol that the program speaks. */
const onStderr = logReporter({ info: say(''), warn: say('! ') });

/** How long a request is repeated while the instance starts again, or one of its roles does. */
const PATIENCE_MS = 60_000;
const MOST_DELAY_MS = 2_000;

/**
 * The running instance of this home, for a program that speaks a protocol on standard output. It is started in the
 * background where none runs.
 */
export class FoundServer {
  readonly #call: Call;
  readonly #signal: AbortSignal;
  #server: Promise<Server> | null = null;

  /** `signal`: what is being started for nothing is ended */
  constructor(call: Call, signal: AbortSignal) {
    this.#call = call;
    this.#signal = signal;
  }

  find(): Promise<Server> {
    this.#server ??= this.#up().catch((error) => {
      this.#server = null;
      throw error;
    });
    return this.#server;
  }

  /** Works with the server, again after a failure that may pass. `work` must be repeatable. */
  async patiently<T>(work: (server: Server) => Promise<T>): Promise<T> {
    const end = Date.now() + PATIENCE_MS;
    for (let attempt = 1; ; attempt++) {
      const server = await this.find();
      try {
        return await work(server);
      } catch (error) {
        if ((error instanceof ApiError && !error.passing) || Date.now() > end || this.#signal.aborted) throw error;
        // somebody may have stopped it
        if (!(error instanceof ApiError)) this.#server = null;
        await pause(Math.min(MOST_DELAY_MS, 100 * 2 ** attempt));
      }
    }
  }

  async #up(): Promise<Server> {
    const { config, state } = await ensureUp(this.#call, onStderr, this.#signal);
    return { baseUrl: state.urls.runtime, token: ensureToken(config.FETCH_HOME, 'runtime-token', config.runtimeToken) };
  }
}

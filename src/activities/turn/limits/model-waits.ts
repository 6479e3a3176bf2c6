import type { Model, ModelError } from '../../../adapters/model/model.ts';
import type { ThinkInput } from '../../../contracts/conversation.ts';
import type { Preferences } from '../../../domain/chat/preferences.ts';
import type { Patience, PatienceLimits, Verdict } from '../../../domain/model/patience.ts';
import { cut } from '../../../domain/text/storable.ts';
import { languageOf } from '../../../domain/texts/language.ts';
import { type Say, sayIn } from '../../../domain/texts/say.ts';
import { clockTime, HOUR } from '../../../domain/time.ts';
import { signalArrival } from '../../../gateway/intake/signal.ts';
import { endWaits, type ModelWait, noteWait } from '../../../store/turns/steps/model-waits.ts';
import type { ActivityDeps } from '../../activity-deps.ts';
import { AtLimit, LOOK_MS } from './shared-limits.ts';

export const patienceLimits = ({ config }: Pick<ActivityDeps, 'config'>): PatienceLimits => ({
  silenceMs: config.FETCH_MODEL_SILENCE_SECONDS * 1_000,
  waitMs: config.FETCH_MODEL_WAIT_HOURS * HOUR,
});

const REASON_CHARS = 160;

/**
 * What one attempt of a model step tells people about its wait for the model: on screens, in the chat and in `status`.
 */
export class ModelWaits {
  /** of the chat */
  preferences: Preferences = {};
  readonly #deps: ActivityDeps;
  readonly #input: ThinkInput;
  readonly #givenUpAt: Date;
  readonly #tellMs: number;
  #silent = false;
  #noting: Promise<void> = Promise.resolve();

  /** @param before what earlier attempts of the step used up */
  constructor(deps: ActivityDeps, input: ThinkInput, before: Patience) {
    this.#deps = deps;
    this.#input = input;
    this.#tellMs = deps.config.FETCH_MODEL_TELL_SECONDS * 1_000;
    this.#givenUpAt = new Date(Date.now() + Math.max(0, patienceLimits(deps).silenceMs - before.triedMs));
  }

  /** The model, wrapped so that people are told when a request gets no answer for a while. */
  watched(): Model {
    const { model } = this.#deps;
    return {
      ...model,
      complete: async (request) => {
        const timer = setTimeout(() => this.#tellSilence(), this.#tellMs);
        try {
          return await model.complete({ ...request, onPart: () => void timer.refresh() });
        } finally {
          clearTimeout(timer);
        }
      },
    };
  }

  /** Tells about the wait after a failed attempt, if it is long enough. */
  async failed(verdict: Exclude<Verdict, { what: 'give up' }>, error: ModelError): Promise<void> {
    await this.#noting;
    const { waitMs, next, what } = verdict;
    if ((what === 'limit' ? next.waitedMs : next.triedMs) < this.#tellMs) return;
    // another one is asking at this moment
    if (error instanceof AtLimit && error.held && waitMs <= 2 * LOOK_MS) return;
    const opens = new Date(Date.now() + waitMs);
    if (what === 'silence') {
      const why = cut(error.message.replace(/\s+/g, ' '), REASON_CHARS);
      const silent = this.#say('wait.silent', { host: this.#host, time: this.#time(this.#givenUpAt) });
      const tell = `${silent} ${this.#say('failure.said', { words: why })}`;
      return await this.#note({
        kind: 'silence',
        what: `the model at ${this.#host}, which gives no answer`,
        until: this.#givenUpAt,
        tell,
      });
    }
    const time = this.#time(opens);
    const named = error instanceof AtLimit ? error.named : error.retryAfterMs !== undefined;
    const tell = this.#say(named ? 'wait.limit' : 'wait.slow', { host: this.#host, time });
    await this.#note({ kind: 'limit', what: `the model's rate limit until ${time}`, until: opens, tell });
  }

  /** An answer arrived. `waited`: earlier attempts told people about a wait. */
  async answered(waited: boolean): Promise<void> {
    await this.#noting;
    if (waited || this.#silent) await endWaits(this.#deps.db, this.#input.turnId).catch(() => {});
  }

  /** When the limit opens, if the endpoint said so and the step does not wait for it. */
  opening(error: ModelError): string {
    return error.retryAfterMs === undefined
      ? ''
      : `at its limit until ${this.#time(new Date(Date.now() + error.retryAfterMs))}. `;
  }

  get #say(): Say {
    return sayIn(languageOf(this.preferences));
  }

  #tellSilence(): void {
    if (this.#silent) return;
    this.#silent = true;
    const seconds = this.#deps.config.FETCH_MODEL_TELL_SECONDS;
    const time = this.#time(this.#givenUpAt);
    this.#noting = this.#note({
      kind: 'silence',
      what: `the model at ${this.#host}, which says nothing, until ${time}`,
      until: this.#givenUpAt,
      tell: this.#say('wait.long', { host: this.#host, seconds, time }),
    });
  }

  /** A failure to tell does not fail the step; if the store is away, the step finds that out itself. */
  async #note(wait: ModelWait): Promise<void> {
    const { db } = this.#deps;
    try {
      const told = await noteWait(db, this.#input, wait);
      // if the signal fails, the sweeper finds the row
      if (told) await signalArrival(this.#deps, told);
    } catch {}
  }

  get #host(): string {
    return new URL(this.#deps.model.baseUrl).host;
  }

  #time(at: Date): string {
    return clockTime(at, this.preferences.timeZone ?? this.#deps.config.FETCH_TIME_ZONE);
  }
}

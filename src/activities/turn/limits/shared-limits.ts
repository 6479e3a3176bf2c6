import { type Model, ModelError } from '../../../adapters/model/model.ts';
import type { Db } from '../../../store/postgres/database.ts';
import {
  forgetLimit,
  type KnownLimit,
  type Limited,
  limitedAt,
  mayProbeLimit,
  mayTryLimit,
  noteLimit,
} from '../../../store/turns/limits.ts';

/** How long others wait for the first answer after a limit. */
const TRY_MS = 30_000;
/** How often they look. */
export const LOOK_MS = 1_000;

/** A model at its limit, until a time that all chats and coding tasks of its account know. */
export class AtLimit extends ModelError {
  /** the endpoint said until when */
  readonly named: boolean;
  /** others have met the limit, and the endpoint was not asked */
  readonly held: boolean;

  constructor(
    message: string,
    details: { retryAfterMs: number; named: boolean; held: boolean; status?: number | undefined },
  ) {
    const { retryAfterMs, status } = details;
    super('ModelRateLimited', message, { retryAfterMs, ...(status !== undefined && { status }) });
    this.name = 'AtLimit';
    this.named = details.named;
    this.held = details.held;
  }
}

/**
 * What one attempt of a model step shares with all others about limits: while one lasts, it does not ask. When it is
 * over, one of all asks first. An overload is not shared with chats: it may end at any moment, and a person is waiting.
 */
export class SharedLimits {
  readonly #db: Db;
  readonly #known: Map<string, KnownLimit>;
  readonly #probes: boolean;

  /**
   * @param known what was known when the step was loaded @param options.probes may ask, now and then, while a limit
   * lasts
   */
  constructor(db: Db, known: Record<string, KnownLimit>, { probes }: { probes: boolean }) {
    this.#db = db;
    this.#known = new Map(Object.entries(known).filter(([, { kind }]) => kind !== 'overload'));
    this.#probes = probes;
  }

  /** The model, wrapped so that a known limit costs no request. Where none is known, nothing is read or written. */
  watched(model: Model): Model {
    return {
      ...model,
      complete: async (request) => {
        const at = limitedAt(model.account, request.model);
        await this.#admit(at);
        try {
          const answer = await model.complete({
            ...request,
            // the others need not wait for the end of a long answer
            onPart: () => {
              this.#opened(at);
              request.onPart?.();
            },
          });
          this.#opened(at);
          return answer;
        } catch (error) {
          throw await this.#refused(at, error);
        }
      },
    };
  }

  /** A store that does not answer holds nobody up. */
  async #admit(at: Limited): Promise<void> {
    const known = this.#known.get(at.model);
    if (!known) return;
    const { named, opensInMs } = known;
    const over = opensInMs <= 0;
    if (over && (await mayTryLimit(this.#db, at, TRY_MS).catch(() => true))) return;
    if (!over && this.#probes && (await mayProbeLimit(this.#db, at).catch(() => false))) return;
    throw new AtLimit('Another chat or task has met this limit.', {
      retryAfterMs: over ? LOOK_MS : opensInMs,
      named,
      held: true,
    });
  }

  #opened(at: Limited): void {
    if (this.#known.delete(at.model)) void forgetLimit(this.#db, at).catch(() => {});
  }

  async #refused(at: Limited, error: unknown): Promise<unknown> {
    if (!(error instanceof ModelError)) return error;
    if (error.type !== 'ModelRateLimited') {
      // any other word of the endpoint shows that the limit is over
      if (error.status !== undefined && error.status < 500) this.#opened(at);
      return error;
    }
    const noted = await noteLimit(this.#db, at, { kind: 'limit', namedMs: error.retryAfterMs ?? null }).catch(
      () => null,
    );
    if (!noted) return error;
    return new AtLimit(error.message, {
      retryAfterMs: noted.opensInMs,
      named: noted.named,
      held: false,
      status: error.status,
    });
  }
}

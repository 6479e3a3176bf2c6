import { setTimeout as pause } from 'node:timers/promises';
import type { KnownLimit, Limited, Refused } from '../../../../store/turns/limits.ts';
import { classify } from '../../../model/request/classify.ts';
import type { Refusal } from './errors.ts';

/** Limits that the tasks of all hosts have met, for one task. */
export interface LimitStore {
  known(at: Limited): Promise<KnownLimit | null>;
  mayTry(at: Limited, forMs: number): Promise<boolean>;
  /** the endpoint refused */
  refused(at: Limited, refused: Refused): Promise<void>;
  /** the gate refused in its place */
  held(limit: KnownLimit): Promise<void>;
  /** the endpoint answered; `wasLimited`: after a limit */
  answered(at: Limited, wasLimited: boolean): Promise<void>;
}

/** The answer of an endpoint that is no success. */
export interface RefusedCall {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

/** Limits as one task meets them: calls that could only be refused are not made, so ten tasks do not ask ten times. */
export interface Limits {
  /** Null when the call may be made. Right after the end of a limit, one task asks first. */
  check(at: Limited, signal: AbortSignal): Promise<Refusal | null>;
  /** Records a refusal, if it is one that waiting helps against; any other is an answer. */
  refused(at: Limited, answer: RefusedCall): Promise<void>;
  answered(at: Limited): void;
}

/** How long others wait for the answer to the first call after a limit. */
const TRY_MS = 30_000;
const LOOK_MS = 500;
/** How long a store that does not answer is tried. */
const STORE_MS = 30_000;
/** Statuses by which endpoints report limits and overload; an account without credit has some of them, too. */
const LIMIT_STATUSES: ReadonlySet<number> = new Set([402, 429, 503, 529]);
export const maySayLimit = (status: number): boolean => LIMIT_STATUSES.has(status);

export function createLimits(store: LimitStore): Limits {
  const limited = new Set<string>();
  // an answer that becomes a refusal is stored in this order
  let storing: Promise<void> = Promise.resolve();
  let wasRefused = false;
  const keyOf = ({ account, model }: Limited) => `${account} ${model}`;

  const answered = (at: Limited): void => {
    const wasLimited = limited.delete(keyOf(at));
    if (!wasLimited && !wasRefused) return;
    wasRefused = false;
    storing = store.answered(at, wasLimited).catch(() => {});
  };

  return {
    answered,
    async check(at, signal) {
      for (const deadline = Date.now() + TRY_MS; ; await pause(LOOK_MS, undefined, { signal })) {
        const known = await store.known(at).catch(() => null);
        if (!known) return null;
        limited.add(keyOf(at));
        if (known.opensInMs > 0) {
          wasRefused = true;
          await stored(() => store.held(known));
          return limitRefusal(known.opensInMs);
        }
        if (Date.now() >= deadline || (await store.mayTry(at, TRY_MS).catch(() => true))) return null;
      }
    },
    async refused(at, answer) {
      const refused = limitIn(answer);
      if (!refused) return answered(at);
      limited.add(keyOf(at));
      wasRefused = true;
      await storing;
      await stored(() => store.refused(at, refused));
    },
  };
}

/**
 * An agent that hears of a refusal may end at once: what its task waits for must be on record by then. A store that
 * stays away stops nobody.
 */
async function stored(write: () => Promise<void>): Promise<void> {
  for (const deadline = Date.now() + STORE_MS; ; await pause(LOOK_MS)) {
    try {
      return await write();
    } catch {
      if (Date.now() >= deadline) return;
    }
  }
}

const limitRefusal = (opensInMs: number): Refusal => {
  const seconds = Math.ceil(opensInMs / 1_000);
  return { status: 429, message: `The model is at its limit. Try again in ${seconds} seconds.`, retryAfterS: seconds };
};

/** The limit that an answer tells of; null for anything that waiting does not help against. */
export function limitIn({ status, headers, text }: RefusedCall): Refused | null {
  const get = (name: string): string | null => {
    const value = headers[name];
    return value === undefined ? null : String(value);
  };
  const error = classify({ status, headers: { get }, error: errorOf(text), message: text.slice(0, 2_000) });
  const namedMs = error.retryAfterMs ?? null;
  if (error.type === 'ModelRateLimited') return { kind: 'limit', namedMs };
  return error.type === 'ModelUnavailable' ? { kind: 'overload', namedMs } : null;
}

function errorOf(text: string): unknown {
  try {
    const body: unknown = JSON.parse(text);
    const first: unknown = Array.isArray(body) ? body[0] : body;
    return (first as { error?: unknown } | null)?.error ?? first;
  } catch {
    return undefined;
  }
}

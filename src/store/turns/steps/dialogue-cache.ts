import { LRUCache } from 'lru-cache';
import type { Called, DialogueMessage } from '../../../domain/chat/context/context.ts';
import { perDatabase } from '../../postgres/per-database.ts';

/**
 * The part of a thread's dialogue that can no longer change: messages of finished turns, since the last summary. Never
 * changed, except that `calls` grows.
 */
export interface Settled {
  summary: string | null;
  /** everything up to this `ord` is in the summary */
  upto: number;
  /** the `ord` up to which the store was read; 0: nothing is known */
  last: number;
  messages: readonly DialogueMessage[];
  calls: Map<string, Called>;
  bytes: number;
}

const UNKNOWN: Settled = { summary: null, upto: 0, last: 0, messages: [], calls: new Map(), bytes: 0 };

/** Memory that a process may use for dialogues, as `bytesOf` counts it. */
const LIMIT = 32 * 2 ** 20;

/** Size of a message or a call besides its text, with what is built of it for a request. */
const OBJECT = 700;

/** Rough memory of a message and its calls, whose text is kept as it is and as JSON. */
export const bytesOf = (message: DialogueMessage, calls: readonly Called[]): number =>
  OBJECT +
  message.content.length * 2 +
  (message.state ? JSON.stringify(message.state).length * 2 : 0) +
  calls.reduce((sum, call) => sum + OBJECT + (call.output?.length ?? 0) * 2 + JSON.stringify(call.args).length * 2, 0);

/** The most recently used dialogues, up to a number of bytes. */
class DialogueCache {
  readonly #threads = new LRUCache<string, Settled>({ maxSize: LIMIT, sizeCalculation: ({ bytes }) => bytes });

  get(threadId: string): Settled {
    return this.#threads.get(threadId) ?? UNKNOWN;
  }

  /** `from`: the dialogue that it extends. If another reader was faster, that reader's stays. */
  put(threadId: string, settled: Settled, from: Settled): void {
    if (settled.bytes > 0 && this.get(threadId) === from) this.#threads.set(threadId, settled);
  }
}

export const dialogueCache = perDatabase(() => new DialogueCache());

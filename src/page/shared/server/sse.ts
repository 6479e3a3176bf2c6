import { serverSentData } from '../../../client/event-stream.ts';
import { ApiError } from '../../../domain/api-error.ts';
import { Store } from '../store.ts';
import { refusal } from './http.ts';

/** `refused`: the server answers, and wants a new link. */
type Connection = 'connecting' | 'open' | 'lost' | 'refused';

export const connection = new Store<Connection>('connecting');

/** streams that have no connection now */
const broken = new Set<AbortSignal>();

function connectionOpen(stream: AbortSignal): void {
  broken.delete(stream);
  if (broken.size === 0) connection.set('open');
}

/** Nobody wants this stream any more, so it says nothing about the connection. */
function connectionEnded(stream: AbortSignal): void {
  const counted = broken.delete(stream);
  if (counted && broken.size === 0) connection.set('open');
}

function connectionLost(stream: AbortSignal, error: unknown): void {
  broken.add(stream);
  connection.set(error instanceof ApiError && error.status === 401 ? 'refused' : 'lost');
}

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 5_000;
/** The server sends a comment every 15 s. After this silence a connection counts as dead; ms. */
const SILENCE_MS = 40_000;

interface Following {
  /** called before each connection, so that it goes on after the last event */
  address(): string;
  onData(data: unknown): void;
  /** a connection is open; what it leaves out has to be read now */
  onOpen?(): void;
  signal: AbortSignal;
}

/**
 * Follows a stream of server-sent events, over broken connections and restarts of the server, until the signal aborts.
 * @throws ApiError when the server refuses it for another reason than an ended session, for which a new link in another
 * tab is enough
 */
export async function follow(following: Following): Promise<void> {
  const { signal } = following;
  try {
    for (let attempt = 1; !signal.aborted; attempt++) {
      const opened = await connect(following);
      if (signal.aborted) return;
      if (opened) attempt = 1;
      await pause(backoffMs(attempt, Math.random()), signal);
    }
  } finally {
    connectionEnded(signal);
  }
}

/** One connection, from its beginning to its end. Returns whether there was one. */
async function connect({ address, signal, onData, onOpen }: Following): Promise<boolean> {
  let opened = false;
  try {
    await readStream(address(), signal, onData, () => {
      opened = true;
      connectionOpen(signal);
      onOpen?.();
    });
  } catch (error) {
    if (signal.aborted) return opened;
    connectionLost(signal, error);
    if (error instanceof ApiError && !error.passing && error.status !== 401) throw error;
    return opened;
  }
  if (!signal.aborted) connectionLost(signal, null);
  return opened;
}

async function readStream(
  address: string,
  outer: AbortSignal,
  onData: (data: unknown) => void,
  opened: () => void,
): Promise<void> {
  const connection = new AbortController();
  const stop = () => connection.abort();
  outer.addEventListener('abort', stop, { once: true });
  let watchdog = setTimeout(stop, SILENCE_MS);
  try {
    const response = await fetch(address, {
      headers: { accept: 'text/event-stream' },
      signal: connection.signal,
      cache: 'no-store',
    });
    if (!response.ok || !response.body) throw await refusal(response);
    opened();
    const alive = () => {
      clearTimeout(watchdog);
      watchdog = setTimeout(stop, SILENCE_MS);
    };
    for await (const data of serverSentData(response.body, alive)) onData(JSON.parse(data));
  } finally {
    clearTimeout(watchdog);
    outer.removeEventListener('abort', stop);
    connection.abort();
  }
}

/** Ends early when the network is back or somebody looks again. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      for (const name of ['online', 'focus'] as const) removeEventListener(name, done);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    for (const name of ['online', 'focus'] as const) addEventListener(name, done);
    signal.addEventListener('abort', done);
  });
}

/**
 * The wait before the next attempt to connect; ms. `chance` (0 to 1) keeps many pages from coming back at the same
 * moment.
 */
export const backoffMs = (attempt: number, chance: number): number =>
  Math.round(Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(attempt - 1, 10)) * (0.75 + chance / 2));

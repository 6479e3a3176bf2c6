import { serverSentData } from '../../../client/event-stream.ts';
import { ApiError } from '../../../domain/api-error.ts';
import { Store } from '../store.ts';
import { refusal } from './http.ts';
import { untilWoken } from './wake.ts';

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
/** The first attempt has this long to be answered, and each further one twice as long as the one before; ms. */
const ANSWER_MS = 1_500;
/** So many attempts may wait in vain before that is told: a browser first tries the dead connections that it kept. */
const QUIET_ATTEMPTS = 2;
/** Why a connection ended that may be dead: the next one is tried at once. */
const STALE = new Error('nothing comes any more');

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
      const ended = await connect(following, attempt);
      if (signal.aborted) return;
      if (ended !== 'failed') attempt = ended === 'stale' ? 0 : 1;
      if (ended !== 'stale') await pause(backoffMs(attempt, Math.random()), signal);
    }
  } finally {
    connectionEnded(signal);
  }
}

/** One connection, from its beginning to its end. `failed`: there was none. `stale`: it may be dead, which is no news. */
async function connect(following: Following, attempt: number): Promise<'failed' | 'ended' | 'stale'> {
  const { signal, onOpen } = following;
  let opened = false;
  try {
    await readStream(following, Math.min(SILENCE_MS, ANSWER_MS * 2 ** (attempt - 1)), () => {
      opened = true;
      connectionOpen(signal);
      onOpen?.();
    });
  } catch (error) {
    if (opened && error === STALE) return 'stale';
    if (signal.aborted) return opened ? 'ended' : 'failed';
    if (error !== STALE || attempt > QUIET_ATTEMPTS) connectionLost(signal, error);
    if (error instanceof ApiError && !error.passing && error.status !== 401) throw error;
    return opened ? 'ended' : 'failed';
  }
  if (!signal.aborted) connectionLost(signal, null);
  return 'ended';
}

async function readStream(
  { address, signal: outer, onData }: Following,
  answerMs: number,
  opened: () => void,
): Promise<void> {
  const connection = new AbortController();
  const stop = () => connection.abort();
  const doubt = () => connection.abort(STALE);
  const woken = untilWoken();
  outer.addEventListener('abort', stop, { once: true });
  woken.addEventListener('abort', doubt, { once: true });
  let watchdog = setTimeout(doubt, answerMs);
  try {
    const response = await fetch(address(), {
      headers: { accept: 'text/event-stream' },
      signal: connection.signal,
      cache: 'no-store',
    });
    if (!response.ok || !response.body) throw await refusal(response);
    opened();
    const alive = () => {
      clearTimeout(watchdog);
      watchdog = setTimeout(doubt, SILENCE_MS);
    };
    alive();
    for await (const data of serverSentData(response.body, alive)) onData(JSON.parse(data));
  } catch (error) {
    throw connection.signal.aborted ? connection.signal.reason : error;
  } finally {
    clearTimeout(watchdog);
    outer.removeEventListener('abort', stop);
    woken.removeEventListener('abort', doubt);
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

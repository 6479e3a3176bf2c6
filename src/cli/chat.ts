import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { type Config, fetchHome } from '../config.ts';
import { ApiError, apiClient, reasonOf } from './api-client.ts';
import { loadHistory, rememberLine } from './chat-history.ts';
import { createScreen } from './chat-screen.ts';
import { scripted } from './chat-script.ts';
import { ChatView } from './chat-view.ts';

/** Something that is offered once beside the chat and can be left with /skip. */
export interface ChatOffer {
  pending(): boolean;
  /** the person has begun to write: what was offered is not shown again and again */
  hush(): void;
  skip(): Promise<void>;
}

export interface ChatOptions {
  /** of the runtime API, for example http://127.0.0.1:7878 */
  baseUrl: string;
  token: string;
  input?: Readable & { isTTY?: boolean };
  output?: Writable & { isTTY?: boolean; columns?: number };
  /** called once, when the chat has ended */
  onLeave?: () => void;
  /** where the history of typed lines lies; FETCH_HOME by default */
  home?: string;
  /** show what the model thinks, dimmed */
  reasoning?: boolean;
  /** begins an offer beside the chat; `print` writes above the line that is being typed */
  offer?: (print: (text: string) => void, signal: AbortSignal) => ChatOffer;
  /** ends the chat from outside */
  signal?: AbortSignal;
}

const AGAIN_MS = 2_000;

/**
 * The chat of this machine's terminal; resolves when the person leaves. Without a terminal it reads lines, answers each
 * before it sends the next, and ends after the last answer. Throws ApiError when the server refuses us.
 */
export async function chat(options: ChatOptions): Promise<void> {
  const input = options.input ?? process.stdin;
  const output = options.output ?? process.stdout;
  const home = options.home ?? fetchHome();
  const api = apiClient(options);
  const leaving = new AbortController();
  const signal = options.signal ? AbortSignal.any([leaving.signal, options.signal]) : leaving.signal;
  const screen = createScreen({ input, output, history: input.isTTY ? loadHistory(home) : [] });
  const view = new ChatView(screen, { reasoning: options.reasoning });
  const ticker = setInterval(() => view.tick(), 1_000);
  const leave = () => leaving.abort();
  const backlog: string[] = [];
  let take = (line: string): void => void backlog.push(line);
  screen.lines.on('line', (line) => take(line));
  // a chat that is still connecting can be left, too
  screen.lines.on('SIGINT', leave);
  if (screen.interactive) screen.lines.on('close', leave);
  const inputEnded = new Promise<void>((resolve) => screen.lines.once('close', resolve));

  try {
    const thread = await untilReached(
      () => api.consoleThread(signal),
      signal,
      () => view.note('connecting…'),
    );
    const detail = await untilReached(
      () => api.detail(thread.id, signal),
      signal,
      () => view.note('connecting…'),
    );
    view.attach(detail);

    let lost = false;
    const following = (async () => {
      for await (const event of api.events(thread.id, detail.latest_seq, signal, (state) => {
        if (state === 'reconnecting' && !lost) view.note('reconnecting…');
        if (state === 'connected' && lost) view.note('connected again');
        lost = state === 'reconnecting';
      })) {
        view.handle(event);
      }
    })();

    /** false when the server refused the message */
    const send = async (text: string): Promise<boolean> => {
      view.expectEcho(text);
      let told = false;
      try {
        const said = await api.say(thread.id, text, randomUUID(), {
          signal,
          onWait: ({ attempt, reason }) => {
            if (attempt > 1 && !told) view.note(`not delivered yet (${reason}); trying until it is`);
            told ||= attempt > 1;
          },
        });
        if (told) view.note('delivered');
        // answers and commands do not come back as messages
        if (said.kind === 'answer' || said.kind === 'stop') view.dropEcho(text);
        return true;
      } catch (error) {
        view.dropEcho(text);
        if (!signal.aborted) view.problem(`Not taken: ${reasonOf(error)}`);
        return false;
      }
    };

    if (!screen.interactive) {
      const script = scripted({ view, send, detail: () => api.detail(thread.id, signal), leave });
      take = script.line;
      for (const line of backlog.splice(0)) take(line);
      void inputEnded.then(script.end);
    } else {
      let queue: Promise<unknown> = Promise.resolve();
      const offer = options.offer?.((text) => screen.print(text), signal);
      take = (line) => {
        const text = line.trim();
        rememberLine(home, line);
        if (text === '/quit' || text === '/exit') return leave();
        if (text === '/skip' && offer?.pending()) return void offer.skip().catch((error) => view.problem(`Could not skip it: ${reasonOf(error)}`));
        if (text !== '') offer?.hush();
        // one after the other: messages arrive in the order they were written, also when the first has to be repeated
        if (text !== '') queue = queue.then(() => send(text));
      };
      screen.lines.off('SIGINT', leave);
      screen.lines.on('SIGINT', interruptOrLeave());
      for (const line of backlog.splice(0)) take(line);
    }

    function interruptOrLeave(): () => void {
      let last = Number.NEGATIVE_INFINITY;
      return () => {
        const now = performance.now();
        if (now - last < AGAIN_MS) return leave();
        last = now;
        const turnId = [...view.running.turns.keys()].at(-1);
        if (turnId !== undefined) {
          view.note('interrupting… (Ctrl-C again leaves)');
          api.interrupt(thread.id, turnId, signal).catch((error) => {
            // 409: it has ended in the meantime, which is what was wanted
            if (!signal.aborted && !(error instanceof ApiError && error.status === 409)) view.problem(`Could not interrupt: ${reasonOf(error)}`);
          });
        } else {
          if (screen.lines.line !== '') screen.lines.write(null, { ctrl: true, name: 'e' });
          screen.lines.write(null, { ctrl: true, name: 'u' });
          view.note('(Ctrl-C again or /quit leaves)');
        }
      };
    }

    await Promise.race([following, aborted(signal)]);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    leaving.abort();
    clearInterval(ticker);
    screen.close();
    options.onLeave?.();
  }
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => (signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve(), { once: true })));

/** At the start the server may not listen yet. */
async function untilReached<T>(request: () => Promise<T>, signal: AbortSignal, onFirstWait: () => void): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await request();
    } catch (error) {
      if (signal.aborted || (error instanceof ApiError && !error.passing)) throw error;
      if (attempt === 1) onFirstWait();
      const wait = AbortSignal.any([signal, AbortSignal.timeout(Math.min(2_000, 200 * attempt))]);
      await aborted(wait);
    }
  }
}

/** `fetch chat`: attaches this terminal to a running instance. Throws an Error whose message is ready for a person. */
export async function runChat(config: Config): Promise<void> {
  const { baseUrl, token } = runningInstance(config);
  try {
    await apiClient({ baseUrl, token }).consoleThread(AbortSignal.timeout(10_000));
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) {
      throw new Error(
        `${baseUrl} refused the token. It is in ${join(config.FETCH_HOME, 'runtime-token')}, or set FETCH_RUNTIME_TOKEN to the one that the server was started with.`,
      );
    }
    throw new Error(`No Fetch answers at ${baseUrl}: ${reasonOf(error)}. Start one with "fetch start", or look at "fetch status".`);
  }
  await chat({ baseUrl, token, home: config.FETCH_HOME });
}

/** Where the instance of this home answers, and with which token. */
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
    // being written, or torn by a crash: the configured address is as good
  }
  // an address to listen on is not always one to connect to
  const host = config.FETCH_HOST === '0.0.0.0' || config.FETCH_HOST === '::' ? '127.0.0.1' : config.FETCH_HOST;
  baseUrl ??= `http://${host.includes(':') ? `[${host}]` : host}:${config.FETCH_RUNTIME_PORT}`;
  const token = config.runtimeToken ?? read('runtime-token');
  if (!token)
    throw new Error(
      `There is no token in ${join(config.FETCH_HOME, 'runtime-token')}, so nothing has been started with this home. Start it with "fetch start", or name another home with FETCH_HOME.`,
    );
  return { baseUrl, token };
}

import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, fetchHome } from '../../config.ts';
import type { ItemRecord } from '../../contracts/records.ts';
import type { Displayed } from '../../intake/answers.ts';
import { type ApiClient, ApiError, apiClient, reasonOf, type ThreadDetail } from './api-client.ts';
import { asksForWhatsApp, greeting } from './greeting.ts';
import { loadHistory, rememberMessage } from './screen/history.ts';
import { createScreen, type ScreenInput, type ScreenOutput } from './screen/screen.ts';
import { scripted } from './script.ts';
import { seenOf } from './seen.ts';
import { ChatView } from './view.ts';

/** Something that goes on beside the chat and can be left with /skip. */
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
  input?: ScreenInput;
  output?: ScreenOutput;
  /** a terminal that knows no escape sequences; as TERM says by default */
  dumb?: boolean;
  /** called once, when the chat has ended */
  onLeave?: () => void;
  /** where the history of typed lines lies; FETCH_HOME by default */
  home?: string;
  /** show what the model thinks, dimmed */
  reasoning?: boolean;
  /** begins to link WhatsApp, when the person asks for it; `print` writes above the line that is being typed, on a screen of this size */
  offer?: (print: (text: string) => void, signal: AbortSignal, size: () => { columns: number; rows: number }) => Promise<ChatOffer>;
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
  const leave = () => leaving.abort();
  const backlog: string[] = [];
  let take = (text: string): void => void backlog.push(text);
  // a chat that is still connecting can be left, too
  let interrupt = leave;
  const inputEnded = new AbortController();
  const screen = createScreen({
    input,
    output,
    dumb: options.dumb,
    history: input.isTTY ? loadHistory(home) : [],
    onMessage: (text) => take(text),
    onInterrupt: () => interrupt(),
    onEnd() {
      inputEnded.abort();
      if (input.isTTY && output.isTTY) leave();
    },
  });
  const view = new ChatView(screen, { reasoning: options.reasoning });
  const ticker = setInterval(() => view.tick(), 1_000);
  let save = () => {};

  try {
    const thread = await untilReached(
      () => api.consoleThread(signal),
      signal,
      () => view.note('connecting…'),
    );
    const seen = input.isTTY ? seenOf(home, thread.id) : null;
    const detail = await untilReached(
      () => unseenDetail(api, thread.id, seen?.before ?? null, signal),
      signal,
      () => view.note('connecting…'),
    );
    if (screen.interactive && !detail.items.some(({ kind }) => kind === 'user_message' || kind === 'agent_message'))
      screen.print(greeting(thread.things_to_try ?? [], { whatsapp: options.offer !== undefined, colors: screen.colors }));
    view.attach(detail, seen?.before);
    const shownUpTo = (at: string | undefined) => seen?.upTo(Date.parse(at ?? '') || 0);
    for (const { ended_at, started_at } of detail.items) shownUpTo(ended_at ?? started_at);
    shownUpTo(detail.thread.updated_at);
    save = () => seen?.save();

    let lost = false;
    const following = (async () => {
      for await (const event of api.events(thread.id, detail.latest_seq, signal, (state) => {
        if (state === 'reconnecting' && !lost) view.note('reconnecting…');
        if (state === 'connected' && lost) view.note('connected again');
        lost = state === 'reconnecting';
      })) {
        view.handle(event);
        shownUpTo(event.timestamp);
        // an item may end after its event: that has the time at which its transaction began
        shownUpTo((event.payload as { item?: ItemRecord }).item?.ended_at ?? undefined);
      }
    })();

    /** false when the server refused the message */
    const send = async (text: string, displayed?: Displayed[]): Promise<boolean> => {
      view.expectEcho(text);
      let told = false;
      try {
        const said = await api.say(thread.id, text, randomUUID(), {
          signal,
          displayed,
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
      void aborted(inputEnded.signal).then(script.end);
    } else {
      let queue: Promise<unknown> = Promise.resolve();
      let offer: ChatOffer | undefined;
      take = (written) => {
        const text = written.trim();
        rememberMessage(home, text);
        if (text === '/quit' || text === '/exit') return leave();
        if (text === '/skip' && offer?.pending()) return void offer.skip().catch((error) => view.problem(`Could not skip it: ${reasonOf(error)}`));
        if (text === '') return;
        if (options.offer && asksForWhatsApp(text, view.running.isAsked)) {
          if (offer?.pending()) return view.note('WhatsApp is being linked already: scan the code above. /skip leaves it.');
          options
            .offer(
              (line) => screen.print(line),
              signal,
              () => screen.size,
            )
            .then((begun) => {
              offer = begun;
            })
            .catch((error) => view.problem(reasonOf(error)));
          return;
        }
        offer?.hush();
        // what the person has before them as they write: the message may have to wait
        const displayed = view.displayed();
        // one after the other: messages arrive in the order they were written, also when the first has to be repeated
        queue = queue.then(() => send(text, displayed));
      };
      interrupt = interruptOrLeave();
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
          screen.clearInput();
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
    save();
    screen.close();
    options.onLeave?.();
  }
}

/** The end of the thread, back to what a terminal has shown before, as far as one answer holds it. */
async function unseenDetail(api: ApiClient, threadId: string, seenAt: number | null, signal: AbortSignal): Promise<ThreadDetail> {
  const detail = await api.detail(threadId, signal);
  const oldest = Date.parse(detail.turns[0]?.created_at ?? '');
  return seenAt !== null && oldest > seenAt ? api.detail(threadId, signal, MOST_UNSEEN_TURNS) : detail;
}
const MOST_UNSEEN_TURNS = 300;

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
  await chat({ baseUrl, token, home: config.FETCH_HOME, offer: whatsappOf(config) });
}

/** Links WhatsApp beside a chat with the running instance of this home. */
export const whatsappOf =
  (config: Config): NonNullable<ChatOptions['offer']> =>
  async (...beside) => {
    // a chat is to begin at once, and few ask for this
    const [{ offerPairing }, { whatsappClientOf }] = await Promise.all([import('../commands/pair.ts'), import('../setup/whatsapp-client.ts')]);
    return offerPairing(await whatsappClientOf(config), ...beside);
  };

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

import { ApiClient, type ThreadDetail } from '../../client/api-client.ts';
import { fetchHome } from '../../config.ts';
import type { ItemRecord } from '../../contracts/records.ts';
import { ApiError } from '../../domain/api-error.ts';
import { ScriptedChat } from './input/script.ts';
import type { ChatOptions } from './input/session.ts';
import { greeting, typed } from './input/typed.ts';
import { loadHistory } from './screen/history.ts';
import { createScreen } from './screen/screen.ts';
import type { Screen } from './screen/types.ts';
import { savePictures } from './view/pictures.ts';
import { type Seen, seenOf } from './view/seen.ts';
import { ChatView } from './view/view.ts';

/** Keyboard or other input. Until the thread is ready, lines are kept and Ctrl-C leaves. */
interface Keyboard {
  take(text: string): void;
  interrupt(): void;
  /** aborts at the end of the input */
  ended: AbortSignal;
}

/**
 * The chat of this machine's terminal; resolves when the person leaves. Without a terminal it reads lines, answers each
 * before it sends the next, and ends after the last answer. Throws ApiError when the server refuses us.
 */
export async function chat(options: ChatOptions): Promise<void> {
  const home = options.home ?? fetchHome();
  const api = new ApiClient(options);
  const leaving = new AbortController();
  const signal = options.signal ? AbortSignal.any([leaving.signal, options.signal]) : leaving.signal;
  const leave = () => leaving.abort();
  const early: string[] = [];
  const { screen, keyboard } = openScreen(options, home, early, leave);
  const view = new ChatView(screen, { reasoning: options.reasoning });
  const ticker = setInterval(() => view.tick(), 1_000);
  let seen: Seen | null = null;

  try {
    const reached = <T>(request: () => Promise<T>) => untilReached(request, signal, () => view.note('connecting…'));
    const thread = await reached(() => api.consoleThread(signal));
    seen = (options.input ?? process.stdin).isTTY ? seenOf(home, thread.id) : null;
    const before = seen?.before ?? null;
    const detail = await reached(() => unseenDetail(api, thread.id, before, signal));
    if (screen.interactive && !detail.items.some(({ kind }) => kind === 'user_message' || kind === 'agent_message'))
      screen.print(
        greeting(thread.things_to_try ?? [], { whatsapp: options.offer !== undefined, colors: screen.colors }),
      );
    show(detail, view, seen);
    const pictures = (answer: string) =>
      void savePictures({ api, threadId: thread.id, home, signal }, answer, (path) =>
        view.note(`(the picture is in ${path})`),
      );
    const following = follow(api, detail, { view, seen, pictures }, signal);

    const session = { api, threadId: thread.id, screen, view, signal, leave };
    if (screen.interactive) Object.assign(keyboard, typed(session, { home, offer: options.offer }));
    else {
      const script = new ScriptedChat(session);
      keyboard.take = (text) => script.line(text);
      void aborted(keyboard.ended).then(() => script.end());
    }
    for (const line of early.splice(0)) keyboard.take(line);
    await Promise.race([following, aborted(signal)]);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    leaving.abort();
    clearInterval(ticker);
    seen?.save();
    screen.close();
    options.onLeave?.();
  }
}

function openScreen(
  options: ChatOptions,
  home: string,
  early: string[],
  leave: () => void,
): { screen: Screen; keyboard: Keyboard } {
  const { input = process.stdin, output = process.stdout, dumb } = options;
  const inputEnded = new AbortController();
  const keyboard: Keyboard = { take: (text) => void early.push(text), interrupt: leave, ended: inputEnded.signal };
  const screen = createScreen({
    input,
    output,
    dumb,
    history: input.isTTY ? loadHistory(home) : [],
    onMessage: (text) => keyboard.take(text),
    onInterrupt: () => keyboard.interrupt(),
    onEnd() {
      inputEnded.abort();
      if (input.isTTY && output.isTTY) leave();
    },
  });
  return { screen, keyboard };
}

/** Shows the part of the thread that this terminal has not shown. */
function show(detail: ThreadDetail, view: ChatView, seen: Seen | null): void {
  view.attach(detail, seen?.before);
  for (const { ended_at, started_at } of detail.items) seen?.upTo(timeOf(ended_at ?? started_at));
  seen?.upTo(timeOf(detail.thread.updated_at));
}

/** Shows what happens from then on, until the chat is left. */
async function follow(
  api: ApiClient,
  detail: ThreadDetail,
  { view, seen, pictures }: { view: ChatView; seen: Seen | null; pictures: (answer: string) => void },
  signal: AbortSignal,
): Promise<void> {
  let lost = false;
  for await (const event of api.events(detail.thread.id, detail.latest_seq, signal, (state) => {
    if (state === 'reconnecting' && !lost) view.note('reconnecting…');
    if (state === 'connected' && lost) view.note('connected again');
    lost = state === 'reconnecting';
  })) {
    view.handle(event);
    seen?.upTo(timeOf(event.timestamp));
    const { item } = event.payload as { item?: ItemRecord };
    // an item may end later than its event says, which has the start time of its transaction
    seen?.upTo(timeOf(item?.ended_at));
    if (event.event === 'item.completed' && item?.kind === 'agent_message') pictures(item.detail ?? '');
  }
}

const timeOf = (at: string | null | undefined): number => Date.parse(at ?? '') || 0;

/** The end of the thread, back to what a terminal has shown, as much as one answer holds. */
async function unseenDetail(
  api: ApiClient,
  threadId: string,
  seenAt: number | null,
  signal: AbortSignal,
): Promise<ThreadDetail> {
  const detail = await api.detail(threadId, signal);
  const oldest = Date.parse(detail.turns[0]?.created_at ?? '');
  return seenAt !== null && oldest > seenAt ? api.detail(threadId, signal, MOST_UNSEEN_TURNS) : detail;
}
const MOST_UNSEEN_TURNS = 300;

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) =>
    signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve(), { once: true }),
  );

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

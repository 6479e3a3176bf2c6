import { randomUUID } from 'node:crypto';
import { type ApiClient, reasonOf } from '../../../client/api-client.ts';
import type { Displayed } from '../../../contracts/decision.ts';
import type { Screen, ScreenInput, ScreenOutput } from '../screen/types.ts';
import type { ChatView } from '../view/view.ts';

/** An activity beside the chat, which /skip ends. */
export interface ChatOffer {
  pending(): boolean;
  /** the person has begun to write, so the offer is not repeated */
  hush(): void;
  skip(): Promise<void>;
}

export interface ChatOptions {
  /** of the runtime API, for example http://127.0.0.1:7878 */
  baseUrl: string;
  token: string;
  input?: ScreenInput;
  output?: ScreenOutput;
  /** the terminal has no escape sequences; by default as TERM says */
  dumb?: boolean;
  /** called once, when the chat has ended */
  onLeave?: () => void;
  /** folder of the history of typed lines; FETCH_HOME by default */
  home?: string;
  /** show what the model thinks, dimmed */
  reasoning?: boolean;
  /**
   * begins to link WhatsApp when the person asks for it; `print` writes above the line that is being typed, on a screen
   * of this size
   */
  offer?: (
    print: (text: string) => void,
    signal: AbortSignal,
    size: () => { columns: number; rows: number },
  ) => Promise<ChatOffer>;
  /** ends the chat from outside */
  signal?: AbortSignal;
}

/** A chat that is connected to its thread. */
export interface ChatSession {
  api: ApiClient;
  threadId: string;
  screen: Screen;
  view: ChatView;
  signal: AbortSignal;
  leave(): void;
}

/**
 * Sends a message until it is accepted; false when the server refused it. `displayed`: the questions on the screen when
 * it was written.
 */
export async function send(
  { api, threadId, view, signal }: ChatSession,
  text: string,
  displayed?: Displayed[],
): Promise<boolean> {
  view.expectEcho(text);
  let told = false;
  try {
    const said = await api.say(threadId, text, randomUUID(), {
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
}

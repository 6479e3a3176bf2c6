import { randomUUID } from 'node:crypto';
import type { ApiClient } from '../../../client/api-client.ts';
import { reasonOf } from '../../../client/api-request.ts';
import type { Displayed } from '../../../contracts/decision.ts';
import type { Screen } from '../screen/types.ts';
import type { ChatView } from '../view/view.ts';

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

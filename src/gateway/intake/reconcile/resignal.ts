import type { Arrival } from '../../../contracts/conversation.ts';
import { arrivalOf, type Unsignalled, unsignalled } from '../../../store/chats/messages/inbox.ts';
import { type IntakeDeps, isServerAway, signalArrival } from '../signal.ts';

/** Where the last round stopped, so that failing rows do not block the rows behind them. */
export interface Resignalling {
  after: Unsignalled | null;
}

/** Chats that are signalled in parallel. The rows of one chat go in order. */
const PARALLEL = 8;

/**
 * Signals rows whose signal was lost in a crash. At most `limit` at a time, so that a backlog does not delay new
 * messages.
 */
export async function resignal(
  deps: IntakeDeps,
  at: Resignalling = { after: null },
  olderThanMs = 2000,
  limit = 50,
): Promise<number> {
  const rows = await unsignalled(deps.db, olderThanMs, limit, at.after);
  at.after = rows.length === limit ? rows.at(-1)! : null;
  let found = 0;
  let failure: Error | undefined;
  const chats = [...Map.groupBy(rows, (row) => row.chatId).values()];
  const lane = async () => {
    for (let chat = chats.shift(); chat; chat = chats.shift()) {
      try {
        for (const { id } of chat) if (await signalRow(deps, id)) found += 1;
      } catch (error) {
        if (isServerAway(error)) throw error;
        failure = error as Error;
      }
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, lane));
  if (failure) throw new Error(`${found} of ${rows.length} rows could be signalled again: ${failure.message}`);
  return found;
}

async function signalRow(deps: IntakeDeps, inboxId: string): Promise<boolean> {
  const row = await arrivalOf(deps.db, inboxId);
  if (!row || row.signalled_at) return false;
  const { arrival, chat_id, channel, workflow_id, resignalled, trace_parent } = row;
  const known = {
    inboxId,
    arrival: arrival as Arrival,
    chatId: chat_id,
    channel,
    workflowId: workflow_id,
    resignalled,
    traceParent: trace_parent,
  };
  await signalArrival(deps, known);
  return true;
}

import type { Decision } from '../../../contracts/decision.ts';
import type { Source } from '../../../contracts/taint.ts';
import { derivedId } from '../../chats/ids.ts';
import { sayTo } from '../../chats/preferences.ts';
import { onThread, type ThreadTransaction } from '../../chats/thread-transaction.ts';
import { addItem } from '../../chats/threads/items.ts';
import { latestThread } from '../../chats/threads/threads.ts';
import { type Db, json } from '../../postgres/database.ts';
import { addCompleteTurn } from '../../turns/complete-turn.ts';
import { openedNow } from '../../turns/questions/ask.ts';
import { inputRequest, shownEvidence } from '../../turns/questions/question-payloads.ts';
import { approvalText, numbered } from '../../turns/questions/question-text.ts';
import { remember } from '../../turns/steps/transcript.ts';
import { placeOfQuestion } from './show-question.ts';

/** Questions of work that no turn waits for: a pull request, a check of a project. */

interface WorkQuestion {
  id: string;
  chatId: string;
  kind: 'question' | 'approval';
  prompt: string;
  /** of a question */
  options?: readonly string[];
  /** what a yes is decided by */
  evidence?: string | undefined;
  sources: readonly Source[];
  shipmentId?: string;
  /** how clients of the runtime API know it */
  tool: { name: string; input: Record<string, unknown> };
}

interface Opened {
  questionId: string;
  outboxId: string;
  decided?: Decision;
}

/**
 * Asks once for each id: a turn that shows it, the question, and the outbox row, in one transaction. `also` is stored
 * with it. Null where the chat has no thread.
 */
export async function askOfWork(
  db: Db,
  question: WorkQuestion,
  also: (tx: ThreadTransaction) => Promise<void> = async () => {},
): Promise<Opened | null> {
  const { id, chatId, kind, prompt, options = [], evidence, sources, tool } = question;
  const { turnId, out } = placeOfQuestion(id);
  const thread = await latestThread(db, chatId);
  if (!thread) return null;
  return await onThread(db, thread.id, async (tx) => {
    const { now } = tx;
    const known = await now.selectFrom('questions').selectAll().where('id', '=', id).executeTakeFirst();
    if (known)
      return { questionId: id, outboxId: out, ...(known.state !== 'open' && { decided: known.decision ?? 'deny' }) };
    const asks = await openedNow(tx, evidence ?? null);
    const body =
      kind === 'question'
        ? `${prompt}\n${numbered(options)}`
        : approvalText({ ...asks, prompt }, await sayTo(now, chatId));
    await addCompleteTurn(tx, { id: turnId, summary: body }, async () => {
      await addItem(tx, {
        id: derivedId('item_', id),
        turnId,
        threadId: thread.id,
        kind: 'agent_message',
        status: 'completed',
        summary: body,
        detail: body,
      });
      remember(tx, { id: derivedId('msg_', id), turnId, role: 'assistant', content: body, sources });
    });
    const at = { chat_id: chatId, thread_id: thread.id, turn_id: turnId };
    await now
      .insertInto('outbox')
      .values({ id: out, ...at, kind: 'question', body })
      .execute();
    await now
      .insertInto('questions')
      .values({
        ...at,
        ...asks,
        id,
        kind,
        prompt,
        options: json(options),
        call_id: null,
        task_id: null,
        shipment_id: question.shipmentId ?? null,
        state: 'open',
        decision: null,
        answer: null,
      })
      .execute();
    await also(tx);
    tx.append(
      kind === 'question'
        ? { event: 'user_input.required', turnId, payload: inputRequest({ id, prompt, options: [...options] }) }
        : {
            event: 'approval.required',
            turnId,
            payload: {
              id,
              approval_id: id,
              tool_name: tool.name,
              description: body,
              intent_summary: null,
              input: tool.input,
              ...shownEvidence(asks),
            },
          },
    );
    return { questionId: id, outboxId: out };
  });
}

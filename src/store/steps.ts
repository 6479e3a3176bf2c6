import { type Selectable, sql } from 'kysely';
import type { CallVerdict, ThinkInput, ThinkResult } from '../contracts/conversation.ts';
import { outboxId, stepKey } from '../contracts/ids.ts';
import { settleCall } from './calls.ts';
import { type Db, json, type Tx } from './database.ts';
import { lockThread } from './events.ts';
import { addItem, appendDelta, endItem } from './items.ts';
import { derivedId } from './keys.ts';
import type { ThreadTable, TurnTable } from './schema.ts';
import { remember } from './transcript.ts';
import { closeTurn } from './turns.ts';

/** The stored result of a model step, or null: a retried step whose answer is here pays nothing. */
export async function storedStep(db: Db | Tx, input: ThinkInput): Promise<ThinkResult | null> {
  const row = await db.selectFrom('steps').select('result').where('key', '=', stepKey(input.turnId, input.step)).executeTakeFirst();
  return row?.result ?? null;
}

export interface StepSubject {
  turn: Selectable<TurnTable>;
  thread: Selectable<ThreadTable>;
  autonomy: ThinkResult['autonomy'];
  chatId: string;
}

export async function loadSubject(db: Db, turnId: string): Promise<StepSubject | null> {
  const [turn, rest] = await Promise.all([
    db.selectFrom('turns').selectAll().where('id', '=', turnId).executeTakeFirst(),
    db
      .selectFrom('turns')
      .innerJoin('threads', 'threads.id', 'turns.thread_id')
      .innerJoin('chats', 'chats.id', 'threads.chat_id')
      .selectAll('threads')
      .select('chats.autonomy')
      .where('turns.id', '=', turnId)
      .executeTakeFirst(),
  ]);
  if (!turn || !rest) return null;
  const { autonomy, ...thread } = rest;
  return { turn, thread, autonomy, chatId: thread.chat_id };
}

/** Tokens and money of a chat since midnight UTC. */
export async function spentToday(db: Db | Tx, chatId: string): Promise<{ tokens: number; microUsd: number }> {
  const row = await db
    .selectFrom('steps')
    .innerJoin('turns', 'turns.id', 'steps.turn_id')
    .innerJoin('threads', 'threads.id', 'turns.thread_id')
    .select([
      sql<number>`coalesce(sum(steps.input_tokens + steps.output_tokens), 0)::bigint`.as('tokens'),
      sql<number>`coalesce(sum(steps.micro_usd), 0)::bigint`.as('usd'),
    ])
    .where('threads.chat_id', '=', chatId)
    .where('steps.created_at', '>=', sql<Date>`date_trunc('day', now() at time zone 'utc') at time zone 'utc'`)
    .executeTakeFirstOrThrow();
  return { tokens: row.tokens, microUsd: row.usd };
}

/** A call as the model made it, checked. `refused` calls carry their error as the result. */
export interface CheckedCall {
  providerId: string;
  args: Record<string, unknown>;
  verdict: Omit<CallVerdict, 'callId'>;
  refusal?: string;
}

export interface Answer {
  text: string;
  calls: CheckedCall[];
  model: string;
  usage: { inputTokens: number; outputTokens: number; microUsd: number };
  /** transcript rows after this one arrived while the model was answering */
  readUpto: number;
  /** the item that streamed the text, whether it was begun, and what is not yet streamed of it */
  item: { id: string; begun: boolean; rest: string };
}

export const callIdOf = (turnId: string, step: number, position: number): string => derivedId('call_', stepKey(turnId, step), position);

/**
 * Stores a model answer with everything that follows from it, in one transaction: items, events, transcript, calls, usage,
 * and, when the turn ends with it, the reply in the outbox and the end of the turn. Doing it twice returns the first.
 */
export async function storeAnswer(db: Db, input: ThinkInput, subject: StepSubject, answer: Answer): Promise<ThinkResult> {
  const { turnId, threadId } = input;
  const key = stepKey(turnId, input.step);
  return await db.transaction().execute(async (tx) => {
    await lockThread(tx, threadId);
    const stored = await storedStep(tx, input);
    if (stored) {
      // another attempt was faster: what this one streamed is not the answer
      await endItem(tx, answer.item.id, { status: 'interrupted' });
      return stored;
    }
    // the interrupt may have come first: the answer is paid and kept, but nothing follows from it
    const turn = await tx.selectFrom('turns').select(['status', 'auto_approve']).where('id', '=', turnId).executeTakeFirstOrThrow();
    const open = turn.status === 'in_progress';
    const calls = open ? answer.calls : [];
    const text = answer.text;

    if (text && open && !answer.item.begun)
      await addItem(tx, { id: answer.item.id, turnId, threadId, kind: 'agent_message', status: 'in_progress', summary: '', detail: '' });
    if (answer.item.rest && open) await appendDelta(tx, { id: answer.item.id, turnId, threadId, kind: 'agent_message' }, answer.item.rest);
    const verdicts: CallVerdict[] = [];
    for (const [position, call] of calls.entries()) verdicts.push(await addCall(tx, input, call, position));
    if (text && open) await endItem(tx, answer.item.id, { status: 'completed', summary: text, detail: text });
    for (const [position, call] of calls.entries()) {
      if (call.refusal !== undefined) await settleCall(tx, callIdOf(turnId, input.step, position), { ok: false, output: call.refusal });
    }
    if (!open) await endItem(tx, answer.item.id, { status: 'interrupted' });
    // a late answer to a closed turn would stand between the next message and its answer
    else
      await remember(tx, {
        id: derivedId('msg_', key),
        threadId,
        turnId,
        role: 'assistant',
        content: text,
        callIds: verdicts.map((verdict) => verdict.callId),
      });

    const newer = await tx
      .selectFrom('transcript')
      .select('id')
      .where('turn_id', '=', turnId)
      .where('role', '=', 'user')
      .where('ord', '>', answer.readUpto)
      .orderBy('ord')
      .execute();
    // what the model had not read when it answered comes after its answer, or it would seem answered
    for (const { id } of newer) {
      await tx.updateTable('transcript').set({ ord: sql`nextval('transcript_ord_seq')` }).where('id', '=', id).execute();
    }
    const next: ThinkResult['next'] = !open ? 'closed' : calls.length > 0 ? 'tools' : newer.length > 0 ? 'continue' : 'closed';
    const out = outboxId(turnId, 'answer');
    const result: ThinkResult = {
      next,
      calls: verdicts,
      ...(next === 'closed' && open && { outboxId: out }),
      autonomy: subject.autonomy,
      autoApprove: turn.auto_approve ?? subject.thread.auto_approve,
      usage: answer.usage,
    };
    await tx
      .insertInto('steps')
      .values({
        key,
        turn_id: turnId,
        step: input.step,
        model: answer.model,
        result: json(result),
        input_tokens: answer.usage.inputTokens,
        output_tokens: answer.usage.outputTokens,
        micro_usd: answer.usage.microUsd,
      })
      .execute();
    await tx.updateTable('inbox').set({ consumed_at: new Date() }).where('turn_id', '=', turnId).where('consumed_at', 'is', null).execute();
    if (next === 'closed' && open) {
      const body = text.trim() || 'The model answered with nothing. Write again, perhaps in other words.';
      await tx.insertInto('outbox').values({ id: out, chat_id: subject.chatId, thread_id: threadId, turn_id: turnId, kind: 'answer', body }).execute();
      await closeTurn(tx, turnId, 'completed');
    }
    return result;
  });
}

async function addCall(tx: Tx, input: ThinkInput, call: CheckedCall, position: number): Promise<CallVerdict> {
  const callId = callIdOf(input.turnId, input.step, position);
  const itemId = derivedId('item_', callId);
  const detail = JSON.stringify(call.args);
  await tx
    .insertInto('calls')
    .values({
      id: callId,
      provider_id: call.providerId,
      turn_id: input.turnId,
      thread_id: input.threadId,
      item_id: itemId,
      step: input.step,
      position,
      name: call.verdict.name,
      args: detail,
      danger: call.verdict.danger,
      effect: call.verdict.effect,
      state: 'pending',
      ok: null,
      output: null,
      started_at: null,
      ended_at: null,
    })
    .execute();
  await addItem(tx, {
    id: itemId,
    turnId: input.turnId,
    threadId: input.threadId,
    kind: 'tool_call',
    status: 'in_progress',
    summary: `${call.verdict.name} started`,
    detail,
    announce: { tool: { id: callId, name: call.verdict.name, input: call.args } },
  });
  return { ...call.verdict, callId };
}

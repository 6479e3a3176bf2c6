import { z } from 'zod';
import type { EventEnvelope, ThreadRecord } from '../../contracts/records.ts';
import { undoWords } from '../../domain/chat/words/tool-words.ts';
import type { RequestKey } from '../../store/chats/request-keys.ts';
import { latestSeq, readEvents } from '../../store/chats/threads/events.ts';
import { resultOfUndo, type Snapshot, snapshotsSince } from '../../store/kennel/workspaces/workspaces.ts';
import { type SaidTurn, saidTurn } from '../../store/turns/copy-thread.ts';
import { activeTurn } from '../../store/turns/turns.ts';
import { nothingToUndo, threadBusy, undoNotDone } from '../errors/errors.ts';
import { requestKey } from '../http/request.ts';
import { follow } from './events/events.ts';
import { retryRequest, undoRequest } from './shared/bodies.ts';
import { endpoint, type RuntimeDeps } from './shared/endpoint.ts';
import { threadRecord, turnRecord } from './shared/record-schemas.ts';
import { copyOf, sameSettings } from './threads/copies.ts';
import { existingThread, withoutEffect } from './threads/threads.ts';
import { requiredText } from './turns/turns.ts';

/** The conversation as it was before a message: a copy of the thread that ends there. The thread itself stays. */

const refusals = {
  400: 'The thread has fewer messages, or it is a group chat, whose words stay there.',
  404: 'There is no such thread.',
  409: 'A turn runs on this thread.',
};
const originalText = z.string().nullable().describe('The message that was taken back');

export const postUndo = endpoint({
  method: 'POST',
  path: '/v1/threads/{id}/undo',
  summary: 'Copy a thread without its last message and what came of it; files stay as they are',
  body: undoRequest,
  bodyOptional: true,
  answer: {
    status: 201,
    schema: z.object({ thread: threadRecord, original_user_text: originalText }),
    what: 'The copy; the same for the same Idempotency-Key.',
  },
  refusals,
  handle: async ({ ctx, params: { id }, body }, deps) => {
    const depth = body.depth ?? 0;
    const turn = await takenBack(id, depth, deps);
    const thread = await copyBefore(turn, { id, depth, key: requestKey(ctx, `undo ${id}`, body) }, deps);
    return { thread, original_user_text: turn.text };
  },
});

export const postRetry = endpoint({
  method: 'POST',
  path: '/v1/threads/{id}/retry',
  summary: 'Say the last message again, or another in its place, in a copy of the thread that ends before it',
  body: retryRequest,
  bodyOptional: true,
  answer: {
    status: 201,
    schema: z.object({ thread: threadRecord, turn: turnRecord }),
    what: 'The copy and its turn; the same for the same Idempotency-Key.',
  },
  refusals,
  handle: async ({ ctx, params: { id }, body }, deps) => {
    const depth = body.depth ?? 0;
    const before = await takenBack(id, depth, deps);
    const prompt = body.prompt == null ? before.text : requiredText(body.prompt, 'prompt');
    const key = requestKey(ctx, `retry ${id}`, body);
    const thread = await copyBefore(before, { id, depth, key }, deps);
    return await deps.intake.startTurn({
      threadId: thread.id,
      prompt,
      notice: withoutEffect({ ...thread, mode: before.mode ?? thread.mode }),
      model: before.model ?? undefined,
      mode: before.mode ?? undefined,
      channelMessageId: { ...key, id: `${key.id} turn` },
    });
  },
});

export const postPatchUndo = endpoint({
  method: 'POST',
  path: '/v1/threads/{id}/patch-undo',
  summary: 'Take back what the last message changed in files, as undo does, and copy the thread without it',
  body: undoRequest,
  bodyOptional: true,
  answer: {
    status: 201,
    schema: z.object({
      patch_result: z.object({
        files_restored: z.int().nonnegative(),
        summary: z.string().nullable(),
        snapshot_label: z.string().nullable(),
      }),
      thread: threadRecord,
      original_user_text: originalText,
    }),
    what: 'What was restored, and the copy.',
  },
  refusals: { ...refusals, 409: 'A turn runs on this thread, or the files could not be restored without a question.' },
  handle: async ({ ctx, params: { id }, body }, deps) => {
    const depth = body.depth ?? 0;
    const turn = await takenBack(id, depth, deps);
    const key = requestKey(ctx, `patch-undo ${id}`, body);
    const snapshots = await snapshotsSince(deps.store.db, id, turn.created_at);
    const told: string[] = [];
    for (const snapshot of snapshots) told.push(await restored(snapshot, key.id, deps));
    const thread = await copyBefore(turn, { id, depth, key }, deps);
    return {
      patch_result: {
        files_restored: new Set(snapshots.map(({ kind, what, id: task }) => (kind === 'edit' ? what : task))).size,
        summary: told.join('\n') || null,
        snapshot_label: snapshots.at(-1)?.id ?? null,
      },
      thread,
      original_user_text: turn.text,
    };
  },
});

/** @throws ApiError 400, 404, 409 */
async function takenBack(threadId: string, depth: number, deps: RuntimeDeps): Promise<SaidTurn> {
  await existingThread(threadId, deps);
  if (await activeTurn(deps.store.db, threadId)) throw threadBusy();
  const turn = await saidTurn(deps.store.db, threadId, depth);
  if (!turn) throw nothingToUndo(threadId, depth);
  return turn;
}

const copyBefore = (
  turn: SaidTurn,
  { id, depth, key }: { id: string; depth: number; key: RequestKey },
  deps: RuntimeDeps,
): Promise<ThreadRecord> =>
  copyOf(deps, {
    source: id,
    before: turn.id,
    settings: sameSettings,
    key,
    announce: (tx, { thread, sourceId }) =>
      tx.append({
        event: 'thread.forked',
        payload: {
          thread,
          source_thread_id: sourceId,
          backtrack_depth_from_tail: depth,
          dropped_turn_id: turn.id,
        },
      }),
  });

/** A container has to start, and git to run in it. */
const RESTORE_MS = 120_000;
const BATCH = 256;
const ASKS: ReadonlySet<string> = new Set(['approval.required', 'user_input.required']);

/** Restores one state by a turn of the thread, so that it asks, waits and is told as every undo. @throws ApiError 409 */
async function restored(snapshot: Snapshot, key: string, deps: RuntimeDeps): Promise<string> {
  const { db } = deps.store;
  const threadId = snapshot.thread_id;
  const cursor = await latestSeq(db, threadId);
  const { turn } = await deps.intake.startTurn({
    threadId,
    prompt: undoWords(snapshot),
    call: { name: 'undo', args: { task: snapshot.id, workspace: snapshot.workspace } },
    channelMessageId: { id: `${key} ${snapshot.id}`, fingerprint: null },
  });
  const timeout = AbortSignal.timeout(RESTORE_MS);
  const signal = deps.stopping ? AbortSignal.any([timeout, deps.stopping]) : timeout;
  const isOver = ({ event, turn_id }: EventEnvelope) =>
    turn_id === turn.id && (event === 'turn.completed' || ASKS.has(event));
  const read = async (seq: number) => {
    const part = await readEvents(db, threadId, seq, BATCH);
    return part.length > 0 ? { part, cursor: part.at(-1)!.seq, more: part.length === BATCH } : null;
  };
  if (turn.status === 'in_progress')
    for await (const events of follow(deps, { threadId, cursor, signal }, read)) if (events?.some(isOver)) break;
  const done = await resultOfUndo(db, turn.id);
  if (!done?.ok) throw undoNotDone(done?.output ?? null);
  return done.output;
}

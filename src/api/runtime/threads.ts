import type { Context } from 'koa';
import type { ThreadRecord } from '../../contracts/records.ts';
import { thingsToTry } from '../../domain/chat/help.ts';
import { setUpOf } from '../../intake/set-up.ts';
import { chatKey } from '../../store/chats/ids.ts';
import { createThread, getThread, listThreads, threadDetail } from '../../store/chats/threads.ts';
import type { ApiDeps } from '../deps.ts';
import { jsonBody } from '../http/body.ts';
import { isId } from '../http/path.ts';
import { readQuery } from '../http/query.ts';
import { EdgeError, sendJson, threadNotFound } from '../http/reply.ts';
import { requestKey } from '../http/request-key.ts';
import * as requests from './schemas.ts';

/** `POST /v1/threads`: 201 ThreadRecord; the same `Idempotency-Key` gives the same thread, and 422 with another body. An API thread is a chat of its own. */
export async function postThread(ctx: Context, deps: ApiDeps): Promise<void> {
  const body = await jsonBody(ctx, requests.createThread);
  const thread = await createThread(deps.store.db, {
    channel: 'api',
    model: requests.given(body.model) ?? deps.config.AGENT_MODEL ?? 'auto',
    // not trimmed and not checked: clients store what they like here
    workspace: body.workspace ?? deps.config.FETCH_WORKSPACE ?? process.cwd(),
    mode: requests.given(body.mode) ?? 'agent',
    allow_shell: body.allow_shell ?? false,
    trust_mode: body.trust_mode ?? false,
    auto_approve: body.auto_approve ?? false,
    archived: body.archived,
    system_prompt: body.system_prompt ?? null,
    task_id: body.task_id ?? null,
    autonomy: deps.config.FETCH_AUTONOMY,
    chatKey: (address) => chatKey(deps.chatSecret ?? '', 'api', address),
    key: requestKey(ctx, 'thread', body),
  });
  sendJson(ctx, 201, thread);
}

/** `GET /v1/threads?limit=&include_archived=&archived_only=`: 200 ThreadRecord[], newest first; no default limit. */
export async function getThreads(ctx: Context, deps: ApiDeps): Promise<void> {
  const query = readQuery(ctx.querystring, { limit: 'whole', include_archived: 'flag', archived_only: 'flag' });
  const threads = await listThreads(deps.store.db, {
    limit: query.limit,
    include_archived: query.include_archived ?? false,
    archived_only: query.archived_only ?? false,
  });
  sendJson(ctx, 200, threads);
}

/**
 * `GET /v1/threads/{id}?last_turns=&before=`: 200 {thread, turns, items, latest_seq, pending_approvals, pending_user_inputs}; the whole thread
 * without a limit, as far as one answer holds it. `more_before` is there when older turns were left out: `before` takes it.
 */
export async function getThreadDetail(ctx: Context, id: string, deps: ApiDeps): Promise<void> {
  const { last_turns: lastTurns, before } = readQuery(ctx.querystring, { last_turns: 'whole', before: 'text' });
  if (before !== undefined && !isId(before)) throw new EdgeError(400, 'Failed to deserialize query string: before: not the id of a turn');
  const detail = isId(id) ? await threadDetail(deps.store.db, id, { lastTurns, before }) : null;
  if (!detail) throw threadNotFound(id);
  sendJson(ctx, 200, detail);
}

/** `GET /v1/console`: 200 ThreadRecord of the console chat, made when there is none; with `things_to_try`, messages that suit what is set up. */
export async function getConsole(ctx: Context, deps: ApiDeps): Promise<void> {
  const [thread, setUp] = await Promise.all([deps.intake.consoleThread(), setUpOf(deps.store.db, deps.config)]);
  sendJson(ctx, 200, { ...thread, things_to_try: thingsToTry(setUp) });
}

/** @throws ApiError 404 */
export async function existingThread(id: string, deps: ApiDeps): Promise<ThreadRecord> {
  const thread = isId(id) ? await getThread(deps.store.db, id) : null;
  if (!thread) throw threadNotFound(id);
  return thread;
}

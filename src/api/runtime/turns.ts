import type { Context } from 'koa';
import { storableText } from '../../domain/text/storable.ts';
import type { ApiDeps } from '../deps.ts';
import { jsonBody } from '../http/body.ts';
import { isId } from '../http/path.ts';
import { ApiError, sendJson } from '../http/reply.ts';
import { requestKey } from '../http/request-key.ts';
import * as requests from './schemas.ts';
import { existingThread } from './threads.ts';

/** @throws ApiError 400 for blank text */
function prompt(text: string, name = 'prompt'): string {
  // what is left of it in the store: a text of nothing but NULs is blank
  const trimmed = storableText(text).trim();
  if (!trimmed) throw new ApiError(400, `${name} is required`);
  return trimmed;
}

/** `POST /v1/threads/{id}/turns`: 201 {thread, turn}; the same `Idempotency-Key` gives the same turn, and 422 with another body. 409 while a turn runs. */
export async function postTurn(ctx: Context, id: string, deps: ApiDeps): Promise<void> {
  const body = await jsonBody(ctx, requests.startTurn);
  const text = prompt(body.prompt);
  await existingThread(id, deps);
  const started = await deps.intake.startTurn({
    threadId: id,
    prompt: text,
    inputSummary: requests.given(body.input_summary),
    model: requests.given(body.model),
    autoApprove: body.auto_approve ?? undefined,
    mode: requests.given(body.mode),
    allowShell: body.allow_shell ?? undefined,
    channelMessageId: requestKey(ctx, 'turn', body),
  });
  sendJson(ctx, 201, started);
}

/** `POST .../turns/{turn_id}/steer`: 200 TurnRecord; 409 unless that turn runs. */
export async function postSteer(ctx: Context, id: string, turnId: string, deps: ApiDeps): Promise<void> {
  const body = await jsonBody(ctx, requests.steerTurn);
  const text = prompt(body.prompt);
  await activeTurn(id, turnId, deps);
  sendJson(ctx, 200, await deps.intake.steer({ threadId: id, turnId, prompt: text, channelMessageId: requestKey(ctx, `steer ${turnId}`, body) }));
}

/** `POST .../turns/{turn_id}/interrupt`: 200 TurnRecord, still running; any body is ignored. */
export async function postInterrupt(ctx: Context, id: string, turnId: string, deps: ApiDeps): Promise<void> {
  await activeTurn(id, turnId, deps);
  sendJson(ctx, 200, await deps.intake.interrupt({ threadId: id, turnId, channelMessageId: requestKey(ctx, `interrupt ${turnId}`, null) }));
}

/**
 * `POST /v1/threads/{id}/messages` {text, displayed?}: whatever a person may write; 202 {kind, turn_id, inbox_id}. `displayed`: [{id, ms}], the
 * open questions that the person's screen shows, and for how long it had: a bare yes counts for those only.
 */
export async function postMessage(ctx: Context, id: string, deps: ApiDeps): Promise<void> {
  const body = await jsonBody(ctx, requests.message);
  const text = prompt(body.text, 'text');
  await existingThread(id, deps);
  const said = await deps.intake.say({ threadId: id, text, displayed: body.displayed, channelMessageId: requestKey(ctx, 'message', body) });
  sendJson(ctx, 202, { kind: said.kind, turn_id: said.turnId, inbox_id: said.inboxId });
}

async function activeTurn(id: string, turnId: string, deps: ApiDeps): Promise<void> {
  await existingThread(id, deps);
  if (!isId(turnId)) throw new ApiError(409, `Turn ${turnId} is not active on thread ${id}`);
}

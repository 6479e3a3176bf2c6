import type { Context } from 'koa';
import { getThread } from '../../store/chats/threads.ts';
import type { ApiDeps } from '../deps.ts';
import { jsonBody } from '../http/body.ts';
import { isId } from '../http/path.ts';
import { ApiError, sendJson } from '../http/reply.ts';
import { requestKey } from '../http/request-key.ts';
import * as requests from './schemas.ts';

/** `POST /v1/approvals/{id}` {decision, remember?}: 200 {ok, approval_id, decision, delivered}; 404 once decided. */
export async function postApproval(ctx: Context, id: string, deps: ApiDeps): Promise<void> {
  const { decision, remember } = await jsonBody(ctx, requests.approval);
  if (decision !== 'allow' && decision !== 'deny') throw new ApiError(400, `invalid decision '${decision}'; expected "allow" or "deny"`);
  if (!isId(id)) throw new ApiError(404, `no pending approval with id '${id}'`);
  await deps.intake.decide({ approvalId: id, decision, remember, channelMessageId: requestKey(ctx, `approval ${id}`, { decision, remember }) });
  sendJson(ctx, 200, { ok: true, approval_id: id, decision, delivered: true });
}

/** `POST /v1/user-input/{thread}/{input}` {answers}: 200 {ok, input_id, delivered}; 404 for an unknown or closed question. */
export async function postUserInput(ctx: Context, threadId: string, inputId: string, deps: ApiDeps): Promise<void> {
  const { answers } = await jsonBody(ctx, requests.userInput);
  if (!isId(threadId) || !(await getThread(deps.store.db, threadId))) throw new ApiError(404, `thread '${threadId}' not found`);
  if (!isId(inputId)) throw new ApiError(404, `no pending user input with id '${inputId}'`);
  await deps.intake.answer({ threadId, inputId, answers, channelMessageId: requestKey(ctx, `user-input ${inputId}`, answers) });
  sendJson(ctx, 200, { ok: true, input_id: inputId, delivered: true });
}

import { z } from 'zod';
import { getThread } from '../../../store/chats/threads/threads.ts';
import { invalidDecision, noPendingApproval, noPendingInput, threadOfInputNotFound } from '../../errors/errors.ts';
import { isId, isQuestionId, requestKey } from '../../http/request.ts';
import { approvalDecisionRequest, userInputRequest } from '../shared/bodies.ts';
import { endpoint } from '../shared/endpoint.ts';

export const postApproval = endpoint({
  method: 'POST',
  path: '/v1/approvals/{approval_id}',
  summary: 'Decide an approval',
  body: approvalDecisionRequest,
  answer: {
    schema: z.object({ ok: z.boolean(), approval_id: z.string(), decision: z.string(), delivered: z.boolean() }),
    what: 'The decision is taken.',
  },
  refusals: {
    404: 'There is no such approval, or it is decided.',
    409: 'More is to be decided than the person was shown.',
  },
  handle: async ({ ctx, params: { approval_id: id }, body: { decision, remember, seen } }, { intake }) => {
    if (decision !== 'allow' && decision !== 'deny') throw invalidDecision(decision);
    if (!isQuestionId(id)) throw noPendingApproval(id);
    await intake.decide({
      approvalId: id,
      decision,
      remember,
      seen,
      channelMessageId: requestKey(ctx, `approval ${id}`, { decision, remember }),
    });
    return { ok: true, approval_id: id, decision, delivered: true };
  },
});

export const postUserInput = endpoint({
  method: 'POST',
  path: '/v1/user-input/{thread_id}/{input_id}',
  summary: 'Answer a question',
  body: userInputRequest,
  answer: {
    schema: z.object({ ok: z.boolean(), input_id: z.string(), delivered: z.boolean() }),
    what: 'The answer is taken.',
  },
  refusals: {
    404: 'There is no such thread or question, or the question is closed.',
    409: 'More is to be decided than the person was shown.',
  },
  handle: async (
    { ctx, params: { thread_id: threadId, input_id: inputId }, body: { answers, seen } },
    { intake, store },
  ) => {
    if (!isId(threadId) || !(await getThread(store.db, threadId))) throw threadOfInputNotFound(threadId);
    if (!isQuestionId(inputId)) throw noPendingInput(inputId);
    await intake.answer({
      threadId,
      inputId,
      answers,
      seen,
      channelMessageId: requestKey(ctx, `user-input ${inputId}`, answers),
    });
    return { ok: true, input_id: inputId, delivered: true };
  },
});

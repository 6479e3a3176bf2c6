import { z } from 'zod';
import { withQuotes } from '../../../domain/text/foreign-text.ts';
import { storableText } from '../../../domain/text/storable.ts';
import { findReceipt, type Receipt } from '../../../store/home/receipts.ts';
import type { ApiDeps } from '../../api-deps.ts';
import { ApiError, textRequired, turnNotActive } from '../../errors/errors.ts';
import type { Fields } from '../../http/endpoint.ts';
import { isId, requestKey } from '../../http/request.ts';
import { given, messageRequest, startTurnRequest, steerTurnRequest } from '../shared/bodies.ts';
import { endpoint } from '../shared/endpoint.ts';
import { threadRecord, turnRecord } from '../shared/record-schemas.ts';
import { existingThread, withoutEffect } from '../threads/threads.ts';
import { withAttachments } from './files.ts';

const refusals = { 404: 'There is no such thread.', 409: 'That turn does not run.' };

export const postTurn = endpoint({
  method: 'POST',
  path: '/v1/threads/{id}/turns',
  summary: 'Start a turn',
  body: startTurnRequest,
  answer: {
    status: 201,
    schema: z.object({ thread: threadRecord, turn: turnRecord }),
    what: 'The turn; the same for the same Idempotency-Key.',
  },
  refusals: { 404: 'There is no such thread.', 409: 'A turn runs on this thread.' },
  handle: async ({ ctx, params: { id }, body }, deps) => {
    const prompt = requiredText(body.prompt, 'prompt');
    const { mode, trust_mode, auto_approve } = await existingThread(id, deps);
    return await deps.intake.startTurn({
      threadId: id,
      prompt,
      notice: withoutEffect({
        mode: given(body.mode) ?? mode,
        trust_mode: body.trust_mode ?? trust_mode,
        auto_approve: body.auto_approve ?? auto_approve,
      }),
      inputSummary: given(body.input_summary),
      model: given(body.model),
      autoApprove: body.auto_approve ?? undefined,
      mode: given(body.mode),
      allowShell: body.allow_shell ?? undefined,
      channelMessageId: requestKey(ctx, 'turn', body),
    });
  },
});

export const postSteer = endpoint({
  method: 'POST',
  path: '/v1/threads/{id}/turns/{turn_id}/steer',
  summary: 'Say something to the turn that runs',
  body: steerTurnRequest,
  answer: { schema: turnRecord, what: 'The turn; its next model step reads the text.' },
  refusals,
  handle: async ({ ctx, params: { id, turn_id: turnId }, body }, deps) => {
    const prompt = requiredText(body.prompt, 'prompt');
    await activeTurn(id, turnId, deps);
    return await deps.intake.steer({
      threadId: id,
      turnId,
      prompt,
      channelMessageId: requestKey(ctx, `steer ${turnId}`, body),
    });
  },
});

export const postInterrupt = endpoint({
  method: 'POST',
  path: '/v1/threads/{id}/turns/{turn_id}/interrupt',
  summary: 'Stop the turn that runs; a body is ignored',
  answer: { schema: turnRecord, what: 'The turn, which still runs.' },
  refusals,
  handle: async ({ ctx, params: { id, turn_id: turnId } }, deps) => {
    await activeTurn(id, turnId, deps);
    return await deps.intake.interrupt({
      threadId: id,
      turnId,
      channelMessageId: requestKey(ctx, `interrupt ${turnId}`, null),
    });
  },
});

export const postMessage = endpoint({
  method: 'POST',
  path: '/v1/threads/{id}/messages',
  summary: 'Say whatever a person may write: it starts a turn, steers, answers or stops',
  body: messageRequest,
  answer: {
    status: 202,
    schema: z.object({
      kind: z.enum(['turn', 'steer', 'answer', 'stop', 'reply', 'task']),
      turn_id: z.string().nullable(),
      inbox_id: z.string(),
    }),
    what: 'What the message meant.',
  },
  refusals: { 404: 'There is no such thread, or no such file in it.' },
  handle: async ({ ctx, params: { id }, body }, deps) => {
    const files = body.attachment_ids ?? [];
    const text = files.length > 0 ? storableText(body.text).trim() : requiredText(body.text, 'text');
    await existingThread(id, deps);
    const message = await withAttachments(deps, id, text, files);
    const quotes = body.quoted?.length ? withQuotes(message.text, body.quoted) : {};
    const said = await deps.intake.say({
      threadId: id,
      ...message,
      ...quotes,
      displayed: body.displayed,
      channelMessageId: requestKey(ctx, 'message', body),
    });
    return { kind: said.kind, turn_id: said.turnId, inbox_id: said.inboxId };
  },
});

const receipt = z
  .object({
    format: z.literal('fetch-receipt-1'),
    number: z.int().describe('From 1 on, without a gap'),
    previous: z.string().describe('`hash` of the receipt before it'),
    body: z
      .record(z.string(), z.unknown())
      .describe('What was called, allowed, reached and spent. Later versions only add fields'),
    digest: z.string().describe('SHA-256 of the JSON of the body'),
    hash: z.string().describe('SHA-256 of number, previous hash and digest, one a line'),
    signature: z.string().describe('Ed25519 of format, key and hash, one a line; base64'),
    key: z.string().describe('Public key of this home: SPKI, base64'),
  } satisfies Fields<Receipt>)
  .meta({ id: 'Receipt' });

export const getTurnReceipt = endpoint({
  method: 'GET',
  path: '/v1/threads/{id}/turns/{turn_id}/receipt',
  summary: 'What a turn did, signed by this home',
  answer: { schema: receipt, what: 'The receipt, as bin/verify-receipt.js checks it.' },
  refusals: { 404: 'There is no such thread, or the turn has no receipt: it gets one within seconds of its end.' },
  handle: async ({ params: { id, turn_id: turnId } }, deps) => {
    await existingThread(id, deps);
    const found = isId(turnId) ? await findReceipt(deps.store.db, turnId) : null;
    if (found?.body.kind !== 'turn' || found.body.thread !== id)
      throw new ApiError(404, `The turn ${turnId} has no receipt`);
    return found;
  },
});

/** @throws ApiError 400 for blank text */
export function requiredText(text: string, field: string): string {
  // checked as the store will keep it: a text of only NULs is blank
  const trimmed = storableText(text).trim();
  if (!trimmed) throw textRequired(field);
  return trimmed;
}

async function activeTurn(id: string, turnId: string, deps: ApiDeps): Promise<void> {
  await existingThread(id, deps);
  if (!isId(turnId)) throw turnNotActive(turnId, id);
}

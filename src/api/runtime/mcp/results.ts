import { type CallToolResult, said } from '../../../adapters/mcp/serving/protocol.ts';
import { bytesOfAttachment } from '../../../store/chats/messages/attachments.ts';
import { outcomeOfTurn, type TurnOutcome } from '../../../store/chats/sessions/program-sessions.ts';
import type { Db } from '../../../store/postgres/database.ts';
import { contractToolOf } from '../../../tools/contract-tools.ts';
import { CALL_RESULT } from './offered.ts';

/** A question that holds up a call. */
interface Waiting {
  id: string;
  threadId: string;
  turnId: string;
  /** what is asked */
  text: string;
}

/** What a client gets that cannot ask its person: where the answer is given, and how to come back. */
export const stillWaits = ({ id, threadId, turnId, text }: Waiting): CallToolResult => ({
  ...said(
    [
      `Not done yet. It waits for an answer of the owner, and nothing happens before:\n${text}`,
      `It is answered on the owner's page, or with POST /v1/approvals/${id} of the runtime API. Then ${CALL_RESULT} with turn_id "${turnId}" gives the result; with cancel: true the call is given up.`,
    ].join('\n\n'),
    true,
  ),
  structuredContent: { status: 'waiting', question_id: id, thread_id: threadId, turn_id: turnId },
});

/** The result of a turn that has ended; null while it runs. */
export async function resultOf(db: Db, turnId: string): Promise<CallToolResult | null> {
  const outcome = await outcomeOfTurn(db, turnId);
  if (!outcome) return said('There is no such call.', true);
  if (outcome.status === 'in_progress' || outcome.status === 'queued') return null;
  return outcome.named ? await resultOfCall(db, outcome) : resultOfChat(outcome);
}

async function resultOfCall(db: Db, { threadId, call, as, error, status }: TurnOutcome): Promise<CallToolResult> {
  if (!call)
    return said(status === 'completed' ? 'It has no result.' : (error ?? 'It was stopped before its end.'), true);
  const ofContract = as === null ? undefined : contractToolOf(as);
  if (ofContract && call.ok) return { ...ofContract.answer(call), isError: false };
  const result = said(call.output, !call.ok);
  const { attachment, mime } = call.metadata ?? {};
  if (typeof attachment !== 'string' || typeof mime !== 'string' || !mime.startsWith('image/')) return result;
  const picture = await bytesOfAttachment(db, threadId, attachment);
  if (picture) result.content.push({ type: 'image', data: picture.data.toString('base64'), mimeType: mime });
  return result;
}

function resultOfChat({ threadId, said: text, error, status, usage }: TurnOutcome): CallToolResult {
  const content =
    status === 'completed' ? text : [text, error ?? 'It was stopped before its end.'].filter(Boolean).join('\n\n');
  return {
    ...said(content, status !== 'completed'),
    structuredContent: {
      threadId,
      content,
      usage: { inputTokens: usage?.input_tokens ?? 0, outputTokens: usage?.output_tokens ?? 0 },
    },
  };
}

import { IntakeError } from '../../../gateway/intake/intake.ts';
import { isProgramThread } from '../../../store/chats/sessions/program-sessions.ts';
import { threadOf, threadOfApproval } from '../../../store/turns/questions/questions.ts';
import type { RuntimeDeps } from '../shared/endpoint.ts';

/**
 * Questions to the person of a program, as elicitation. The id of the request is the id of the question, so any process
 * that gets the answer knows what it answers.
 */

/** Payload of `approval.required` or `user_input.required`, as far as a form shows it. */
export interface AskedPayload {
  id: string;
  description?: string;
  intent_summary?: string | null;
  evidence?: string;
  request?: { questions: Array<{ question: string; options?: Array<{ label: string }> }> };
}

/** The question as one text. */
export function textOf({ description, intent_summary, evidence, request }: AskedPayload): string {
  if (request) return request.questions.map(({ question }) => question).join('\n');
  return [description, intent_summary && `It says: ${intent_summary}`, evidence].filter(Boolean).join('\n\n');
}

export function formOf(asked: AskedPayload): object {
  const options = asked.request?.questions[0]?.options?.map(({ label }) => label) ?? [];
  const field = asked.request
    ? { answer: { type: 'string', title: 'Answer', ...(options.length > 0 && { enum: options }) } }
    : { decision: { type: 'string', title: 'Decision', enum: ['allow', 'deny'] } };
  return {
    jsonrpc: '2.0',
    id: asked.id,
    method: 'elicitation/create',
    params: {
      mode: 'form',
      message: textOf(asked),
      requestedSchema: { type: 'object', properties: field, required: Object.keys(field) },
    },
  };
}

/** A response of a client to one of our forms. */
interface FormResponse {
  id: unknown;
  result?: unknown;
}

/**
 * Takes an answer. Only a clear yes allows anything: a form that was closed is a no, or the call would wait where
 * nobody looks.
 */
export async function takeForm({ store, intake }: RuntimeDeps, { id, result }: FormResponse): Promise<void> {
  const threadId = typeof id === 'string' ? await threadOf(store.db, id) : undefined;
  if (typeof id !== 'string' || !threadId || !(await isProgramThread(store.db, threadId))) return;
  const { action, content } = (result ?? {}) as { action?: unknown; content?: Record<string, unknown> | null };
  const channelMessageId = `mcp form ${id}`;
  try {
    if (await threadOfApproval(store.db, id)) {
      const decision = action === 'accept' && content?.decision === 'allow' ? 'allow' : 'deny';
      await intake.decide({ approvalId: id, decision, remember: false, channelMessageId });
    } else {
      const given =
        action === 'accept' && typeof content?.answer === 'string' && content.answer.trim()
          ? content.answer
          : '(no answer)';
      await intake.answer({ threadId, inputId: id, answers: [{ id, label: given, value: given }], channelMessageId });
    }
  } catch (error) {
    // it was settled elsewhere meanwhile
    if (!(error instanceof IntakeError)) throw error;
  }
}

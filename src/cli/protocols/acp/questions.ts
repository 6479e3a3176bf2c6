import type {
  AgentContext,
  ClientCapabilities,
  PermissionOption,
  PlanEntry,
  SendRequestOptions,
  ToolCallUpdate,
} from '@agentclientprotocol/sdk';
import type { PendingApproval, PendingUserInput } from '../../../client/api-client.ts';
import { quotedIn } from '../../../domain/text/evidence.ts';
import type { ThreadApi } from './thread-api.ts';
import { absolute, diffsIn, words } from './tool-calls.ts';

/** An open question of a thread, as its event and the thread's detail have it. */
export type Asked = { approval: PendingApproval } | { input: PendingUserInput };

export const idOf = (asked: Asked): string => ('approval' in asked ? asked.approval.id : asked.input.id);

/** Where a question is asked, and where its answer goes. */
interface Asking {
  client: AgentContext;
  api: ThreadApi;
  threadId: string;
  capabilities: ClientCapabilities | undefined;
  workspaces: string;
  /** aborts when the question is settled elsewhere, or the session is closed */
  settled: AbortSignal;
}

/** `typed`: no dialogue has brought an answer, so the next message can. */
type HowAsked = 'settled' | 'typed';

/** A dialogue about something that was settled elsewhere is taken back, and nobody waits for its answer. */
const until = (settled: AbortSignal): SendRequestOptions => ({
  cancellationSignal: settled,
  stopWaitingOnCancel: true,
});

const LATER = 'later';

/** Asks in the editor, and passes the answer on. */
export async function ask(asking: Asking, asked: Asked): Promise<HowAsked> {
  if ('approval' in asked) return await askApproval(asking, asked.approval);
  const [question] = asked.input.request.questions;
  if (!question) return 'typed';
  const labels = (question.options ?? []).map(({ label }) => label);
  if (asking.capabilities?.elicitation?.form) return await askForm(asking, asked.input.id, question.question, labels);
  if (labels.length > 0) return await askChoice(asking, asked.input.id, question.question, labels);
  return 'typed';
}

async function askApproval(
  { client, api, threadId, settled, workspaces }: Asking,
  approval: PendingApproval,
): Promise<HowAsked> {
  const { id, description, intent_summary, input, evidence = '', evidence_rest: rest } = approval;
  const path = typeof input?.path === 'string' ? input.path : undefined;
  const diffs = diffsIn(quotedIn(evidence), (file) => absolute(file, input?.workspace, workspaces), path);
  // whole, also beside the differences: a yes counts for what was shown, and differences leave out where and why
  const told = [
    intent_summary && `It says: ${intent_summary}`,
    evidence,
    rest && `(${rest} more characters are not shown here)`,
  ];
  const text = told.filter((each): each is string => typeof each === 'string' && each !== '').join('\n\n');
  const options: PermissionOption[] = [
    { optionId: 'allow', name: rest ? 'Allow, without reading all of it' : 'Allow', kind: 'allow_once' },
    { optionId: 'remember', name: 'Allow everything in this session', kind: 'allow_always' },
    { optionId: 'deny', name: 'Deny', kind: 'reject_once' },
  ];
  const toolCall: ToolCallUpdate = {
    toolCallId: id,
    title: description,
    content: [...diffs, ...(text ? [words(text)] : [])],
  };
  const { outcome } = await client.request(
    'session/request_permission',
    { sessionId: threadId, toolCall, options },
    until(settled),
  );
  if (outcome.outcome !== 'selected') return 'typed';
  const allowed = outcome.optionId === 'allow' || outcome.optionId === 'remember';
  await api.decide(id, allowed ? 'allow' : 'deny', outcome.optionId === 'remember');
  return 'settled';
}

async function askForm(
  { client, api, threadId, settled }: Asking,
  id: string,
  message: string,
  labels: readonly string[],
): Promise<HowAsked> {
  const answer = {
    type: 'string' as const,
    title: 'Answer',
    ...(labels.length > 0 && { description: `One of: ${labels.join(', ')}; or your own words` }),
  };
  const response = await client.request(
    'elicitation/create',
    {
      mode: 'form',
      sessionId: threadId,
      toolCallId: id,
      message,
      requestedSchema: { type: 'object', properties: { answer }, required: ['answer'] },
    },
    until(settled),
  );
  const given =
    'content' in response ? (response.content as Record<string, unknown> | null | undefined)?.answer : undefined;
  if (response.action !== 'accept' || typeof given !== 'string' || given.trim() === '') return 'typed';
  await api.answer(threadId, id, given);
  return 'settled';
}

/** An editor without forms lets a person choose by the dialogue that it has for permissions. */
async function askChoice(
  { client, api, threadId, settled }: Asking,
  id: string,
  title: string,
  labels: readonly string[],
): Promise<HowAsked> {
  const options: PermissionOption[] = [
    ...labels.map((name, index) => ({ optionId: String(index), name, kind: 'allow_once' as const })),
    { optionId: LATER, name: 'Answer in my own words', kind: 'reject_once' as const },
  ];
  const { outcome } = await client.request(
    'session/request_permission',
    { sessionId: threadId, toolCall: { toolCallId: id, title, content: [words(title)] }, options },
    until(settled),
  );
  const chosen = outcome.outcome === 'selected' ? labels[Number(outcome.optionId)] : undefined;
  if (chosen === undefined) return 'typed';
  await api.answer(threadId, id, chosen);
  return 'settled';
}

/** A plan of an agent is quoted. */
const NUMBERED = /^(?:> ?)?\s{0,3}\d{1,3}[.)]\s+(\S.*)$/;
const BULLET = /^(?:> ?)?\s{0,3}[-*]\s+(\S.*)$/;

/** The steps of a plan that waits for a yes: its lines that are items of a list. */
export function planIn(asked: Asked): PlanEntry[] {
  const question = 'input' in asked ? asked.input.request.questions[0] : undefined;
  if (question?.header !== 'Plan') return [];
  const lines = question.question.split('\n');
  const items = (mark: RegExp) => lines.flatMap((line) => mark.exec(line)?.[1] ?? []);
  const numbered = items(NUMBERED);
  // other lists of a plan that has numbered steps are about something else, such as its files
  return (numbered.length > 0 ? numbered : items(BULLET)).map((content) => ({
    content,
    priority: 'medium' as const,
    status: 'pending' as const,
  }));
}

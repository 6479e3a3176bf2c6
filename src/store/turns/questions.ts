import type { Selectable } from 'kysely';
import { capabilitiesOf } from '../../contracts/channels.ts';
import type { AskInput, AskResult, Danger } from '../../contracts/conversation.ts';
import type { DecidedBy, Decision, Identity } from '../../contracts/decision.ts';
import { outboxId } from '../../contracts/ids.ts';
import type { CallTaint, Sink } from '../../contracts/taint.ts';
import { alwaysHint, whyAsked } from '../../domain/consent/taint.ts';
import { pageEnd, visibleLine } from '../../domain/text/evidence.ts';
import { blockQuote } from '../../domain/text/foreign-text.ts';
import { onThread } from '../chats/events.ts';
import { cut, derivedId } from '../chats/ids.ts';
import { addItem } from '../chats/items.ts';
import { dropUnsent } from '../chats/outbox.ts';
import { type Db, json, type Tx } from '../postgres/database.ts';
import { appendEvents } from '../postgres/write-batch.ts';
import { settleCall } from './calls.ts';
import { inputRequest, shownEvidence } from './question-payloads.ts';
import type { QuestionTable } from './tables.ts';
import { giveGrant } from './taint.ts';

export type Question = Selectable<QuestionTable>;

/** The open question of a thread: the one with this id, else the latest asked. */
export async function openQuestion(tx: Tx, threadId: string, id?: string): Promise<Question | undefined> {
  let query = tx.selectFrom('questions').selectAll().where('thread_id', '=', threadId).where('state', '=', 'open');
  if (id !== undefined) query = query.where('id', '=', id);
  return await query.orderBy('asked_at', 'desc').limit(1).executeTakeFirst();
}

/** The thread in which an approval was asked for, whether it is open or not. */
export const threadOfApproval = async (db: Db, id: string): Promise<string | undefined> =>
  (await db.selectFrom('questions').select('thread_id').where('id', '=', id).where('kind', '=', 'approval').executeTakeFirst())?.thread_id;

/** The decision that the store has; null while the question is open, or was never asked. */
export async function decisionOf(db: Db, id: string): Promise<Decision | null> {
  const question = await db.selectFrom('questions').select(['state', 'decision']).where('id', '=', id).executeTakeFirst();
  if (!question || question.state === 'open') return null;
  return question.decision ?? 'deny';
}

/** An approval is true only with who gave it and when. */
export const isAllowed = ({ state, decision, decided_by, decided_at }: Pick<Question, 'state' | 'decision' | 'decided_by' | 'decided_at'>): boolean =>
  state === 'answered' && decision === 'allow' && decided_by !== null && decided_at !== null;

/** What "yes all" decides about a question that is not put to anybody: by whom it was said, or the client that began the thread with `auto_approve`. */
export async function standingConsent(tx: Tx, threadId: string) {
  const said = await tx
    .selectFrom('questions')
    .select(['id', 'decided_by'])
    .where('thread_id', '=', threadId)
    .where('remember', '=', true)
    .where('decision', '=', 'allow')
    .orderBy('decided_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  const by: DecidedBy = said?.decided_by ? { ...said.decided_by, standing: said.id } : { role: 'client', channel: 'api' };
  return { state: 'answered' as const, decision: 'allow' as const, answer: null, decided_by: json(by), decided_at: new Date() };
}

/** All open questions of a thread, in the order of asking. */
export const openQuestions = (tx: Tx, threadId: string): Promise<Question[]> =>
  tx.selectFrom('questions').selectAll().where('thread_id', '=', threadId).where('state', '=', 'open').orderBy('asked_at').orderBy('number').execute();

/** True while a thread waits for an answer. */
export async function isAsked(db: Db | Tx, threadId: string): Promise<boolean> {
  const row = await db.selectFrom('questions').select('id').where('thread_id', '=', threadId).where('state', '=', 'open').limit(1).executeTakeFirst();
  return row !== undefined;
}

/** How dangerous the call is that an approval is asked for, as it was when the model made it, and the sinks for which text of others makes it a question. */
export async function dangerOf(tx: Tx, question: Question): Promise<{ danger: Danger; tainted: boolean; grantable: readonly Sink[] }> {
  // what a coding task wants to do is not ours to rate
  if (!question.call_id) return { danger: 'DANGEROUS', tainted: false, grantable: [] };
  const { danger, taint } = await tx.selectFrom('calls').select(['danger', 'taint']).where('id', '=', question.call_id).executeTakeFirstOrThrow();
  const asks = taint?.asks ?? [];
  return { danger, tainted: asks.length > 0, grantable: taint?.each ? [] : asks };
}

export const numbered = (options: readonly string[]): string => options.map((option, index) => `${index + 1}. ${option}`).join('\n');

/** What an approval says: the question in the words of a person, and what it is decided by. */
export interface Approval {
  sentence: string;
  evidence: string;
  /** what the model said beside the call */
  intent: string | null;
}

/** Asks, once for a call: question row, event and outbox row in one transaction. */
export async function ask(db: Db, input: AskInput, approval: Approval | null): Promise<AskResult> {
  // the id that `item.started` announced: clients show the question with its call
  const questionId = input.callId;
  const { turnId, threadId, kind } = input;
  const out = outboxId(turnId, questionId);
  return await onThread(db, threadId, async (tx, { chatId: chat_id, at }) => {
    const known = await tx.selectFrom('questions').selectAll().where('id', '=', questionId).executeTakeFirst();
    if (known) return { questionId, outboxId: out, title: titleOf(known), ...(known.state !== 'open' && { decided: known.decision ?? 'deny' }) };
    const call = await tx.selectFrom('calls').selectAll().where('id', '=', input.callId).executeTakeFirstOrThrow();
    const about = { id: questionId, chat_id, thread_id: threadId, turn_id: turnId, call_id: input.callId, kind };
    if (kind === 'approval') {
      const turn = await tx.selectFrom('turns').select('auto_approve').where('id', '=', turnId).executeTakeFirst();
      // "yes all" to another call of this step came while this one waited for its turn; it never covers what text of others may have led to
      if (turn?.auto_approve && !call.taint?.asks.length) {
        const allowed = await standingConsent(tx, threadId);
        await tx
          .insertInto('questions')
          .values({ ...about, prompt: approval?.sentence ?? call.name, options: '[]', ...allowed })
          .execute();
        return { questionId, outboxId: out, title: '', decided: 'allow' };
      }
    }
    const args = call.args as { question?: string; options?: string[] };
    const options = kind === 'question' ? (args.options ?? []) : [];
    const prompt = approval ? approval.sentence : (args.question ?? '');
    const asked = await openedNow(tx, {
      chatId: chat_id,
      threadId,
      at,
      evidence: approval ? [...warning(call.taint), approval.evidence].filter(Boolean).join('\n\n') : null,
    });
    await tx
      .insertInto('questions')
      .values({ ...about, ...asked, prompt, options: json(options), state: 'open', decision: null, answer: null })
      .execute();
    const body = approval ? approvalText({ prompt, ...asked }) : options.length > 0 ? `${prompt}\n${numbered(options)}` : prompt;
    await tx.insertInto('outbox').values({ id: out, chat_id, thread_id: threadId, turn_id: turnId, kind: 'question', body }).execute();
    const payload = approval
      ? {
          id: questionId,
          approval_id: questionId,
          tool_name: call.name,
          description: prompt,
          intent_summary: approval.intent,
          input: call.args,
          ...shownEvidence(asked),
        }
      : inputRequest({ id: questionId, prompt, options });
    await appendEvents(tx, threadId, [{ event: approval ? 'approval.required' : 'user_input.required', turnId, payload }]);
    return { questionId, outboxId: out, title: titleOf({ kind, prompt }) };
  });
}

/** Why text of others makes this a question, and how it is allowed for good. */
const warning = (taint: CallTaint | null): string[] =>
  taint?.asks.length ? [visibleLine([whyAsked(taint), alwaysHint(taint)].filter(Boolean).join(' '))] : [];

/** What every open question has: its number among those of its thread, and what of it is shown now. A screen shows it at once; a phone when its server has it. */
export async function openedNow(tx: Tx, it: { chatId: string; threadId: string; at: Date; evidence: string | null }) {
  const others = await openQuestions(tx, it.threadId);
  const { screen } = capabilitiesOf(it.chatId);
  // programs page by themselves
  const whole = screen === 'client';
  return {
    number: Math.max(0, ...others.map(({ number }) => number)) + 1,
    evidence: it.evidence,
    shown: it.evidence === null ? 0 : whole ? it.evidence.length : pageEnd(it.evidence, 0),
    delivered_at: screen ? it.at : null,
  };
}

/** An approval as a message: the question, the first page of what it is decided by, and what can be answered. */
export const approvalText = (it: Pick<Question, 'prompt' | 'evidence' | 'shown' | 'number'>): string =>
  [numberedPrompt(it), ...(it.evidence ? [fenced(it.evidence.slice(0, it.shown))] : []), howToAnswer({ kind: 'approval', options: [], ...it })].join('\n\n');

/** The number is said where there may be others. */
export const numberedPrompt = ({ number, prompt }: Pick<Question, 'number' | 'prompt'>): string => (number > 1 ? `${number}. ${prompt}` : prompt);

export function howToAnswer({ kind, options, evidence, shown }: Pick<Question, 'kind' | 'options' | 'evidence' | 'shown'>): string {
  if (kind === 'question') return options.length > 0 ? 'Answer with a number or in your own words.' : 'Answer in your own words.';
  const rest = evidence === null ? 0 : evidence.length - shown;
  return rest > 0
    ? `This is the beginning; ${rest} characters follow. Say "more" to read on. Then answer yes, no, skip or yes all.`
    : 'Answer yes, no, skip or yes all.';
}

/** The next page of what an approval is decided by, as a message. The caller holds `lockThread`. */
export async function readOn(tx: Tx, question: Question, at: Date): Promise<string> {
  const { evidence, shown } = question;
  if (evidence === null || shown >= evidence.length) return `That was all of it. ${howToAnswer(question)}`;
  const end = pageEnd(evidence, shown);
  // what is shown now has to be read before a yes counts
  await tx.updateTable('questions').set({ shown: end, delivered_at: at }).where('id', '=', question.id).execute();
  return `${fenced(evidence.slice(shown, end))}\n\n${howToAnswer({ ...question, shown: end })}`;
}

/** Evidence holds no fence of its own. */
const fenced = (text: string): string => `\`\`\`\n${text.replace(/\n$/, '')}\n\`\`\``;

/** A few words of a question for operators; an approval is named by its tool already. */
const titleOf = (question: Pick<Question, 'kind' | 'prompt'>): string =>
  question.kind === 'question' ? cut(question.prompt.replace(/\s+/g, ' ').trim(), 60) : '';

/** An answer becomes the call's result in the same transaction; nothing has to be carried by hand afterwards. The caller holds `lockThread`. */
export async function answerQuestion(tx: Tx, question: Question, answer: string, by: Identity): Promise<void> {
  await decided(tx, question, { state: 'answered', decision: 'answered', answer, by });
  await appendEvents(tx, question.thread_id, [{ event: 'user_input.answered', turnId: question.turn_id, payload: { input_id: question.id } }]);
  if (question.call_id) await settleCall(tx, question.call_id, { ok: true, output: answer, metadata: { answer } });
}

export interface Verdict {
  decision: 'allow' | 'deny';
  /** it holds for everything that follows in the thread */
  remember: boolean;
  /** a denial that lets the work go on without the call */
  skip?: boolean;
  /** it holds for this sink in this chat, whatever was read before */
  always?: Sink;
}

/** A denial becomes the call's result; after an allowance the call runs. The caller holds `lockThread`. */
export async function decideQuestion(tx: Tx, question: Question, it: Verdict, by: Identity): Promise<void> {
  const { decision, remember, skip = false, always } = it;
  await decided(tx, question, { state: 'answered', decision, answer: decision, remember: remember && decision === 'allow', by });
  await appendEvents(tx, question.thread_id, [
    { event: 'approval.decided', turnId: question.turn_id, payload: { approval_id: question.id, decision, remember } },
  ]);
  if (decision === 'allow' && always) await giveGrant(tx, question.chat_id, always, question.id);
  if (decision === 'allow' && remember) {
    await tx.updateTable('threads').set({ auto_approve: true }).where('id', '=', question.thread_id).execute();
    await tx.updateTable('turns').set({ auto_approve: true }).where('id', '=', question.turn_id).execute();
  }
  if (decision === 'deny' && question.call_id) {
    const call = await tx.selectFrom('calls').select('name').where('id', '=', question.call_id).executeTakeFirstOrThrow();
    const output = skip
      ? `Skipped by the person: ${call.name} was not run. Go on without it; do not try it another way.`
      : `The person said no to "${question.prompt}" It was not done (${call.name} was denied by user).`;
    await settleCall(tx, question.call_id, { ok: false, output });
  }
}

/** A question that nobody answered in time ends: a decision, too. False when an answer came first. */
export async function expireQuestion(db: Db, questionId: string): Promise<boolean> {
  const asked = await threadOf(db, questionId);
  if (!asked) return false;
  return await onThread(db, asked, async (tx) => {
    const current = await openQuestion(tx, asked, questionId);
    if (!current) return false;
    await decided(tx, current, { state: 'expired', decision: current.kind === 'approval' ? 'deny' : 'answered', answer: null, by: null });
    const waited = Math.round((Date.now() - current.asked_at.getTime()) / 1000);
    await appendEvents(tx, current.thread_id, [
      current.kind === 'approval'
        ? { event: 'approval.timeout', turnId: current.turn_id, payload: { approval_id: current.id, timeout_secs: waited } }
        : { event: 'user_input.canceled', turnId: current.turn_id, payload: { id: current.id, terminal: 'expired' } },
    ]);
    if (current.call_id)
      await settleCall(tx, current.call_id, {
        ok: false,
        output: 'Nobody answered in time; the question has expired. Go on without it where that is safe, or say what is missing.',
      });
    return true;
  });
}

/** The one reminder of an open question: an outbox row and a line on the screens, or null when it was decided meanwhile. */
export async function remindQuestion(db: Db, questionId: string): Promise<string | null> {
  const asked = await threadOf(db, questionId);
  if (!asked) return null;
  return await onThread(db, asked, async (tx) => {
    const question = await openQuestion(tx, asked, questionId);
    if (!question) return null;
    const id = outboxId(question.turn_id, `${questionId}_reminder`);
    const prompt = question.task_id ? blockQuote(question.prompt) : question.prompt;
    const body = `I am still waiting for your answer:\n${prompt}${question.options.length > 0 ? `\n${numbered(question.options)}` : ''}`;
    await tx
      .insertInto('outbox')
      .values({ id, chat_id: question.chat_id, thread_id: question.thread_id, turn_id: question.turn_id, kind: 'notice', body })
      .onConflict((c) => c.column('id').doNothing())
      .execute();
    await addItem(tx, {
      id: derivedId('item_', id),
      turnId: question.turn_id,
      threadId: question.thread_id,
      kind: 'status',
      status: 'completed',
      summary: body,
      detail: body,
    });
    return id;
  });
}

const threadOf = async (db: Db, questionId: string): Promise<string | undefined> =>
  (await db.selectFrom('questions').select('thread_id').where('id', '=', questionId).executeTakeFirst())?.thread_id;

interface Decided {
  state: 'answered' | 'expired';
  decision: Decision;
  answer: string | null;
  remember?: boolean;
  by: DecidedBy | null;
}

async function decided(tx: Tx, question: Question, { by, remember = false, ...end }: Decided): Promise<void> {
  await tx
    .updateTable('questions')
    .set({ ...end, remember, decided_by: by && json(by), decided_at: new Date() })
    .where('id', '=', question.id)
    .where('state', '=', 'open')
    .execute();
  await dropUnsent(tx, [outboxId(question.turn_id, question.id)]);
}

import type { DecidedBy, Decision, Identity } from '../../../contracts/decision.ts';
import { outboxId } from '../../../contracts/ids.ts';
import type { Sink } from '../../../contracts/taint.ts';
import { ruleText } from '../../../domain/consent/kinds.ts';
import { mayTrust } from '../../../domain/consent/policy.ts';
import { blockQuote } from '../../../domain/text/foreign-text.ts';
import { derivedId } from '../../chats/ids.ts';
import { dropUnsent } from '../../chats/messages/outbox.ts';
import { secondAsking } from '../../chats/messages/outgoing.ts';
import { sayTo } from '../../chats/preferences.ts';
import { onThread, type ThreadTransaction } from '../../chats/thread-transaction.ts';
import { addItem } from '../../chats/threads/items.ts';
import { type Db, json, type Tx } from '../../postgres/database.ts';
import { notify, sendBeside } from '../replies.ts';
import { settleCall } from '../steps/calls.ts';
import { allowKind, countAnswer, kindOfCall } from '../steps/kinds.ts';
import { giveGrant } from '../steps/taint.ts';
import { numbered } from './question-text.ts';
import { openQuestion, type Question, threadOf } from './questions.ts';

/** An answer becomes the call's result in the same transaction. */
export async function answerQuestion(
  tx: ThreadTransaction,
  question: Question,
  answer: string,
  by: Identity,
): Promise<void> {
  await decided(tx.now, question, { state: 'answered', decision: 'answered', answer, by });
  tx.append({ event: 'user_input.answered', turnId: question.turn_id, payload: { input_id: question.id } });
  if (question.call_id) await settleCall(tx, question.call_id, { ok: true, output: answer, metadata: { answer } });
}

interface Verdict {
  decision: 'allow' | 'deny';
  /** it holds for everything that follows in the thread */
  remember: boolean;
  /** a denial after which the work continues without the call */
  skip?: boolean;
  /** it holds for these sinks in this chat, whatever was read */
  always?: readonly Sink[];
  /** it holds for its kind of action in its project */
  inProject?: boolean;
}

/** A denial becomes the call's result; an allowed call runs. */
export async function decideQuestion(
  tx: ThreadTransaction,
  question: Question,
  it: Verdict,
  by: Identity,
): Promise<void> {
  const { decision, skip = false, always = [] } = it;
  // "yes all" covers calls, and never money
  const remember = it.remember && question.budget === null;
  await decided(tx.now, question, {
    state: 'answered',
    decision,
    answer: decision,
    remember: remember && decision === 'allow',
    by,
  });
  tx.append(
    question.kind === 'plan'
      ? { event: 'user_input.answered', turnId: question.turn_id, payload: { input_id: question.id } }
      : {
          event: 'approval.decided',
          turnId: question.turn_id,
          payload: { approval_id: question.id, decision, remember },
        },
  );
  if (decision === 'allow' && question.budget) {
    const { scope, period, tokens, microUsd } = question.budget;
    const grant = { question_id: question.id, scope, period, tokens, micro_usd: microUsd };
    await tx.now.insertInto('budget_grants').values(grant).execute();
  }
  await countAnswer(tx.now, question, { decision, owner: mayTrust(by) });
  if (decision === 'allow' && it.inProject) await allowInProject(tx, question);
  if (decision === 'allow') for (const sink of always) await giveGrant(tx.now, question.chat_id, sink, question.id);
  if (decision === 'allow' && remember) {
    await tx.now.updateTable('threads').set({ auto_approve: true }).where('id', '=', question.thread_id).execute();
    await tx.now.updateTable('turns').set({ auto_approve: true }).where('id', '=', question.turn_id).execute();
  }
  if (decision === 'deny' && question.call_id) {
    const output = skip
      ? 'Skipped by the person: nothing was run. Go on without it; do not try it another way.'
      : `The person said no to "${question.prompt.split('\n', 1)[0]}" Nothing was run.`;
    await settleCall(tx, question.call_id, { ok: false, output });
  }
}

/** The person is told of the rule, and how to take it back. */
async function allowInProject(tx: ThreadTransaction, { id, call_id, turn_id, chat_id }: Question): Promise<void> {
  const kind = await kindOfCall(tx.now, call_id);
  if (!kind) return;
  await allowKind(tx.now, chat_id, kind, id);
  const body = ruleText(kind, await sayTo(tx.now, chat_id));
  await sendBeside(tx, await notify(tx, { turnId: turn_id, key: `${id}_rule`, body }));
}

/** Ends a question that nobody answered in time, which is a decision too. False when an answer came first. */
export async function expireQuestion(db: Db, questionId: string): Promise<boolean> {
  const asked = await threadOf(db, questionId);
  if (!asked) return false;
  return await onThread(db, asked, async (tx) => {
    const current = await openQuestion(tx.now, asked, questionId);
    if (!current) return false;
    await decided(tx.now, current, {
      state: 'expired',
      decision: current.kind === 'question' ? 'answered' : 'deny',
      answer: null,
      by: null,
    });
    const waited = Math.round((Date.now() - current.asked_at.getTime()) / 1000);
    tx.append(
      current.kind === 'approval'
        ? {
            event: 'approval.timeout',
            turnId: current.turn_id,
            payload: { approval_id: current.id, timeout_secs: waited },
          }
        : { event: 'user_input.canceled', turnId: current.turn_id, payload: { id: current.id, terminal: 'expired' } },
    );
    if (current.call_id)
      await settleCall(tx, current.call_id, {
        ok: false,
        output:
          'Nobody answered in time; the question has expired. Go on without it where that is safe, or say what is missing.',
      });
    return true;
  });
}

/**
 * The one reminder of an open question: an outbox row and a line on the screens; null when it was decided meanwhile.
 */
export async function remindQuestion(db: Db, questionId: string): Promise<string | null> {
  const asked = await threadOf(db, questionId);
  if (!asked) return null;
  return await onThread(db, asked, async (tx) => {
    const question = await openQuestion(tx.now, asked, questionId);
    if (!question) return null;
    const id = outboxId(question.turn_id, `${questionId}_reminder`);
    const prompt = question.task_id ? blockQuote(question.prompt) : question.prompt;
    const say = await sayTo(tx.now, question.chat_id);
    const body = [say('answer.waiting'), prompt, numbered(question.options)].filter(Boolean).join('\n');
    await tx.now
      .insertInto('outbox')
      .values({
        id,
        chat_id: question.chat_id,
        thread_id: question.thread_id,
        turn_id: question.turn_id,
        kind: 'notice',
        body,
      })
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
  const { turn_id, id } = question;
  await dropUnsent(tx, [outboxId(turn_id, id), secondAsking(turn_id, id)]);
}

import { capabilitiesOf } from '../../../contracts/channels.ts';
import type { AskInput, AskResult } from '../../../contracts/conversation.ts';
import type { DecidedBy } from '../../../contracts/decision.ts';
import { outboxId } from '../../../contracts/ids.ts';
import type { CallTaint } from '../../../contracts/taint.ts';
import { offerText } from '../../../domain/consent/kinds.ts';
import { whyAsked } from '../../../domain/consent/taint.ts';
import { pageEnd, visibleLine } from '../../../domain/text/evidence.ts';
import { english, type Say } from '../../../domain/texts/say.ts';
import { cut } from '../../chats/ids.ts';
import { onThread, type ThreadTransaction } from '../../chats/thread-transaction.ts';
import { type Db, json, type Tx } from '../../postgres/database.ts';
import { settleCall } from '../steps/calls.ts';
import { isOffered } from '../steps/kinds.ts';
import { inputRequest, shownEvidence } from './question-payloads.ts';
import { approvalText, numbered } from './question-text.ts';
import { openQuestions, type Question } from './questions.ts';

/**
 * Who allowed a question that is not asked: the person who said "yes all", or the client that began the thread with
 * `auto_approve`.
 */
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
  const by: DecidedBy = said?.decided_by
    ? { ...said.decided_by, standing: said.id }
    : { role: 'client', channel: 'api' };
  return {
    state: 'answered' as const,
    decision: 'allow' as const,
    answer: null,
    decided_by: json(by),
    decided_at: new Date(),
  };
}

/** The text of an approval: the question in the person's words, and what it is decided by. */
interface Approval {
  sentence: string;
  evidence: string;
  /** what the model said with the call */
  intent: string | null;
  /** what the answer to another question has decided about it, too; `by`: null when nobody answered */
  decided?: { decision: 'allow' | 'deny'; by: DecidedBy | null } | null;
}

const NOT_SCHEDULED = 'It was asked together with its routine, and the person did not allow them. Nothing was run.';

/** Asks once for each call: question row, event and outbox row in one transaction. */
export async function ask(db: Db, input: AskInput, approval: Approval | null, say: Say = english): Promise<AskResult> {
  // the id that `item.started` announced, because clients show the question with its call
  const questionId = input.callId;
  const { turnId, threadId, kind } = input;
  const out = outboxId(turnId, questionId);
  return await onThread(db, threadId, async (tx) => {
    const { now, chatId: chat_id } = tx;
    const known = await now.selectFrom('questions').selectAll().where('id', '=', questionId).executeTakeFirst();
    if (known)
      return {
        questionId,
        outboxId: out,
        title: titleOf(known),
        ...(known.state !== 'open' && { decided: known.decision ?? 'deny' }),
      };
    const call = await now.selectFrom('calls').selectAll().where('id', '=', input.callId).executeTakeFirstOrThrow();
    const about = { id: questionId, chat_id, thread_id: threadId, turn_id: turnId, call_id: input.callId, kind };
    if (approval?.decided) {
      const { decision, by } = approval.decided;
      const settled = by
        ? { state: 'answered' as const, decided_by: json(by), decided_at: new Date() }
        : { state: 'expired' as const };
      await now
        .insertInto('questions')
        .values({ ...about, ...settled, prompt: approval.sentence, options: '[]', decision, answer: null })
        .execute();
      if (decision === 'deny') await settleCall(tx, call.id, { ok: false, output: NOT_SCHEDULED });
      return { questionId, outboxId: out, title: '', decided: decision };
    }
    if (kind === 'approval') {
      const turn = await now.selectFrom('turns').select('auto_approve').where('id', '=', turnId).executeTakeFirst();
      // "yes all" to another call of this step came while this one waited; it never covers what text of others may have
      // caused
      if (turn?.auto_approve && !call.taint?.asks.length) {
        const allowed = await standingConsent(now, threadId);
        await now
          .insertInto('questions')
          .values({ ...about, prompt: approval?.sentence ?? call.name, options: '[]', ...allowed })
          .execute();
        return { questionId, outboxId: out, title: '', decided: 'allow' };
      }
    }
    const args = call.args as { question?: string; options?: string[] };
    const options = kind === 'question' ? (args.options ?? []) : [];
    const offer =
      approval && call.kind && (await isOffered(now, chat_id, call.kind)) ? [offerText(call.kind, say)] : [];
    const prompt = approval
      ? [approval.sentence, ...warning(call.taint, say), ...offer].join('\n')
      : (args.question ?? '');
    const asked = await openedNow(tx, approval?.evidence ?? null);
    await now
      .insertInto('questions')
      .values({ ...about, ...asked, prompt, options: json(options), state: 'open', decision: null, answer: null })
      .execute();
    const body = approval
      ? approvalText({ prompt, ...asked }, say)
      : options.length > 0
        ? `${prompt}\n${numbered(options)}`
        : prompt;
    await now
      .insertInto('outbox')
      .values({ id: out, chat_id, thread_id: threadId, turn_id: turnId, kind: 'question', body })
      .execute();
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
    tx.append({ event: approval ? 'approval.required' : 'user_input.required', turnId, payload });
    return { questionId, outboxId: out, title: titleOf({ kind, prompt }) };
  });
}

/** Why text of others makes this a question. */
function warning(taint: CallTaint | null, say: Say): string[] {
  const why = taint?.asks.length ? whyAsked(taint, say) : '';
  return why ? [visibleLine(`${why} ${say('careful.wanted')}`)] : [];
}

/**
 * The parts of every open question: its number in the thread, and what of it is shown. A screen shows it at once, a
 * phone when its server has it.
 */
export async function openedNow(tx: ThreadTransaction, evidence: string | null) {
  const others = await openQuestions(tx.now, tx.threadId);
  const { screen } = capabilitiesOf(tx.chatId);
  // programs page by themselves
  const whole = screen === 'client';
  return {
    number: Math.max(0, ...others.map(({ number }) => number)) + 1,
    evidence,
    shown: evidence === null ? 0 : whole ? evidence.length : pageEnd(evidence, 0),
    delivered_at: screen ? tx.at : null,
  };
}

/** A few words of a question for operators; the tool already names an approval. */
const titleOf = (question: Pick<Question, 'kind' | 'prompt'>): string =>
  question.kind === 'question' ? cut(question.prompt.replace(/\s+/g, ' ').trim(), 60) : '';

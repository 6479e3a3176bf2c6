import type { Arrival } from '../../contracts/conversation.ts';
import type { DecidedBy, Displayed } from '../../contracts/decision.ts';
import { baselineOfQuestion, baselineWorkflowId, shipmentWorkflowId } from '../../contracts/ids.ts';
import { parseApproval } from '../../domain/chat/words/commands.ts';
import { type Asked, type Meaning, meaningOf } from '../../domain/chat/words/replies.ts';
import { mayApprove, maySpend, mayTrust } from '../../domain/consent/policy.ts';
import { egressVerdict, isAllowing } from '../../domain/tasks/egress.ts';
import { inline } from '../../domain/text/foreign-text.ts';
import { english, type Say } from '../../domain/texts/say.ts';
import { chosenIn } from '../../store/chats/preferences.ts';
import type { ThreadTransaction } from '../../store/chats/thread-transaction.ts';
import { isAboutHosts, settleHosts } from '../../store/kennel/questions/egress-questions.ts';
import type { Tx } from '../../store/postgres/database.ts';
import { answerQuestion, decideQuestion } from '../../store/turns/questions/decide.ts';
import { howToAnswer, numbered, readOn } from '../../store/turns/questions/question-text.ts';
import {
  dangerOf,
  openQuestion,
  openQuestions,
  type Question,
  threadOfApproval,
} from '../../store/turns/questions/questions.ts';
import { kindOfCall } from '../../store/turns/steps/kinds.ts';
import { isTurnRunning } from '../../store/turns/turns.ts';
import type { Approver, MessageId } from './message.ts';
import { once } from './once.ts';
import { type IntakeDeps, IntakeError } from './signal.ts';

/** Who answers. */
interface Answerer {
  by: DecidedBy;
  approver?: Approver;
}

/** How a question about hosts is answered. */
const howToAnswerHosts = ({ options }: Pick<Question, 'options'>, say: Say): string =>
  say('hosts.oneOf', { options: new Intl.ListFormat(say.locale, { type: 'disjunction' }).format(options) });

/**
 * Answers a question about hosts, and stores the rules with it. `unclear`: the words are no verdict. `reply`: this
 * person may not give it.
 */
async function answerHosts(
  tx: ThreadTransaction,
  question: Question,
  answer: string,
  { by, approver, say }: Answerer & { say: Say },
): Promise<'answered' | 'unclear' | { reply: string }> {
  const verdict = egressVerdict(answer);
  if (verdict === null) return 'unclear';
  if ((verdict === 'project' || verdict === 'never') && !mayTrust(by)) return { reply: say('hosts.owner') };
  if (approver && isAllowing(verdict) && !mayApprove('DANGEROUS', await approver(tx.now, question.turn_id)))
    return { reply: say('hosts.asker') };
  await settleHosts(tx.now, question, { answer, by });
  await answerQuestion(tx, question, answer, by);
  return 'answered';
}

export interface ApprovalDecision {
  approvalId: string;
  decision: 'allow' | 'deny';
  remember: boolean;
  /** characters of what it is decided by that the person was shown; unset where the client shows all of it anyway */
  seen?: number | undefined;
  channelMessageId: MessageId;
}

export interface InputAnswers {
  threadId: string;
  inputId: string;
  answers: Array<{ id: string; label: string; value: string }>;
  /** as in `ApprovalDecision` */
  seen?: number | undefined;
  channelMessageId: MessageId;
}

/** Decides the approval with the given id. */
export async function decideApproval(deps: IntakeDeps, request: ApprovalDecision): Promise<void> {
  const { approvalId, decision, channelMessageId: id } = request;
  const missing = new IntakeError('not_found', `no pending approval with id '${approvalId}'`);
  const threadId = await threadOfApproval(deps.db, approvalId);
  if (!threadId) throw missing;
  await once(deps, { threadId, id, body: decision }, async (tx, { inboxId, by }) => {
    const question = await openQuestion(tx.now, threadId, approvalId);
    if (!question) throw missing;
    if (decision === 'allow') requireSeen(question, request.seen);
    await decideQuestion(tx, question, request, by);
    return { arrival: arrivalOf(question, inboxId, decision), turnId: question.turn_id };
  });
}

/** Answers the question with the given id. */
export async function answerInput(deps: IntakeDeps, request: InputAnswers): Promise<void> {
  const { threadId, inputId, channelMessageId: id } = request;
  const text = request.answers.map((answer) => answer.value || answer.label).join('\n');
  await once(deps, { threadId, id, body: text }, async (tx, { inboxId, by }) => {
    const question = await openQuestion(tx.now, threadId, inputId);
    if (!question || question.kind === 'approval')
      throw new IntakeError(
        'not_found',
        `no pending user input with id '${inputId}' on thread ${threadId}: it was answered, has expired, or never was`,
      );
    const decided = question.kind === 'plan' ? parseApproval(text) : null;
    if (decided?.decision === 'allow') requireSeen(question, request.seen);
    if (decided) await decideQuestion(tx, question, { ...decided, always: [] }, by);
    else if (isAboutHosts(question)) await requireVerdict(tx, question, text, by);
    else await answerQuestion(tx, question, text, by);
    return { arrival: arrivalOf(question, inboxId, decided?.decision ?? 'answered'), turnId: question.turn_id };
  });
}

/** A yes counts only for what its giver was shown. @throws IntakeError */
function requireSeen({ evidence }: Question, seen: number | undefined): void {
  if (evidence === null || seen === undefined || seen >= evidence.length) return;
  throw new IntakeError(
    'conflict',
    `Only ${seen} of ${evidence.length} characters were shown of what this allows: show all of it before a yes`,
  );
}

/** A message that may answer a question. */
interface Reply extends Answerer {
  text: string;
  /** what the person is told instead, in their language */
  say: Say;
  inboxId: string;
  at: Date;
  readMs: number;
  displayed?: readonly Displayed[];
  /** it was put on exactly this question */
  questionId?: string;
  /** it quotes another message */
  elsewhere?: boolean;
}

/**
 * `answer`: it settles this question. `reply`: the person is told this instead. `unclear`: it goes to the model, and
 * the person is told that the question is still open.
 */
type Answered = { answer: Arrival; question: Question } | { reply: string } | { unclear: string } | null;

/** What a message does to the open questions of its thread; null when nothing. */
export async function answerOpen(tx: ThreadTransaction, reply: Reply): Promise<Answered> {
  const { say } = reply;
  const open = await openQuestions(tx.now, tx.threadId);
  if (reply.questionId && !open.some(({ id }) => id === reply.questionId)) return { reply: say('answer.settled') };
  const meaning = meaningOf(
    reply.text,
    open.map((question) => toAsked(question, reply)),
    { at: reply.at, readMs: reply.readMs, on: reply.questionId, elsewhere: reply.elsewhere },
  );
  if (!meaning) return null;
  const named = (id: string): Question => open.find((question) => question.id === id)!;
  const [first] = 'questions' in meaning ? meaning.questions.map(named) : [];
  switch (meaning.kind) {
    case 'decides':
      return await decide(tx, named(meaning.question), meaning, reply);
    case 'answers': {
      const question = named(meaning.question);
      if (isAboutHosts(question)) return await hostsAnswered(tx, question, meaning.text, reply);
      await answerQuestion(tx, question, meaning.text, reply.by);
      return { answer: arrivalOf(question, reply.inboxId, 'answered'), question };
    }
    case 'more':
      return { reply: await readOn(tx.now, named(meaning.question), reply.at, say) };
    case 'stray':
      return {
        reply: `${say('answer.stray', { said: reply.text.trim() })}\n${numbered(named(meaning.question).options.map((option) => inline(option)))}`,
      };
    case 'unread':
      return { reply: say('answer.unread') };
    case 'no such number':
      return {
        reply: `${say('answer.noNumber', { number: meaning.number, count: open.length })}\n${list(open)}`,
      };
    case 'which':
      return {
        reply: [
          say('answer.which'),
          list(meaning.questions.map(named)),
          say('answer.name', { number: first!.number }),
        ].join('\n'),
      };
    case 'elsewhere':
      return {
        reply: [say('answer.quotes'), list(meaning.questions.map(named)), say('answer.noQuote')].join('\n'),
      };
    case 'too early':
      return {
        reply: [say('answer.early'), list(meaning.questions.map(named)), howToAnswer(first!, say)].join('\n'),
      };
    case 'unclear':
      return { unclear: stillOpen(meaning.questions.map(named), say) };
  }
}

async function hostsAnswered(tx: ThreadTransaction, question: Question, text: string, reply: Reply): Promise<Answered> {
  const answered = await answerHosts(tx, question, text, reply);
  if (answered === 'unclear')
    return {
      unclear: [reply.say('hosts.stillOpen'), list([question]), howToAnswerHosts(question, reply.say)].join('\n'),
    };
  return answered === 'answered' ? { answer: arrivalOf(question, reply.inboxId, 'answered'), question } : answered;
}

/** A program's answer about hosts must be a verdict. */
async function requireVerdict(tx: ThreadTransaction, question: Question, text: string, by: DecidedBy): Promise<void> {
  const answered = await answerHosts(tx, question, text, { by, say: english });
  if (answered !== 'answered')
    throw new IntakeError('invalid', answered === 'unclear' ? howToAnswerHosts(question, english) : answered.reply);
}

async function decide(
  tx: ThreadTransaction,
  question: Question,
  { answer }: Extract<Meaning, { kind: 'decides' }>,
  reply: Reply,
): Promise<Answered> {
  const { decision, always, inProject } = answer;
  const { by, approver, say } = reply;
  const { danger, tainted, asksAnyway, grantable } = await dangerOf(tx.now, question);
  // where text of others is the reason for asking, "yes all" would not stop it
  const sinks = always === 'asked' ? grantable : always ? [always] : [];
  const remember = (answer.remember || (always === 'asked' && !asksAnyway)) && question.budget === null;
  if (question.budget && decision === 'allow' && !maySpend(by)) return { reply: say('owner.spend') };
  if (decision === 'allow' && baselineOfQuestion(question.id) !== null && !mayTrust(by))
    return { reply: say('owner.project') };
  if ((remember || always || inProject) && !mayTrust(by)) return { reply: say('owner.all') };
  if (always === 'asked' && asksAnyway && grantable.length === 0) return { reply: say('answer.eachTime') };
  if (inProject) {
    const refused = await notInProject(tx, question, { shared: approver !== undefined, say });
    if (refused) return { reply: refused };
  }
  // a permanent permission covers only what was asked about
  if (sinks.some((sink) => !grantable.includes(sink))) return { unclear: stillOpen([question], say) };
  // allowing everything that follows includes what is dangerous
  if (
    approver &&
    decision === 'allow' &&
    !mayApprove(remember ? 'DANGEROUS' : danger, await approver(tx.now, question.turn_id), tainted)
  )
    return { reply: say(tainted ? 'owner.tainted' : 'owner.asker') };
  await decideQuestion(tx, question, { ...answer, remember, always: sinks }, by);
  if (await isOfWaitingSchedule(tx.now, question)) return { reply: scheduleDecided(question, decision, say) };
  return { answer: arrivalOf(question, reply.inboxId, decision), question };
}

/** Why nothing can be allowed for the project; null when it can. */
async function notInProject(
  tx: ThreadTransaction,
  { call_id }: Question,
  { shared, say }: { shared: boolean; say: Say },
): Promise<string | null> {
  if (shared) return say('answer.inGroup');
  const { autonomy } = await chosenIn(tx.now, tx.chatId);
  if (autonomy === 'supervised') return say('answer.inSupervised');
  if (autonomy === 'autonomous') return say('answer.inAutonomous');
  return (await kindOfCall(tx.now, call_id)) ? null : say('answer.eachTime');
}

/** No turn or task waits for this answer: the schedule looks at it when it is to run again. */
const isOfWaitingSchedule = async (tx: Tx, { budget, task_id, turn_id }: Question): Promise<boolean> =>
  budget !== null && !budget.workflowId && task_id === null && !(await isTurnRunning(tx, turn_id));

function scheduleDecided({ budget }: Question, decision: 'allow' | 'deny', say: Say): string {
  if (decision === 'allow') return say('answer.spendMore');
  return say('answer.spendNoMore', { period: budget!.period.length > 'YYYY-MM'.length ? 'day' : 'month' });
}

function arrivalOf(
  { id, task_id, shipment_id, budget }: Question,
  inboxId: string,
  decision: 'answered' | 'allow' | 'deny',
): Arrival {
  const baselineId = baselineOfQuestion(id);
  return {
    kind: 'answer',
    inboxId,
    questionId: id,
    decision,
    ...(task_id && { taskId: task_id }),
    ...(shipment_id && { workflowId: shipmentWorkflowId(shipment_id) }),
    ...(baselineId && { workflowId: baselineWorkflowId(baselineId) }),
    ...(budget?.workflowId && { workflowId: budget.workflowId }),
  };
}

const stillOpen = (questions: readonly Question[], say: Say): string =>
  [say('answer.open'), list(questions), howToAnswer(questions[0]!, say)].join('\n');

/** Questions that are repeated, with their choices. Among several a number is that of a question. */
function list(questions: readonly Question[]): string {
  const choices = (question: Question): string[] =>
    isAboutHosts(question) ? [] : question.options.map((option) => inline(option));
  const [first] = questions;
  if (questions.length === 1 && choices(first!).length > 0) return `${first!.prompt}\n${numbered(choices(first!))}`;
  return questions
    .map((question) => {
      const among = choices(question).join(', ');
      return `${question.number}. ${question.prompt}${among && ` (${among})`}`;
    })
    .join('\n');
}

/** A question as the rules for replies read it. */
export const toAsked = (question: Question, reply: Pick<Reply, 'at' | 'displayed'>): Asked => {
  const { id, number, kind, options, delivered_at, evidence, shown } = question;
  return {
    id,
    number,
    kind,
    options,
    deliveredAt: shownAt(id, delivered_at, reply),
    unread: evidence !== null && shown < evidence.length,
    noAtOnce: kind !== 'question' || isAboutHosts(question),
  };
};

/** When the question was shown: as stored, or later when the screen says that another page of it was shown later. */
function shownAt(id: string, delivered: Date | null, { displayed, at }: Pick<Reply, 'at' | 'displayed'>): Date | null {
  if (!displayed) return delivered;
  const ms = displayed.find((question) => question.id === id)?.ms;
  return ms === undefined || delivered === null ? null : new Date(Math.max(delivered.getTime(), at.getTime() - ms));
}

import { sql } from 'kysely';
import type { DecidedBy, Decision } from '../../../contracts/decision.ts';
import { mayTrust } from '../../../domain/consent/policy.ts';
import {
  type AskedHost,
  type EgressVerdict,
  egressAnswer,
  egressOptions,
  egressQuestion,
  egressVerdict,
  HOSTS_NAMED,
  isAllowing,
  shownHost,
} from '../../../domain/tasks/egress.ts';
import { type Registry, registryOptions, registryQuestion } from '../../../domain/tasks/registries/registries.ts';
import { sayTo } from '../../chats/preferences.ts';
import { onThread } from '../../chats/thread-transaction.ts';
import type { Db, Tx } from '../../postgres/database.ts';
import { openedNow } from '../../turns/questions/ask.ts';
import { inputRequest } from '../../turns/questions/question-payloads.ts';
import { numbered } from '../../turns/questions/question-text.ts';
import type { Question } from '../../turns/questions/questions.ts';
import { addRules, beginOnce, decidedOf, noteAsk, openAsks, ruleFor, rulesOfTask } from '../egress-rules.ts';
import { findTask, type Task } from '../tasks/tasks.ts';
import { insertQuestion, placeOfQuestion, showQuestion, warningsOf } from './show-question.ts';
import { findQuestion, latestQuestionOfTask } from './task-questions.ts';

/** A full stop is in no id that a container can choose. */
const MARK = '_egress.';
const questionIdOf = (taskId: string, number: number): string => `${taskId}${MARK}${number}`;

export const isAboutHosts = ({ id, task_id }: Pick<Question, 'id' | 'task_id'>): boolean =>
  task_id !== null && id.startsWith(`${task_id}${MARK}`);

/** The question before a task begins. */
const isAboutProject = (questionId: string): boolean => questionId.endsWith(`${MARK}0`);

/**
 * Records registries that a project uses, before its task begins. Returns the id of the question about them; null when
 * a person has decided about all of them, or this task has asked already. `isListed`: nobody is asked about those.
 */
export async function wantRegistries(
  db: Db,
  task: Task,
  registries: readonly Registry[],
  isListed: (at: AskedHost) => boolean,
): Promise<string | null> {
  const questionId = questionIdOf(task.id, 0);
  if (await findQuestion(db, questionId)) return null;
  const known = await rulesOfTask(db, task);
  const isOpen = (at: AskedHost): boolean => !isListed(at) && !ruleFor(known, at);
  for (const registry of registries) {
    const { manager, address } = registry;
    await noteAsk(db, task.id, registry, manager, {
      address,
      ...(!isOpen(registry) && { questionId: decidedOf(task.id) }),
    });
  }
  return registries.some(isOpen) ? questionId : null;
}

/** The package managers of a workspace and the addresses that they named last. */
export async function registriesOf(db: Db, { host, workspace }: Task): Promise<Map<string, string>> {
  const rows = await db
    .selectFrom('egress_asks as ask')
    .innerJoin('tasks as task', 'task.id', 'ask.task_id')
    .select(['ask.tool', 'ask.address'])
    .distinctOn('ask.tool')
    .where('task.host', '=', host)
    .where('task.workspace', '=', workspace)
    .where('ask.address', 'is not', null)
    .orderBy('ask.tool')
    .orderBy('ask.asked_at', 'desc')
    .execute();
  return new Map(rows.flatMap(({ tool, address }) => (tool && address ? [[tool, address] as const] : [])));
}

/** The package managers whose registries a person has allowed to a project, or refused. */
export async function managersDecided(db: Db, { host, workspace }: Task): Promise<ReadonlySet<string>> {
  const rows = await db
    .selectFrom('egress_rules as rule')
    .innerJoin('egress_asks as ask', (join) =>
      join
        .onRef('ask.question_id', '=', 'rule.question_id')
        .onRef('ask.host', '=', 'rule.host')
        .onRef('ask.port', '=', 'rule.port'),
    )
    .select('ask.tool')
    .distinct()
    .where('rule.kennel_host', '=', host)
    .where('rule.workspace', '=', workspace)
    .where('rule.task_id', 'is', null)
    .where('rule.revoked_at', 'is', null)
    .where(sql<boolean>`right(rule.question_id, ${MARK.length + 1}) = ${`${MARK}0`}`)
    .execute();
  return new Set(rows.flatMap(({ tool }) => tool ?? []));
}

/**
 * Hosts that turn up while a tool works belong to one question: nothing new for this long, or something waits for that
 * long.
 */
const SETTLE_MS = 3_000;
const PATIENCE_MS = 10_000;

/**
 * The question that a task must ask now: its id, and hosts for operators. Null when it asks for nothing, or may ask for
 * more in a moment.
 */
export async function dueEgress(db: Db, task: Task): Promise<{ questionId: string; hosts: string } | null> {
  const asks = await openAsks(db, task);
  const [oldest] = asks;
  if (!oldest || (oldest.ageMs < PATIENCE_MS && Math.min(...asks.map(({ ageMs }) => ageMs)) < SETTLE_MS)) return null;
  const { count } = await db
    .selectFrom('questions')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('task_id', '=', task.id)
    .where(sql<boolean>`starts_with(id, ${task.id + MARK})`)
    .executeTakeFirstOrThrow();
  return { questionId: questionIdOf(task.id, Number(count) + 1), hosts: asks.map((at) => shownHost(at)).join(', ') };
}

/**
 * Asks about all hosts that a task waits for, once for each question id. Hosts that are too many to name are refused
 * without a question. `own`: servers that the owner's settings name.
 */
export async function askAboutHosts(
  db: Db,
  task: Task,
  questionId: string,
  own: readonly AskedHost[] = [],
): Promise<{ outboxId: string; decided?: Decision }> {
  const { turnId, out } = placeOfQuestion(questionId);
  return await onThread(db, task.thread_id, async (tx) => {
    const known = await findQuestion(tx.now, questionId);
    if (known) return { outboxId: out, ...(known.state !== 'open' && { decided: known.decision ?? 'deny' }) };
    const asks = await openAsks(tx.now, task);
    // the answer to another task's question covers them
    if (asks.length === 0) return { outboxId: out, decided: 'answered' };
    const named = asks.slice(0, HOSTS_NAMED);
    const rest = asks.slice(HOSTS_NAMED);
    await tx.now
      .updateTable('egress_asks')
      .set({ question_id: questionId })
      .where('task_id', '=', task.id)
      .where('question_id', 'is', null)
      .execute();
    await addRules(tx.now, task, rest, { verdict: 'no', questionId, by: null });
    const tools = [...new Set(named.flatMap(({ tool }) => tool ?? []))].slice(0, 3);
    const about = { workspace: task.workspace, hosts: named, more: rest.length, tools, own };
    const say = await sayTo(tx.now, task.chat_id);
    const { prompt, options, how } = isAboutProject(questionId)
      ? { prompt: registryQuestion(about, say), options: registryOptions(say), how: say('registry.answer') }
      : {
          prompt: egressQuestion({ ...about, warnings: await warningsOf(tx.now, task, say) }, say),
          options: egressOptions(say),
          how: say('hosts.answer'),
        };
    const body = [prompt, numbered(options), how].join('\n\n');
    await showQuestion(tx, task, questionId, body);
    await insertQuestion(tx, task, {
      id: questionId,
      kind: 'question',
      prompt,
      options,
      ...(await openedNow(tx, null)),
    });
    tx.append({ event: 'user_input.required', turnId, payload: inputRequest({ id: questionId, prompt, options }) });
    return { outboxId: out };
  });
}

/**
 * Turns a settled question into rules, once. Nobody's answer is a no. `by`: who answers, when it is settled in this
 * transaction.
 */
export async function settleHosts(
  db: Db | Tx,
  question: Question,
  answered?: { answer: string; by: DecidedBy },
): Promise<void> {
  const task = await findTask(db, question.task_id!);
  if (!task) return;
  const { answer, by } = answered ?? { answer: question.answer, by: question.decided_by };
  await addRules(db, task, await namedIn(db, question), {
    verdict: verdictOn(question, answer, by),
    questionId: question.id,
    by,
  });
}

const verdictIn = (answer: string | null): EgressVerdict => (answer === null ? null : egressVerdict(answer)) ?? 'no';

/** A yes or no of the owner about the registries of a project holds for the project. */
function verdictOn({ id }: Question, answer: string | null, by: DecidedBy | null): EgressVerdict {
  const verdict = verdictIn(answer);
  if (!isAboutProject(id) || by === null || !mayTrust(by)) return verdict;
  return isAllowing(verdict) ? 'project' : 'never';
}

const namedIn = (db: Db | Tx, { id, task_id }: Question): Promise<AskedHost[]> =>
  db
    .selectFrom('egress_asks')
    .select(['host', 'port'])
    .where('task_id', '=', task_id)
    .where('question_id', '=', id)
    .orderBy('asked_at')
    .orderBy('host')
    .orderBy('port')
    .limit(HOSTS_NAMED)
    .execute();

/**
 * For a run that begins after an answer: what its agent is told. Null when the last question of the task was about
 * something else.
 */
export async function hostsAnswered(db: Db, task: Task): Promise<string | null> {
  const question = await latestQuestionOfTask(db, task.id);
  if (!question || question.state === 'open' || !isAboutHosts(question)) return null;
  await settleHosts(db, question);
  // its agent had not begun
  if (isAboutProject(question.id)) return null;
  await beginOnce(db, question.id);
  return egressAnswer(await namedIn(db, question), verdictIn(question.answer));
}

/** Whether a task's container waits for an answer about hosts. */
export async function waitsForHosts(db: Db, taskId: string): Promise<boolean> {
  const question = await latestQuestionOfTask(db, taskId);
  return question?.state === 'open' && isAboutHosts(question);
}

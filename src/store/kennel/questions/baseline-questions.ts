import { sql } from 'kysely';
import type { BaselineInput, ProjectLook, WhyUnchecked } from '../../../contracts/baseline.ts';
import { type AskedCheck, uncheckedText } from '../../../domain/tasks/checks/project-profile.ts';
import type { Told } from '../../../domain/texts/say.ts';
import { sayTo } from '../../chats/preferences.ts';
import type { Db } from '../../postgres/database.ts';
import { recordNotice } from '../../turns/complete-turn.ts';
import { isAllowed } from '../../turns/questions/questions.ts';
import { addRules } from '../egress-rules.ts';
import { keepAskedCheck, projectProfile } from '../workspaces/project-profiles.ts';
import { askOfWork } from './work-questions.ts';

/** The one question before a project is checked, and the message after it. */

const sourceOf = ({ workspace }: Pick<BaselineInput, 'workspace'>) =>
  ({ kind: 'command', label: `the files of ${workspace}` }) as const;

/** Asks once in a check. `quotes`: it has words of the project. Null where the chat has no thread. */
export async function askToCheck(
  db: Db,
  input: BaselineInput,
  asked: { prompt: Told; evidence?: string; quotes: boolean } & Omit<AskedCheck, 'questionId'>,
): Promise<Extract<ProjectLook, { what: 'asked' }> | null> {
  const { baselineId, round, chatId, host, workspace } = input;
  const { prompt, evidence, quotes, registries, environment } = asked;
  const id = `${baselineId}_${round}`;
  const question = {
    id,
    chatId,
    kind: 'approval' as const,
    prompt: prompt(await sayTo(db, chatId)),
    evidence,
    sources: quotes ? [sourceOf(input)] : [],
    tool: { name: 'check', input: { workspace } },
  };
  const opened = await askOfWork(db, question, ({ now }) =>
    keepAskedCheck(now, { host, workspace }, { questionId: id, registries, environment }),
  );
  return opened && { what: 'asked', ...opened };
}

/**
 * Makes a yes hold for the project: rules for exactly the hosts that the question named. Returns what was agreed to;
 * null without a yes to the question that was asked last.
 */
export async function settleCheck(
  db: Db,
  { baselineId, host, workspace }: Pick<BaselineInput, 'baselineId' | 'host' | 'workspace'>,
): Promise<AskedCheck | null> {
  const { asked } = await projectProfile(db, { host, workspace });
  if (!asked) return null;
  const question = await db.selectFrom('questions').selectAll().where('id', '=', asked.questionId).executeTakeFirst();
  if (!question || !isAllowed(question)) return null;
  await addRules(db, { id: baselineId, host, workspace }, asked.registries, {
    verdict: 'project',
    questionId: question.id,
    by: question.decided_by,
  });
  await keepAskedCheck(db, { host, workspace }, null);
  return asked;
}

/**
 * Takes the question about a project back, because a task begins there, which asks for what it needs itself. Returns
 * its id; null when none is open.
 */
export async function withdrawCheck(db: Db, at: Pick<BaselineInput, 'host' | 'workspace'>): Promise<string | null> {
  const { asked } = await projectProfile(db, at);
  if (!asked) return null;
  const withdrawn = await db
    .updateTable('questions')
    .set({ state: 'cancelled', decided_at: new Date() })
    .where('id', '=', asked.questionId)
    .where('state', '=', 'open')
    .executeTakeFirst();
  if (withdrawn.numUpdatedRows === 0n) return null;
  await keepAskedCheck(db, at, null);
  return asked.questionId;
}

/**
 * The message about a check, once for each. `quotes`: it has words of the project, such as names of tests. Returns its
 * outbox id.
 */
export async function tellOfCheck(
  db: Db,
  input: Pick<BaselineInput, 'baselineId' | 'round' | 'chatId' | 'workspace'>,
  { text, quotes }: { text: Told; quotes: boolean },
): Promise<string> {
  const outboxId = `out_${input.baselineId}_${input.round}`;
  await recordNotice(db, {
    chatId: input.chatId,
    outboxId,
    text: text(await sayTo(db, input.chatId)),
    kind: 'notice',
    ...(quotes && { sources: [sourceOf(input)] }),
    unasked: 'task',
  });
  return outboxId;
}

/**
 * The message that nothing is checked. Null where nobody wanted a check, where the project was deleted here, and where
 * the question was not answered but taken back or left to expire.
 */
export async function tellUnchecked(db: Db, { asks, ...input }: BaselineInput & WhyUnchecked): Promise<string | null> {
  if (!asks) return null;
  // who had a project deleted knows that it is gone
  if (input.why === 'gone' && !(await projectProfile(db, input)).isKnown) return null;
  if (input.why === 'no') {
    const question = await db
      .selectFrom('questions')
      .select('state')
      .where('id', '=', input.questionId)
      .executeTakeFirst();
    if (question?.state !== 'answered') return null;
  }
  return await tellOfCheck(db, input, {
    text: (say) => uncheckedText(input.workspace, input.why, say),
    quotes: false,
  });
}

/** A check whose question is open, or was answered with a yes that nothing was made of yet. */
export interface WaitingCheck extends Pick<BaselineInput, 'host' | 'workspace' | 'chatId' | 'channel'> {
  questionId: string;
  answered: boolean;
}

/** Checks that people asked for before `ageMs`, and that have not begun, in the order of their rounds. */
export const wantedChecks = (db: Db, ageMs: number, after: string, limit: number) =>
  db
    .selectFrom('project_profiles as profile')
    .innerJoin('chats', (on) => on.on(sql<boolean>`chats.id = profile.wanted->>'chatId'`))
    .select(['profile.host', 'profile.workspace', 'chats.id as chatId', 'chats.channel'])
    .select(sql<string>`profile.wanted->>'round'`.as('round'))
    .where(sql<Date>`(profile.wanted->>'at')::timestamptz`, '<', new Date(Date.now() - ageMs))
    .where(sql<string>`profile.wanted->>'round'`, '>', after)
    .orderBy(sql`profile.wanted->>'round'`)
    .limit(limit)
    .execute();

/** Those that were asked before `ageMs`, in the order of their ids. */
export const waitingChecks = (db: Db, ageMs: number, after: string, limit: number): Promise<WaitingCheck[]> =>
  db
    .selectFrom('project_profiles as profile')
    // one look by the id for each of the few profiles; a join may read all questions
    .innerJoinLateral(
      (e) =>
        e
          .selectFrom('questions')
          .select(['id', 'chat_id', 'state', 'decision', 'asked_at'])
          .where(sql<boolean>`id = profile.asked->>'questionId'`)
          .limit(1)
          .as('question'),
      (on) => on.onTrue(),
    )
    .innerJoin('chats', 'chats.id', 'question.chat_id')
    .select(['profile.host', 'profile.workspace', 'question.id as questionId', 'chats.id as chatId', 'chats.channel'])
    .select(sql<boolean>`question.state = 'answered'`.as('answered'))
    .where((e) =>
      e.or([
        e('question.state', '=', 'open'),
        e.and([e('question.state', '=', 'answered'), e('question.decision', '=', 'allow')]),
      ]),
    )
    .where('question.asked_at', '<', new Date(Date.now() - ageMs))
    .where('question.id', '>', after)
    .orderBy('question.id')
    .limit(limit)
    .execute();

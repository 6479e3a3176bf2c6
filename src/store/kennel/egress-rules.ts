import { type Selectable, sql } from 'kysely';
import type { DecidedBy } from '../../contracts/decision.ts';
import { membersOf } from '../../domain/settings/shapes.ts';
import {
  type AskedHost,
  type EgressVerdict,
  HOSTS_ASKED,
  isAllowing,
  isTool,
  ONCE_MS,
  shownHost,
} from '../../domain/tasks/egress.ts';
import { english, type Say } from '../../domain/texts/say.ts';
import { type Db, json, type Tx } from '../postgres/database.ts';
import type { EgressAskTable } from '../schema/tables/kennel.ts';
import { refusalsIn } from './egress.ts';
import type { Task } from './tasks/tasks.ts';
import { workspacesOfChat } from './workspaces/workspaces.ts';

/** Rules of people about hosts, and what tasks ask for without one. A rule holds for exactly one host and port. */

/** A rule that is not revoked. `over`: the rule has expired, and its open connections may finish. */
export interface EgressRule extends AskedHost {
  id: string;
  workspace: string;
  taskId: string | null;
  allowed: boolean;
  once: boolean;
  over: boolean;
}

type EgressAsk = Selectable<EgressAskTable>;
type OfTask = Pick<Task, 'id' | 'host' | 'workspace'>;

const rules = (db: Db | Tx) =>
  db
    .selectFrom('egress_rules')
    .select(['id', 'workspace', 'task_id as taskId', 'host', 'port', 'allowed'])
    .select(sql<boolean>`until is not null`.as('once'))
    .select(sql<boolean>`coalesce(until <= now(), false)`.as('over'))
    .where('revoked_at', 'is', null)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc');

/** The rules that count for a task, the latest first. */
export const rulesOfTask = (db: Db | Tx, { id, host, workspace }: OfTask): Promise<EgressRule[]> =>
  rules(db)
    .where('kennel_host', '=', host)
    .where('workspace', '=', workspace)
    .where((e) => e.or([e('task_id', 'is', null), e('task_id', '=', id)]))
    .execute();

/** The rules of some workspaces that concern more than a task that is over, the latest first. */
export const rulesOfWorkspaces = (
  db: Db | Tx,
  kennelHost: string,
  workspaces: readonly string[],
): Promise<EgressRule[]> =>
  workspaces.length === 0
    ? Promise.resolve([])
    : rules(db)
        .where('kennel_host', '=', kennelHost)
        .where('workspace', 'in', workspaces)
        .where((e) =>
          e.or([
            e('task_id', 'is', null),
            e('task_id', 'in', (task) =>
              task.selectFrom('tasks').select('tasks.id').where('tasks.ended_at', 'is', null),
            ),
          ]),
        )
        .execute();

/** The rule for a host: the latest one whose time is not over. */
export const ruleFor = (found: readonly EgressRule[], at: AskedHost): EgressRule | undefined =>
  found.find((rule) => !rule.over && rule.host === at.host && rule.port === at.port);

/** Stores rules of one answer. A second call with the same question adds nothing. */
export async function addRules(
  tx: Db | Tx,
  task: OfTask,
  hosts: readonly AskedHost[],
  rule: { verdict: EgressVerdict; questionId: string; by: DecidedBy | null },
): Promise<void> {
  if (hosts.length === 0) return;
  const { verdict, questionId, by } = rule;
  const task_id = verdict === 'project' || verdict === 'never' ? null : task.id;
  await tx
    .insertInto('egress_rules')
    .values(
      hosts.map(({ host, port }) => ({
        id: `${questionId}/${host}:${port}`,
        kennel_host: task.host,
        workspace: task.workspace,
        task_id,
        host,
        port,
        allowed: isAllowing(verdict),
        until: verdict === 'once' ? inMs(ONCE_MS) : null,
        question_id: questionId,
        decided_by: by && json(by),
      })),
    )
    .onConflict((c) => c.column('id').doNothing())
    .execute();
}

/** The minutes of a "once" begin again, when the session that asked resumes only now. */
export async function beginOnce(db: Db | Tx, questionId: string): Promise<void> {
  await db
    .updateTable('egress_rules')
    .set({ until: inMs(ONCE_MS) })
    .where('question_id', '=', questionId)
    .where('until', 'is not', null)
    .where('revoked_at', 'is', null)
    .execute();
}

/** Revokes every rule about a host in these workspaces. Returns the workspaces that had one. */
export async function revokeRules(
  tx: Db | Tx,
  kennelHost: string,
  workspaces: readonly string[],
  at: { host: string; port: number | null },
): Promise<string[]> {
  if (workspaces.length === 0) return [];
  let query = tx
    .updateTable('egress_rules')
    .set({ revoked_at: sql<Date>`now()` })
    .where('kennel_host', '=', kennelHost)
    .where('workspace', 'in', workspaces)
    .where('host', '=', at.host)
    .where('revoked_at', 'is', null);
  if (at.port !== null) query = query.where('port', '=', at.port);
  return [...new Set((await query.returning('workspace').execute()).map(({ workspace }) => workspace))];
}

/**
 * Records that a task asks for a host. False when it has asked for too many. A host whose question is settled is asked
 * for again. `registry`: what is known of one; with the id of a question it is not open.
 */
export async function noteAsk(
  db: Db,
  taskId: string,
  { host, port }: AskedHost,
  tool: string | null,
  registry: { address?: string | null; questionId?: string } = {},
): Promise<boolean> {
  const { address = null, questionId = null } = registry;
  // two requests of one program come at the same time
  const { rows } = await sql`
    insert into egress_asks (task_id, host, port, tool, address, question_id)
    select ${taskId}, ${host}, ${port}::int, ${tool}, ${address}, ${questionId}
    where (select count(*) from egress_asks where task_id = ${taskId}) < ${HOSTS_ASKED}
      or exists (select from egress_asks where task_id = ${taskId} and host = ${host} and port = ${port})
    on conflict (task_id, host, port) do update set
      -- a container may call itself anything; of a registry the package manager is known
      tool = case when egress_asks.address is null then coalesce(excluded.tool, egress_asks.tool) else egress_asks.tool end,
      address = coalesce(excluded.address, egress_asks.address),
      asked_at = case when ${settled} then now() else egress_asks.asked_at end,
      question_id = case when ${settled} then excluded.question_id else egress_asks.question_id end
    returning host`.execute(db);
  return rows.length > 0;
}

/**
 * Stands for the question about hosts that nobody need be asked about. An answer to another question must not hold for
 * them.
 */
export const decidedOf = (taskId: string): string => `${taskId}_egress.decided`;

/**
 * The question of an ask is decided. A question that is not seen is not: the upsert waits for the row while a question
 * about it is stored, goes on with the row of then, and still looks for the question as of before.
 */
const settled = sql<boolean>`(egress_asks.question_id = egress_asks.task_id || '_egress.decided'
  or exists (select from questions where questions.id = egress_asks.question_id and questions.state <> 'open'))`;

/** What a task asks for and is not part of a question yet, the first first. */
export async function openAsks(db: Db | Tx, task: OfTask): Promise<Array<EgressAsk & { ageMs: number }>> {
  const asks = await db
    .selectFrom('egress_asks')
    .selectAll()
    .select(sql<number>`(extract(epoch from now() - asked_at) * 1000)::float8`.as('ageMs'))
    .where('task_id', '=', task.id)
    .where('question_id', 'is', null)
    .orderBy('asked_at')
    .orderBy('host')
    .orderBy('port')
    .execute();
  if (asks.length === 0) return [];
  // another task of the workspace may have asked meanwhile
  const known = await rulesOfTask(db, task);
  return asks.filter((ask) => !ruleFor(known, ask));
}

const inMs = (ms: number) => sql<Date>`now() + ${ms} * interval '1 millisecond'`;

const REFUSED_SHOWN = 10;

/** Which hosts the tasks of a chat may reach. */
export const egressOfChat = async (db: Db | Tx, config: Listed, chatId: string, say: Say): Promise<EgressText> =>
  await egressText(db, config, await workspacesOfChat(db, chatId), say);

/** `named`: programs of the workspaces chose the names of some of the hosts. */
interface EgressText {
  text: string;
  named: boolean;
}
type Listed = { FETCH_KENNEL_EGRESS: string };

/** Which hosts the tasks in these workspaces may reach. */
export async function egressText(
  db: Db | Tx,
  { FETCH_KENNEL_EGRESS }: Listed,
  workspaces: ReadonlyArray<{ host: string; name: string }>,
  say: Say = english,
): Promise<EgressText> {
  const parts = await Promise.all(workspaces.map((workspace) => workspaceText(db, workspace, say)));
  const listed = membersOf(FETCH_KENNEL_EGRESS);
  const everywhere = listed.length > 0 ? [say('egress.all', { hosts: listed.join(', ') })] : [];
  const none = parts.length === 0 ? [say('egress.noWorkspace')] : [];
  return {
    text: [...everywhere, ...parts.map(({ text }) => text), ...none].join('\n\n'),
    named: parts.some(({ named }) => named),
  };
}

async function workspaceText(
  db: Db | Tx,
  { host, name: workspace }: { host: string; name: string },
  say: Say,
): Promise<EgressText> {
  const rules = (await rulesOfWorkspaces(db, host, [workspace])).filter(({ over }) => !over);
  const latest = rules.filter((rule, at) => rules.findIndex((one) => keyOf(one) === keyOf(rule)) === at);
  const refused = await refusalsIn(db, host, workspace, REFUSED_SHOWN);
  const lines = [
    ...latest.map((rule) =>
      say('egress.rule', { may: mayOf(rule), host: shownHost(rule, say), scope: scopeOf(rule, say) }),
    ),
    ...refused.map((one) => say('egress.refused', { host: shownHost(one, say), count: one.refused })),
  ].map((line) => `- ${line}`);
  if (lines.length === 0) return { text: say('egress.none', { workspace }), named: false };
  const [first] = latest;
  const removal = first ? [say('egress.remove', { host: isTool(first) ? shownHost(first) : first.host })] : [];
  return { text: [`${workspace}:`, ...lines, ...removal].join('\n'), named: true };
}

const mayOf = (rule: EgressRule): string =>
  rule.allowed ? (isTool(rule) ? 'use' : 'reach') : isTool(rule) ? 'notUse' : 'notReach';

const keyOf = ({ host, port, taskId }: EgressRule): string => `${host}:${port} ${taskId}`;

const scopeOf = ({ once, taskId }: EgressRule, say: Say): string =>
  say(taskId === null ? 'egress.project' : once ? 'egress.once' : 'egress.task');

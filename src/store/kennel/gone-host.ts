import { sayAgain } from '../../domain/texts/again.ts';
import { english } from '../../domain/texts/say.ts';
import { cut } from '../chats/ids.ts';
import { sayTo } from '../chats/preferences.ts';
import { appendAudit } from '../home/audit-log.ts';
import type { Db } from '../postgres/database.ts';
import { listHosts } from './hosts.ts';
import { closeTaskQuestions } from './questions/task-questions.ts';
import { endTaskItems } from './tasks/task-log.ts';
import { taskOutboxId, tellOfTask } from './tasks/task-news.ts';
import { endTask, type Task } from './tasks/tasks.ts';

/** A kennel host that will not come back, and what belongs to it. */
interface GoneHost {
  host: string;
  seenAt: Date;
  /** it renews its row, or its lease has not ended */
  alive: boolean;
  workspaces: string[];
  /** not finished */
  tasks: Task[];
}

export async function findGoneHost(db: Db, host: string): Promise<GoneHost | null> {
  const row = (await listHosts(db)).find((each) => each.host === host);
  if (!row) return null;
  const [workspaces, tasks] = await Promise.all([
    db.selectFrom('workspaces').select('name').where('host', '=', host).orderBy('name').execute(),
    db
      .selectFrom('tasks')
      .selectAll()
      .where('host', '=', host)
      .where('ended_at', 'is', null)
      .orderBy('created_at')
      .execute(),
  ]);
  const leased = row.lease_until !== null && row.lease_until > new Date();
  return {
    host,
    seenAt: row.seen_at,
    alive: row.alive || leased,
    workspaces: workspaces.map(({ name }) => name),
    tasks,
  };
}

/**
 * Ends a task whose host is gone for good, and leaves the message for its chat. A second call changes nothing. The
 * message says what a person cannot know otherwise: nobody looks for its changes any more.
 */
export async function loseTask(db: Db, task: Task): Promise<void> {
  const reason = english('why.hostGone', { host: task.host, workspace: task.workspace });
  await closeTaskQuestions(db, task.id);
  await endTaskItems(db, task);
  const result = { summary: reason, changes: null, tests: null, said: '' };
  const ended = await endTask(db, task.id, {
    state: 'failed',
    reason,
    result,
    outboxId: taskOutboxId(task.id, 'result'),
  });
  const say = await sayTo(db, task.chat_id);
  await tellOfTask(
    db,
    ended,
    'result',
    `${say('lost.head', { workspace: task.workspace, goal: cut(task.goal, 200) })}\n\n${sayAgain(reason, say)}`,
  );
}

/** Removes a host from the list, with its workspaces. Chats that worked there have no active workspace any more. */
export async function forgetHost(db: Db, host: string): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await tx
      .updateTable('chats')
      .set({ workspace: null, workspace_host: null })
      .where('workspace_host', '=', host)
      .execute();
    await tx.deleteFrom('workspaces').where('host', '=', host).execute();
    await tx.updateTable('action_kinds').set({ allowed_at: null, in_a_row: 0 }).where('host', '=', host).execute();
    const { numDeletedRows } = await tx.deleteFrom('kennel_hosts').where('host', '=', host).executeTakeFirst();
    if (numDeletedRows > 0n) await appendAudit(tx, 'kennel host removed', { role: 'terminal' }, { host });
  });
}

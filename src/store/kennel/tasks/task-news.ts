import { sql } from 'kysely';
import type { Channel } from '../../../contracts/ids.ts';
import type { Source } from '../../../contracts/taint.ts';
import type { ChatWork } from '../../../domain/chat/context/workspace-context.ts';
import { compiled } from '../../postgres/compiled-query.ts';
import type { Db } from '../../postgres/database.ts';
import { recordNotice } from '../../turns/complete-turn.ts';
import type { Task } from './tasks.ts';

/** The agent of a task as a source of text. */
export const sourceOfTask = ({ harness, workspace }: Task): Source => ({
  kind: 'report',
  label: `${harness} in ${workspace}`,
});

/** Outbox ids of a task's messages. They are derived, so that a repeated attempt sends nothing twice. */
export const taskOutboxId = (taskId: string, what: string): string => `out_${taskId}_${what}`;

/**
 * A message about a task, once for each task and key. A notice is our own text, unless it is `quoting` files of the
 * workspace. A result has the agent's words, file names and test output; where these are the chat's own, it has no source. Only a failure is told in quiet hours.
 */
export async function tellOfTask(
  db: Db,
  task: Task,
  key: string,
  text: string,
  kind: 'notice' | 'quoting' | 'result' = 'notice',
): Promise<string> {
  const outboxId = taskOutboxId(task.id, key);
  const own = kind === 'notice' || (kind === 'result' && task.result?.own);
  const sources = own ? {} : { sources: [sourceOfTask(task)] };
  await recordNotice(db, {
    chatId: task.chat_id,
    outboxId,
    text,
    kind: kind === 'result' ? kind : 'notice',
    ...sources,
    ...(task.state !== 'failed' && { unasked: 'task' as const }),
  });
  return outboxId;
}

/** How many messages its agent has sent to the chat, without this one. */
export const countTold = async (db: Db, taskId: string, without: string): Promise<number> => {
  const { count } = await db
    .selectFrom('outbox')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where(sql<boolean>`starts_with(id, ${taskOutboxId(taskId, 'say_')})`)
    .where('id', '!=', taskOutboxId(taskId, without))
    .executeTakeFirstOrThrow();
  return Number(count);
};

/** The channel and the workflow of a task's chat, which sends what is told of it. */
export const whereToTell = (db: Db, { chat_id: id }: Task): Promise<{ channel: Channel; workflowId: string }> =>
  db
    .selectFrom('chats')
    .select(['channel', 'workflow_id as workflowId'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow();

/** Tasks that a prompt names. */
const TASKS = 3;

/** The goal of a task that was made after text of others was read may be their words, so it is left out. */
const workOf = compiled(
  'chat_work',
  (_, chatId: string) => sql<ChatWork>`
    select chats.workspace, chats.workspace_host as host, workspaces.profile, to_json(workspaces.seen_at)#>>'{}' as "seenAt",
      (select coalesce(json_agg(latest order by latest.created_at), '[]') from (
        select tasks.id, tasks.state, tasks.harness, tasks.workspace, tasks.created_at, tasks.ended_at as "endedAt",
          case when jsonb_array_length(coalesce(calls.taint->'sources', '[]')) = 0 then left(tasks.goal, 200) end as goal
        from tasks left join calls on calls.id = tasks.call_id
        where tasks.chat_id = chats.id order by tasks.created_at desc limit ${TASKS}) latest) as tasks
    from chats left join workspaces on workspaces.host = chats.workspace_host and workspaces.name = chats.workspace
    where chats.id = ${chatId}`,
);

export const workOfChat = async (db: Db, chatId: string): Promise<ChatWork | null> =>
  (await db.executeQuery(workOf(chatId))).rows[0] ?? null;

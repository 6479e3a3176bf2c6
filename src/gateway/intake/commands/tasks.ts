import { factsOf } from '../../../../kennel/agents/registry.ts';
import type { Arrival } from '../../../contracts/conversation.ts';
import { parseTaskOrder, type TaskOrder } from '../../../domain/chat/words/commands.ts';
import { inline } from '../../../domain/text/foreign-text.ts';
import { ago, span } from '../../../domain/time.ts';
import { cut } from '../../../store/chats/ids.ts';
import { listHosts } from '../../../store/kennel/hosts.ts';
import { isLimited, markOrdered, setAgent, type Task, tasksOfChat } from '../../../store/kennel/tasks/tasks.ts';
import type { Tx } from '../../../store/postgres/database.ts';
import { openLimits } from '../../../store/turns/limits.ts';
import { command, saying } from './command.ts';

/** The coding tasks of a chat, with what to say next. */

const OVER_SHOWN = 5;
const LIVE_SHOWN = 20;

export const tasks = command({
  topic: 'tasks',
  help: ['`tasks` lists the coding tasks of this chat'],
  parse: saying('tasks', 'list tasks', 'show tasks', 'my tasks'),
  mayAnswer: true,
  run: async (_, { tx }) => {
    const live = await tasksOfChat(tx.now, tx.chatId, { live: true, limit: LIVE_SHOWN });
    const over = (await tasksOfChat(tx.now, tx.chatId, { limit: LIVE_SHOWN + OVER_SHOWN }))
      .filter((task) => task.ended_at !== null)
      .slice(0, OVER_SHOWN);
    const [first] = live;
    const [latest] = over;
    return [
      ...(first ? live.map(liveLine) : ['No coding task is under way in this chat.']),
      ...(first ? [`\`pause ${first.id}\` freezes it, \`stop ${first.id}\` ends it.`] : []),
      ...(latest ? ['Over:', ...over.map(overLine)] : []),
      ...(!first && latest?.state === 'completed' ? ['`undo` takes back what the last one changed.'] : []),
      ...(!first && !latest ? ['Say what is to be done in a project, and I start one.'] : []),
    ].join('\n');
  },
});

const goalOf = (task: Task): string => inline(task.goal, 80);

const liveLine = (task: Task): string =>
  `- ${task.id}: ${task.state}, ${span(Date.now() - (task.started_at ?? task.created_at).getTime())}, ${task.harness} in ${task.workspace}: ${goalOf(task)}`;

const overLine = (task: Task): string =>
  `- ${task.id}: ${task.state} ${ago(Date.now() - task.ended_at!.getTime())}, in ${task.workspace}: ${goalOf(task)}`;

/** It works without a model, as stopping must. */
export const orderCommand = command({
  topic: 'tasks',
  help: [
    '`pause` freezes a coding task, which else works on by itself and reports, `resume` lets it go on, `stop` ends it when nothing else runs; `now` goes on although its model is at a limit, `now codex` with another agent',
  ],
  parse: parseTaskOrder,
  run: async (order, { tx, text, inboxId, turnId }) => {
    // while a turn runs, a bare "stop" is for the turn
    if (order.order === 'cancel' && !order.taskId && turnId) return null;
    const meant = await taskOrder(tx.now, order, { chatId: tx.chatId, text, inboxId });
    return meant === null || typeof meant === 'string' ? meant : { arrival: meant, turnId: null };
  },
});

/** What an order means for the coding tasks of its chat: a signal, a question which task is meant, or nothing. */
export async function taskOrder(
  tx: Tx,
  order: TaskOrder,
  said: { chatId: string; text: string; inboxId: string },
): Promise<Extract<Arrival, { kind: 'task' }> | string | null> {
  const live = await tasksOfChat(tx, said.chatId, { live: true, limit: 50 });
  const fitting = order.taskId ? live.filter((task) => task.id === order.taskId) : meant(live, order);
  const [task] = fitting;
  if (task && fitting.length === 1) {
    const problem = await goOnNow(tx, task, order);
    if (problem) return problem;
    await markOrdered(tx, task.id, order.order);
    return { kind: 'task', inboxId: said.inboxId, taskId: task.id, order: order.order };
  }
  if (order.taskId)
    return `No task ${order.taskId} is running in this chat.${live.length > 0 ? ` There is: ${list(live)}` : ''}`;
  // no task could be meant: the words are for the model, or for the reply that nothing runs
  if (fitting.length === 0) return null;
  return `Which one? ${list(fitting)}\nSay for example: ${order.now ? said.text.trim() : order.order} ${fitting[0]!.id}`;
}

/** A task that waits for its model is to go on at once. Returns why it cannot. */
async function goOnNow(tx: Tx, task: Task, { order, now }: TaskOrder): Promise<string | null> {
  if (order !== 'resume' || !isLimited(task))
    return now ? `Task ${task.id} does not wait for a limit of its model.` : null;
  const agent = now?.agent ?? task.harness;
  if (agent === task.harness) {
    await openLimits(tx);
    return null;
  }
  const ready = (await listHosts(tx))
    .find(({ host }) => host === task.host)
    ?.harnesses.find(({ name }) => name === agent);
  if (!ready?.ready) return ready?.why ?? `${factsOf(agent).label} is not ready on the host of task ${task.id}.`;
  await setAgent(tx, task.id, agent);
  return null;
}

/**
 * The tasks that an order without an id can mean. A pause means tasks at work first, then tasks that wait for their
 * workspace.
 */
function meant(live: readonly Task[], { order, now }: TaskOrder): Task[] {
  if (order === 'cancel') return [...live];
  const held = (task: Task) => task.state === 'paused' || task.pausing;
  if (now) return live.filter(isLimited);
  if (order === 'resume') return live.filter((task) => held(task) || isLimited(task));
  const going = live.filter((task) => !held(task));
  const working = going.filter((task) => task.state !== 'queued');
  return working.length > 0 ? working : going;
}

const list = (tasks: readonly Task[]): string =>
  tasks.map((task) => `\n- ${task.id}: ${cut(task.goal.replace(/\s+/g, ' '), 60)}`).join('');

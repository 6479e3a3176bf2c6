import { factsOf } from '../../../../kennel/agents/registry.ts';
import type { Arrival } from '../../../contracts/conversation.ts';
import { parseTaskOrder, parseTell, type TaskOrder } from '../../../domain/chat/words/commands.ts';
import {
  bringWords,
  parseChoice,
  parseParts,
  parseTogether,
  partsWords,
} from '../../../domain/chat/words/race-words.ts';
import { inline } from '../../../domain/text/foreign-text.ts';
import type { Say } from '../../../domain/texts/say.ts';
import { DAY, HOUR, MINUTE, span } from '../../../domain/time.ts';
import { cut } from '../../../store/chats/ids.ts';
import { listHosts } from '../../../store/kennel/hosts.ts';
import { heardWhen, tellTask, WORDS_CHARS } from '../../../store/kennel/tasks/task-words.ts';
import {
  isLimited,
  markOrdered,
  setAgent,
  type Task,
  taskNumbers,
  tasksOfChat,
} from '../../../store/kennel/tasks/tasks.ts';
import { latestTogether } from '../../../store/kennel/tasks/together.ts';
import type { Tx } from '../../../store/postgres/database.ts';
import { openLimits } from '../../../store/turns/limits.ts';
import { command, saying } from './command.ts';
import { toolTurn } from './tools.ts';

/** The coding tasks of a chat, with what to say next. */

const OVER_SHOWN = 5;
const LIVE_SHOWN = 20;

export const tasks = command({
  topic: 'tasks',
  help: ['helps.tasks'],
  parse: saying('tasks', 'list tasks', 'show tasks', 'my tasks'),
  mayAnswer: 'question',
  run: async (_, { tx, say }) => {
    const live = await tasksOfChat(tx.now, tx.chatId, { live: true, limit: LIVE_SHOWN });
    const over = (await tasksOfChat(tx.now, tx.chatId, { limit: LIVE_SHOWN + OVER_SHOWN }))
      .filter((task) => task.ended_at !== null)
      .slice(0, OVER_SHOWN);
    const [first] = live;
    const [latest] = over;
    const numbers = await taskNumbers(tx.now, tx.chatId);
    const numbered = (line: (task: Task) => string) => (task: Task) => `- ${numbers.get(task.id)}: ${line(task)}`;
    const named = live.length > 1 ? ` ${numbers.get(first!.id)}` : '';
    return [
      ...(first ? live.map(numbered((task) => liveLine(task, say))) : [say('tasks.none')]),
      ...(first ? [say('tasks.orders', { which: named })] : []),
      ...(latest ? [say('tasks.over'), ...over.map(numbered((task) => overLine(task, say)))] : []),
      ...(!first && latest?.state === 'completed' ? [say('tasks.undo')] : []),
      ...(!first && !latest ? [say('tasks.start')] : []),
    ].join('\n');
  },
});

const goalOf = (task: Task): string => inline(task.goal, 80);

function stateOf(task: Task, say: Say): string {
  const { state, workspace } = task;
  if (state === 'paused') return say('tasks.paused');
  if (state === 'queued') return say('tasks.queued', { workspace });
  if (state === 'waiting') return say(isLimited(task) ? 'tasks.limited' : 'tasks.asks');
  return say('tasks.working', { span: span(Date.now() - (task.started_at ?? task.created_at).getTime()) });
}

function liveLine(task: Task, say: Say): string {
  const { harness: agent, workspace } = task;
  return say('tasks.live', { agent, workspace, goal: goalOf(task), state: stateOf(task, say) });
}

function overLine(task: Task, say: Say): string {
  const { state, workspace } = task;
  const how = say(state === 'completed' ? 'tasks.done' : state === 'failed' ? 'tasks.failed' : 'tasks.stopped');
  const ago = agoIn(Date.now() - task.ended_at!.getTime(), say);
  return say('tasks.ended', { workspace, goal: goalOf(task), how, ago });
}

/** As `ago`, in the language of the person. */
function agoIn(ms: number, say: Say): string {
  if (ms >= 2 * DAY) return say('ago.days', { count: Math.floor(ms / DAY) });
  if (ms >= HOUR) return say('ago.hours', { count: Math.floor(ms / HOUR) });
  return say('ago.minutes', { count: Math.max(0, Math.floor(ms / MINUTE)) });
}

/** As a message like any other: its words say which tasks begin. */
export const together = command({
  topic: 'tasks',
  help: ['helps.together'],
  parse: parseTogether,
  mayContinue: true,
  run: async () => null,
});

const hasWork = (task: Task | undefined): boolean =>
  task?.state === 'completed' && Boolean(task.result?.changes?.files.length);

/** Numbers and what is wanted of each, once the attempts of a race are over. Otherwise it is for the model. */
export const parts = command({
  topic: 'tasks',
  help: [],
  parse: parseParts,
  mayAnswer: true,
  mayContinue: true,
  run: async (wanted, context) => {
    const waiting = await latestTogether(context.tx.now, context.tx.chatId);
    if (waiting?.kind !== 'race' || !(waiting.isAsking || wanted.again)) return null;
    const named = wanted.attempts.map((number) => waiting.tasks[number - 1]);
    return named.every(hasWork) ? toolTurn(context, partsWords(wanted)) : context.say('tasks.oneUnchanged');
  },
});

/** A number, while the work of tasks that began together waits to be brought in. Otherwise it is for the model. */
export const choice = command({
  topic: 'tasks',
  help: [],
  parse: parseChoice,
  mayAnswer: true,
  mayContinue: true,
  run: async (chosen, context) => {
    const waiting = await latestTogether(context.tx.now, context.tx.chatId);
    if (!waiting || !(waiting.isAsking || (chosen !== 'all' && chosen.again))) return null;
    const { kind, tasks: all } = waiting;
    const fitting = chosen === 'all' ? all.filter(hasWork) : all.slice(chosen.attempt - 1, chosen.attempt);
    if (chosen === 'all' && kind === 'race') return context.say('tasks.chooseOne');
    if (fitting.length === 0) return chosen === 'all' ? context.say('tasks.noneChanged') : null;
    if (!fitting.every(hasWork)) return context.say('tasks.oneUnchanged');
    const numbers = await taskNumbers(context.tx.now, context.tx.chatId);
    const named = fitting.map(({ id }) => String(numbers.get(id)));
    return toolTurn(context, bringWords({ tasks: named, workspace: fitting[0]!.workspace }));
  },
});

/** It works without a model, as stopping must. */
export const orderCommand = command({
  topic: 'tasks',
  help: ['helps.order'],
  parse: parseTaskOrder,
  run: async (order, { tx, say, text, inboxId, turnId }) => {
    // while a turn runs, a bare "stop" is for the turn
    if (order.order === 'cancel' && !order.taskId && turnId) return null;
    const meant = await taskOrder(tx.now, order, { chatId: tx.chatId, say, text, inboxId });
    return meant === null || typeof meant === 'string' ? meant : { arrival: meant, turnId: null };
  },
});

/** Its agent receives the words as its next prompt. */
export const tellCommand = command({
  topic: 'tasks',
  help: ['helps.tell'],
  parse: parseTell,
  mayContinue: true,
  run: async ({ taskId, agent, words }, { tx: { now, chatId }, say, inboxId }) => {
    const live = await tasksOfChat(now, chatId, { live: true, limit: 50 });
    // no task could be meant: the words are for the model
    if (live.length === 0 && !taskId?.startsWith('tsk_')) return null;
    const numbers = await taskNumbers(now, chatId);
    const fitting = live.filter(
      (task) => (!taskId || isNamed(task, taskId, numbers)) && (!agent || task.harness === agent),
    );
    const [task] = fitting;
    if (!task) return noSuchTask(live, numbers, say);
    if (fitting.length > 1)
      return whichOf(fitting, numbers, { words: `tell ${numbers.get(task.id)}: ${cut(words, 60)}`, say });
    if (words.length > WORDS_CHARS) return say('tasks.tooLong', { count: WORDS_CHARS });
    if (!(await tellTask(now, { id: `say_${inboxId}`, taskId: task.id, text: words })))
      return say('tasks.gone', { workspace: task.workspace });
    return say('tasks.hears', { workspace: task.workspace, when: say(`hears.${heardWhen(task)}`) });
  },
});

const isNamed = ({ id }: Task, name: string, numbers: ReadonlyMap<string, number>): boolean =>
  name === id || name === String(numbers.get(id));

const noSuchTask = (live: readonly Task[], numbers: ReadonlyMap<string, number>, say: Say): string =>
  say('tasks.noSuch') + (live.length > 0 ? ` ${say('tasks.thereIs')}${list(live, numbers)}` : '');

const whichOf = (
  fitting: readonly Task[],
  numbers: ReadonlyMap<string, number>,
  { words, say }: { words: string; say: Say },
): string => `${say('tasks.which')}${list(fitting, numbers)}\n${say('tasks.example', { words })}`;

/** What an order means for the coding tasks of its chat: a signal, a question which task is meant, or nothing. */
export async function taskOrder(
  tx: Tx,
  order: TaskOrder,
  said: { chatId: string; say: Say; text: string; inboxId: string },
): Promise<Extract<Arrival, { kind: 'task' }> | string | null> {
  const live = await tasksOfChat(tx, said.chatId, { live: true, limit: 50 });
  // without a task, a number is about something else
  if (live.length === 0 && !order.taskId?.startsWith('tsk_')) return null;
  const numbers = await taskNumbers(tx, said.chatId);
  const { taskId } = order;
  const fitting = taskId ? live.filter((task) => isNamed(task, taskId, numbers)) : meant(live, order);
  const [task] = fitting;
  if (task && fitting.length === 1) {
    const problem = await goOnNow(tx, task, order, said.say);
    if (problem) return problem;
    await markOrdered(tx, task.id, order.order);
    return { kind: 'task', inboxId: said.inboxId, taskId: task.id, order: order.order };
  }
  if (taskId) return noSuchTask(live, numbers, said.say);
  // no task could be meant: the words are for the model, or for the reply that nothing runs
  if (fitting.length === 0) return null;
  return whichOf(fitting, numbers, { words: `${said.text.trim()} ${numbers.get(fitting[0]!.id)}`, say: said.say });
}

/** A task that waits for its model is to go on at once. Returns why it cannot. */
async function goOnNow(tx: Tx, task: Task, { order, now }: TaskOrder, say: Say): Promise<string | null> {
  if (order !== 'resume' || !isLimited(task)) return now ? say('tasks.noLimit', { workspace: task.workspace }) : null;
  const agent = now?.agent ?? task.harness;
  if (agent === task.harness) {
    await openLimits(tx);
    return null;
  }
  const ready = (await listHosts(tx))
    .find(({ host }) => host === task.host)
    ?.harnesses.find(({ name }) => name === agent);
  if (!ready?.ready) return ready?.why ?? say('tasks.notReady', { agent: factsOf(agent).label });
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

const list = (tasks: readonly Task[], numbers: ReadonlyMap<string, number>): string =>
  tasks.map((task) => `\n- ${numbers.get(task.id)}: ${cut(task.goal.replace(/\s+/g, ' '), 60)}`).join('');

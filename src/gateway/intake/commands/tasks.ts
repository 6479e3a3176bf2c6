import { inline } from '../../../domain/text/foreign-text.ts';
import { ago, span } from '../../../domain/time.ts';
import { type Task, tasksOfChat } from '../../../store/kennel/tasks/tasks.ts';
import { command, saying } from './command.ts';

/** The coding tasks of a chat, with what to say next. */

const OVER_SHOWN = 5;
const LIVE_SHOWN = 20;

export const tasks = command({
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

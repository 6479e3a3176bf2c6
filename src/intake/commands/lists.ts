import { describeTime, nextFirings } from '../../domain/cron.ts';
import { inline } from '../../domain/text/foreign-text.ts';
import { ago, span } from '../../domain/text/when.ts';
import { type Task, tasksOfChat } from '../../store/kennel/tasks.ts';
import { type Cron, listCrons } from '../../store/routines/crons.ts';
import { listRoutines } from '../../store/routines/routines.ts';
import { command, saying } from './command.ts';

/** What a chat has under way, each with what to say next. */

const OVER_SHOWN = 5;
const LIVE_SHOWN = 20;

export const tasks = command({
  help: ['`tasks` lists the coding tasks of this chat'],
  parse: saying('tasks', 'list tasks', 'show tasks', 'my tasks'),
  mayAnswer: true,
  run: async (_, { tx }) => {
    const live = await tasksOfChat(tx.now, tx.chatId, { live: true, limit: LIVE_SHOWN });
    const over = (await tasksOfChat(tx.now, tx.chatId, { limit: LIVE_SHOWN + OVER_SHOWN })).filter((task) => task.ended_at !== null).slice(0, OVER_SHOWN);
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

const overLine = (task: Task): string => `- ${task.id}: ${task.state} ${ago(Date.now() - task.ended_at!.getTime())}, in ${task.workspace}: ${goalOf(task)}`;

export const schedules = command({
  help: ['`schedules` lists what runs by itself'],
  parse: saying('schedules', 'crons', 'list schedules', 'show schedules', 'my schedules'),
  mayAnswer: true,
  run: async (_, { tx }) => {
    const crons = await listCrons(tx.now, tx.chatId);
    if (crons.length === 0) return 'Nothing runs by itself in this chat. Say for example `every weekday at 8:30, tell me which day it is`.';
    const routines = new Map((await listRoutines(tx.now, tx.chatId)).map((routine) => [routine.id, routine.name]));
    return crons.map((cron, index) => cronLine(cron, index, routines.get(cron.routine_id) ?? cron.routine_id)).join('\n');
  },
});

function cronLine(cron: Cron, index: number, routine: string): string {
  const next = cron.enabled ? nextFirings(cron.schedule, cron.time_zone, new Date(), 1)[0] : undefined;
  const when = next ? `next ${describeTime(next, cron.time_zone)}` : cron.enabled ? 'does not fire again' : 'switched off';
  return `${index + 1}. ${cron.name}: ${routine}, ${cron.schedule} in ${cron.time_zone}; ${when}`;
}

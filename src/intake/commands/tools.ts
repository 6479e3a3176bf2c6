import { parseBringIn } from '../../domain/chat/bring-in.ts';
import { parseScheduleRemoval, parseUndo } from '../../domain/chat/tool-words.ts';
import { listCrons } from '../../store/routines/crons.ts';
import { type CommandContext, command } from './command.ts';

/** Commands that are tools: each begins a turn whose words say which tool is meant, so consent, hosts and retries are those of every call. */

export const bringIn = command({
  help: ['`clone https://…` and `open /path/of/a/folder` bring in a project of yours, `as NAME` under another name; in a terminal, drag its folder here'],
  parse: parseBringIn,
  // as a message like any other: while a turn runs, it is for that turn
  run: async () => null,
});

export const undo = command({
  help: ['`undo` takes back what the last coding task changed, `undo all` what all of them did, `redo` the last undo; `undo tsk_…` names one'],
  parse: parseUndo,
  mayAnswer: true,
  run: async (_, context) => toolTurn(context, context.text),
});

export const removeSchedule = command({
  help: ['`schedules remove NAME` ends what runs by itself; its number in the list of `schedules` will do'],
  parse: parseScheduleRemoval,
  run: async (wanted, context) => {
    const crons = await listCrons(context.tx.now, context.tx.chatId);
    const cron = crons.find(({ id, name }) => id === wanted || name.toLowerCase() === wanted.toLowerCase()) ?? crons[Number(wanted) - 1];
    return cron ? toolTurn(context, `schedules remove ${cron.name}`) : `Nothing of the name ${wanted} runs by itself here. Say \`schedules\` to see what does.`;
  },
});

/** The turn that has these words and nothing else. */
const toolTurn = ({ turnId, text }: CommandContext, words: string) =>
  turnId ? `I am still at work. Say \`stop\` first, then \`${text.trim()}\`.` : { turn: words };

import { parseBringIn } from '../../../domain/chat/words/bring-in.ts';
import { plainWords } from '../../../domain/chat/words/commands.ts';
import { parseGive, parseTake } from '../../../domain/chat/words/session-words.ts';
import { parseShip } from '../../../domain/chat/words/ship-words.ts';
import { parseApp, parseDiff, parseUndo } from '../../../domain/chat/words/tool-words.ts';
import { latestBundle } from '../../../store/chats/messages/attachments.ts';
import { type CommandContext, command } from './command.ts';

/**
 * Commands that are tools: each begins a turn whose words say which tool is meant, so consent, hosts and retries are
 * those of every call.
 */

export const bringIn = command({
  topic: 'tasks',
  help: [
    '`clone https://…` and `open /path/of/a/folder` bring in a project of yours, `as NAME` under another name; in a terminal, drag its folder here',
  ],
  parse: parseBringIn,
  // as a message like any other: while a turn runs, it is for that turn
  run: async () => null,
});

export const undo = command({
  topic: 'tasks',
  help: [
    '`undo` takes back what the last coding task changed, or the edits and commands of the last turn, `undo all` all of it, `redo` the last undo',
  ],
  parse: parseUndo,
  mayAnswer: 'question',
  run: async (_, context) => toolTurn(context, context.text),
});

export const ship = command({
  topic: 'tasks',
  help: [
    '`ship` makes a pull request of the project and watches it to its merge, `ship and merge when green` merges it, too; `ship status`, `ship merge` and `ship stop` are about the one that is open',
  ],
  parse: parseShip,
  mayAnswer: 'question',
  run: async (_, context) => toolTurn(context, context.text),
});

export const take = command({
  topic: 'tasks',
  help: [
    '`take` with the file of `fetch hand-over` goes on with a session of Claude Code or Codex that began on your computer, `take: …` with words for its agent; `give` brings the session of the latest task there, `give 2` that of task 2',
  ],
  parse: parseTake,
  mayAnswer: 'question',
  mayContinue: true,
  run: async (_, context) => {
    // "take it" is about something else where no file has come
    const isPlain = plainWords(context.text) === 'take';
    return isPlain || (await latestBundle(context.tx.now, context.tx.chatId))
      ? toolTurn(context, slashed(context))
      : null;
  },
});

export const give = command({
  topic: 'tasks',
  help: [],
  parse: parseGive,
  mayAnswer: 'question',
  run: async (_, context) => toolTurn(context, slashed(context)),
});

const slashed = ({ text }: CommandContext): string => (text.trim().startsWith('/') ? text.trim() : `/${text.trim()}`);

export const apps = command({
  topic: 'tasks',
  help: [
    '`apps` lists what was left running, with its address; `app log` shows what it prints, `app stop` ends it, `preview` makes a link for your phone',
  ],
  parse: parseApp,
  ownersOnly: ({ action }) => (action === 'preview' ? 'Only the owner opens a preview.' : null),
  run: async (_, context) => toolTurn(context, context.text),
});

export const diff = command({
  topic: 'tasks',
  help: ['`diff` shows what is not committed, or the newest commit, as pictures'],
  parse: parseDiff,
  run: async (_, context) => toolTurn(context, context.text),
});

/** The turn that has these words and nothing else. */
export const toolTurn = ({ turnId, text }: CommandContext, words: string) =>
  turnId ? `I am still at work. Say \`stop\` first, then \`${text.trim()}\`.` : { turn: words };

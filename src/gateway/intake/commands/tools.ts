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
  help: ['helps.bringIn'],
  parse: parseBringIn,
  // as a message like any other: while a turn runs, it is for that turn
  run: async () => null,
});

export const undo = command({
  topic: 'tasks',
  help: ['helps.undo'],
  parse: parseUndo,
  mayAnswer: 'question',
  run: async (_, context) => toolTurn(context, context.text),
});

export const ship = command({
  topic: 'tasks',
  help: ['helps.ship'],
  parse: parseShip,
  mayAnswer: 'question',
  run: async (_, context) => toolTurn(context, context.text),
});

export const take = command({
  topic: 'tasks',
  help: ['helps.take'],
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
  help: ['helps.apps'],
  parse: parseApp,
  ownersOnly: ({ action }) => (action === 'preview' ? 'owner.preview' : null),
  run: async (_, context) => toolTurn(context, context.text),
});

export const diff = command({
  topic: 'tasks',
  help: ['helps.diff'],
  parse: parseDiff,
  run: async (_, context) => toolTurn(context, context.text),
});

/** The turn that has these words and nothing else. */
export const toolTurn = ({ turnId, text, say }: CommandContext, words: string) =>
  turnId ? say('tasks.busy', { words: text.trim() }) : { turn: words };

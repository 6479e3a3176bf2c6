import { parseCommand } from '../../../domain/chat/words/commands.ts';
import { type AskedHelp, parseHelp } from '../../../domain/chat/words/help.ts';
import { statusText } from '../../../store/owner/status-text.ts';
import { beginAnew } from '../../../store/turns/replies.ts';
import { addStop } from '../stop-and-steer.ts';
import { type Command, type CommandContext, command, saying } from './command.ts';

/** The running work, and the beginning of the conversation. */

const named = (name: ReturnType<typeof parseCommand>) => (text: string) => parseCommand(text) === name || null;

export const stop = command({
  help: ['helps.stop'],
  parse: named('stop'),
  run: async (_, { tx, say, turnId, inboxId }) =>
    turnId ? { arrival: addStop(tx, { turnId, inboxId }), turnId } : say('end.nothing'),
});

export const status = command({
  help: ['helps.status'],
  parse: named('status'),
  run: (_, { tx, config, say }) => statusText(tx.now, tx.threadId, tx.chatId, config, say),
});

/** `text`: made when it is asked for, because it names every command. */
export const help = (text: (about: AskedHelp | null, context: CommandContext) => Promise<string>): Command =>
  command({
    help: ['helps.help'],
    parse: parseHelp,
    run: ({ about }, context) => text(about, context),
  });

const begin = async ({ tx, say, turnId }: CommandContext): Promise<string> =>
  turnId ? say('new.busy') : await beginAnew(tx.now, tx.threadId, say);

export const newConversation = command({
  help: ['helps.new'],
  parse: named('new'),
  run: (_, context) => begin(context),
});

export const clear = command({
  help: [],
  parse: saying(
    'clear',
    'new',
    '/reset',
    'clear chat',
    'clear the chat',
    'clear conversation',
    'clear the conversation',
  ),
  mayAnswer: true,
  run: (_, context) => begin(context),
});

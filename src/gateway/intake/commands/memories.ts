import { memoryLine } from '../../../domain/chat/context/memory.ts';
import { isTooLong, plainWords } from '../../../domain/chat/words/commands.ts';
import { inline } from '../../../domain/text/foreign-text.ts';
import { listMemories, memoryOwner, removeMemories } from '../../../store/owner/memories.ts';
import { command, saying } from './command.ts';

/** What is remembered, shown and deleted without a model. */

const SHOWN = 30;

export const memories = command({
  help: [
    '`memories` lists what I remember for you; `forget mem_…` deletes one, `forget all memories` deletes them all',
  ],
  parse: saying('memories', 'memory', 'show memories', 'list memories', 'my memories', 'what do you remember'),
  mayAnswer: true,
  run: async (_, { tx, config }) => {
    const found = await listMemories(tx.now, await memoryOwner(tx.now, tx.chatId, config), SHOWN + 1);
    if (found.length === 0) return 'I remember nothing here. Say for example: remember that I deploy on Fridays.';
    const more = found.length > SHOWN ? [`There are more; \`fetch memory export\` writes all of them.`] : [];
    return [...found.slice(0, SHOWN).map(memoryLine), ...more].join('\n');
  },
});

/** The id of a memory, or null for all of them. */
function parseForget(text: string): { id: string | null } | null {
  if (isTooLong(text)) return null;
  const said = plainWords(text);
  if (['forget all memories', 'forget all your memories', 'forget everything you remember'].includes(said))
    return { id: null };
  const id = /^forget (mem_[a-z0-9]{1,20})$/.exec(said)?.[1];
  return id === undefined ? null : { id };
}

export const forget = command({
  help: [],
  parse: parseForget,
  run: async ({ id }, { tx, config, shared, owned }) => {
    // in a group anybody could delete what another had remembered
    if (shared && !owned) return 'In a group only the owner deletes what I remember.';
    const gone = await removeMemories(tx.now, await memoryOwner(tx.now, tx.chatId, config), id);
    if (gone.length === 0)
      return id === null ? 'I remember nothing here.' : `I remember nothing as ${id}. \`memories\` lists what I do.`;
    return gone.length === 1 ? `Forgotten: ${inline(gone[0]!.body)}` : `Forgotten: ${gone.length} memories.`;
  },
});

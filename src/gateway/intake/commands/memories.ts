import { MEMORY_CHARS } from '../../../domain/chat/context/memory.ts';
import { isTooLong, plainWords } from '../../../domain/chat/words/commands.ts';
import { inline } from '../../../domain/text/foreign-text.ts';
import { listMemories, type Memory, memoryOwner, removeMemories } from '../../../store/owner/memories.ts';
import { command, saying } from './command.ts';

/** Memories, listed and deleted without a model. */

const SHOWN = 30;

export const memories = command({
  help: ['helps.memories'],
  parse: saying('memories', 'memory', 'show memories', 'list memories', 'my memories', 'what do you remember'),
  mayAnswer: 'question',
  run: async (_, { tx, config, say }) => {
    const found = await listMemories(tx.now, await memoryOwner(tx.now, tx.chatId, config), SHOWN + 1);
    if (found.length === 0) return say('memory.none');
    const more = found.length > SHOWN ? [say('memory.more')] : [];
    return [...found.slice(0, SHOWN).map(numberedMemory), ...more].join('\n');
  },
});

const numberedMemory = ({ body, created_at }: Memory, index: number): string =>
  `- ${index + 1}: ${inline(body, MEMORY_CHARS)} (${created_at.toISOString().slice(0, 10)})`;

/** The number in the list, or the id, of a memory; null for all of them. */
function parseForget(text: string): { which: string | null } | null {
  if (isTooLong(text)) return null;
  const said = plainWords(text);
  if (['forget all memories', 'forget all your memories', 'forget everything you remember'].includes(said))
    return { which: null };
  const which = /^forget (?:memory )?(mem_[a-z0-9]{1,20}|\d{1,3})$/.exec(said)?.[1];
  return which === undefined ? null : { which };
}

export const forget = command({
  help: [],
  parse: parseForget,
  run: async ({ which }, { tx, config, say, shared, owned }) => {
    // in a group anybody could delete what another had remembered
    if (shared && !owned) return say('memory.owner');
    const owner = await memoryOwner(tx.now, tx.chatId, config);
    const byNumber = which !== null && /^\d+$/.test(which);
    const id = byNumber ? (await listMemories(tx.now, owner, SHOWN))[Number(which) - 1]?.id : which;
    const gone = id === undefined ? [] : await removeMemories(tx.now, owner, id);
    if (gone.length === 0) return say(which === null ? 'memory.nothing' : 'memory.unknown');
    return gone.length === 1
      ? say('memory.forgotten', { text: inline(gone[0]!.body) })
      : say('memory.allForgotten', { count: gone.length });
  },
});

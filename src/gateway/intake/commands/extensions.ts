import { isTooLong, plainWords } from '../../../domain/chat/words/commands.ts';
import { codeOf, textOf } from '../../../domain/extensions/extension.ts';
import { inline } from '../../../domain/text/foreign-text.ts';
import { english, type Say } from '../../../domain/texts/say.ts';
import { decideVersion, type Extension, findExtension, listExtensions } from '../../../store/owner/extensions.ts';
import type { Tx } from '../../../store/postgres/database.ts';
import { type CommandContext, command } from './command.ts';

/** What the owner brought along: to see it, and to say yes or no to exactly what was seen. */

type Order =
  | { what: 'list' }
  | { what: 'show'; name: string }
  | { what: 'allow' | 'refuse'; name: string; code: string };

function parseTools(text: string): Order | null {
  if (isTooLong(text)) return null;
  if (['tools', 'tools list', 'tool list'].includes(plainWords(text))) return { what: 'list' };
  const [, what, name, code = ''] =
    /^\/?tools? (show|allow|refuse) ([a-z0-9_-]{1,64})(?: ([0-9a-f]{8}))?$/i.exec(text.trim()) ?? [];
  if (what === undefined || name === undefined) return null;
  const order = what.toLowerCase() as 'show' | 'allow' | 'refuse';
  return order === 'show' ? { what: order, name } : { what: order, name, code: code.toLowerCase() };
}

export const toolsCommand = command({
  topic: 'trust',
  help: ['helps.tools'],
  parse: parseTools,
  mayAnswer: 'question',
  ownersOnly: () => 'owner.tools',
  run: async (order, context) => {
    const { tx, shared, say } = context;
    if (shared) return say('own.chat');
    if (order.what === 'list') return listText(await listExtensions(tx.now), say);
    const found = await findExtension(tx.now, order.name);
    if (!found) return say('tools.unknown', { name: order.name });
    if (order.what === 'show') return showText(found, say);
    return await decide(tx.now, found, order, context);
  },
});

/** The list of extensions, each with what it waits for. */
export function listText(all: readonly Extension[], say: Say = english): string {
  if (all.length === 0) return say('tools.none');
  return [say('tools.list'), ...all.map((each) => extensionLine(each, say))].join('\n');
}

export function extensionLine(extension: Extension, say: Say = english): string {
  const { kind, name, declaration, agreed, problem } = extension;
  const state = !declaration
    ? say('tools.unused')
    : agreed === null
      ? say('tools.waits', { name })
      : agreed
        ? kind === 'mcp'
          ? say('tools.inUse', { count: declaration.tools.length })
          : say('tools.used')
        : say('tools.no');
  return `- ${say(`tools.${kind}`, { name }).trim()}: ${state}${problem ? ` (${inline(problem, 300)})` : ''}`;
}

function showText({ kind, name, hash, declaration, agreed, problem }: Extension, say: Say): string {
  const head = say(`tools.${kind}`, { name });
  if (!declaration || !hash)
    return say('tools.notUsed', { what: head, why: inline(problem ?? say('tools.notFound'), 500) });
  const code = codeOf(hash);
  const way = say(agreed ? 'tools.agreed' : 'tools.decide', { name, code });
  return [
    head,
    textOf(declaration),
    ...(problem ? [say('tools.silent', { why: inline(problem, 300) })] : []),
    way,
  ].join('\n');
}

/** The code says which version the person has seen: a yes holds for nothing else. */
async function decide(
  tx: Tx,
  { name, hash }: Extension,
  { what, code }: { what: 'allow' | 'refuse'; code: string },
  { by, say }: CommandContext,
): Promise<string> {
  if (!hash) return say('tools.nothing', { name });
  if (code === '') return say('tools.first', { name });
  if (codeOf(hash) !== code) return say('tools.changed', { name });
  await decideVersion(tx, hash, what === 'allow', by);
  return say(what === 'allow' ? 'tools.allowed' : 'tools.refused', { name });
}

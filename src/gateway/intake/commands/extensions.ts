import { isTooLong, plainWords } from '../../../domain/chat/words/commands.ts';
import { codeOf, KIND_WORDS, textOf } from '../../../domain/extensions/extension.ts';
import { inline } from '../../../domain/text/foreign-text.ts';
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
  mayAnswer: true,
  ownersOnly: () => 'owner.tools',
  run: async (order, context) => {
    const { tx, shared } = context;
    if (shared) return 'Say that in our own chat, and not in a group.';
    if (order.what === 'list') return listText(await listExtensions(tx.now));
    const found = await findExtension(tx.now, order.name);
    if (!found) return `I know no ${order.name}. \`tools\` lists what there is.`;
    if (order.what === 'show') return showText(found);
    return await decide(tx.now, found, order, context);
  },
});

/** The list of extensions, each with what it waits for. */
export function listText(all: readonly Extension[]): string {
  if (all.length === 0)
    return 'You have brought nothing along. MCP servers go into mcp.json, tools and skills into folders beside it: see docs/chat.md.';
  return ['What you brought along:', ...all.map(extensionLine)].join('\n');
}

export function extensionLine({ kind, name, declaration, agreed, problem }: Extension): string {
  const state = !declaration
    ? 'not used'
    : agreed === null
      ? `waits for your yes: \`tools show ${name}\``
      : agreed
        ? kind === 'mcp'
          ? `${declaration.tools.length} tools in use`
          : 'in use'
        : 'you said no';
  return `- ${KIND_WORDS[kind]}${name ? ` ${name}` : ''}: ${state}${problem ? ` (${inline(problem, 300)})` : ''}`;
}

function showText({ kind, name, hash, declaration, agreed, problem }: Extension): string {
  const head = `${KIND_WORDS[kind]} ${name}`;
  if (!declaration || !hash) return `${head} is not used: ${inline(problem ?? 'nothing was found', 500)}`;
  const code = codeOf(hash);
  const way = agreed
    ? `You agreed to this. \`tools refuse ${name} ${code}\` takes it back.`
    : `To use it: \`tools allow ${name} ${code}\`. To leave it: \`tools refuse ${name} ${code}\`.`;
  return [
    head,
    textOf(declaration),
    ...(problem ? [`It could not be asked just now: ${inline(problem, 300)}`] : []),
    way,
  ].join('\n');
}

/** The code says which version the person has seen: a yes holds for nothing else. */
async function decide(
  tx: Tx,
  { name, hash }: Extension,
  { what, code }: { what: 'allow' | 'refuse'; code: string },
  { by }: CommandContext,
): Promise<string> {
  if (!hash) return `There is nothing of ${name} to decide about: \`tools show ${name}\`.`;
  if (code === '') return `First see what it is: \`tools show ${name}\`. It ends with the words to say.`;
  if (codeOf(hash) !== code) return `${name} is another one now than what you saw. Look again: \`tools show ${name}\`.`;
  await decideVersion(tx, hash, what === 'allow', by);
  return what === 'allow' ? `I use ${name} from your next message on.` : `I do not use ${name}.`;
}

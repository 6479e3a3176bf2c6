import { ASK_USER } from '../../../contracts/conversation.ts';
import type { CallTaint, Sink, Source } from '../../../contracts/taint.ts';
import type { Called, DialogueMessage } from '../../../domain/chat/context/context.ts';
import { currentCall } from '../../../domain/chat/former-tools.ts';
import { type Effect, type Provenance, taintOf, unionOf, urlsIn } from '../../../domain/consent/taint.ts';
import type { Db } from '../../../store/postgres/database.ts';
import type { CheckedCall } from '../../../store/turns/steps/new-calls.ts';
import { grantsOf, pagesRead } from '../../../store/turns/steps/taint.ts';
import type { History } from '../../../store/turns/steps/transcript.ts';
import type { AddedTools } from '../../../tools/added-tools.ts';
import { tools } from '../../../tools/registry.ts';
import { effectOf, type Tool, type ToolOutcome } from '../../../tools/tool.ts';

/** Where the text that a model reads comes from, and what that means for the calls that it makes. */

/** Sources of foreign text in this part of a dialogue. `group`: several people write in the chat. */
export function sourcesOf(
  { sources, messages, calls, files }: Pick<History, 'sources' | 'messages' | 'calls' | 'files'>,
  group: boolean,
): Source[] {
  const read: Source[] = [];
  for (const message of messages) {
    if (message.sources) read.push(...message.sources);
    for (const id of message.attachment_ids ?? []) {
      const file = files.get(id);
      // the words of a recording are part of the message; a document or picture is rarely written by its sender
      if (file && file.kind !== 'audio') read.push({ kind: 'attachment', label: file.name ?? file.id });
    }
    for (const id of message.call_ids) {
      const call = calls.get(id);
      if (call) read.push(...sourcesOfCall(call, group));
    }
  }
  return unionOf(sources, read);
}

function sourcesOfCall(call: Called, group: boolean): readonly Source[] {
  if (call.output === null) return [];
  // anybody who writes in a group may answer a question
  if (call.name === ASK_USER) return group ? [{ kind: 'member', label: 'an answer in the group' }] : [];
  if (call.sources) return call.sources;
  const { name, args } = currentCall(call);
  return declaredSources(tools.get(name), args);
}

/** The sources that a tool declares for its output. */
export function declaredSources(tool: Tool | undefined, args: Record<string, unknown>): Source[] {
  if (!tool) return [];
  const label = tool.readFrom?.(args as never) ?? tool.name;
  return tool.reads.map((kind) => ({ kind, label: label.slice(0, 80).toWellFormed() }));
}

/** Sources of the text in a result. */
export const sourcesOfOutcome = (
  tool: Tool,
  args: Record<string, unknown>,
  { ours, sources = [] }: ToolOutcome,
): readonly Source[] => unionOf(ours ? [] : declaredSources(tool, args), sources);

/** What the person wrote: their part of messages, and answers in their own words. */
function ownWords(messages: readonly DialogueMessage[], calls: History['calls'], group: boolean): string[] {
  return messages.flatMap((message) => {
    if (message.role === 'user') return message.words ?? (message.sources?.length ? [] : message.content);
    return message.call_ids.flatMap((id) => {
      const call = calls.get(id);
      if (call?.name !== ASK_USER || call.output === null || group) return [];
      const options = Array.isArray(call.args.options) ? call.args.options : [];
      return options.includes(call.output) ? [] : call.output;
    });
  });
}

/** What the person wrote in this turn. */
export const wordsNow = ({ messages, calls, openFrom }: History, group: boolean): string[] =>
  ownWords(
    messages.filter(({ ord }) => openFrom !== null && ord >= openFrom),
    calls,
    group,
  );

function effectOfCall({ verdict, args, refusal }: CheckedCall, added?: AddedTools): Effect | null {
  const tool = tools.get(verdict.name) ?? added?.get(verdict.name)?.tool;
  return tool && refusal === undefined ? effectOf(tool, args) : null;
}

const NOTHING_SAID = { words: [], wordsNow: [], links: new Set<string>() };

/**
 * The same for a routine step. Its arguments were written by the turn that made the routine, and `sources` is what that
 * turn had read.
 */
export async function taintUnattended(
  db: Db,
  chatId: string,
  sources: readonly Source[],
  tool: Tool,
  args: Record<string, unknown>,
): Promise<CallTaint | null> {
  const grants = sources.length > 0 ? await grantsOf(db, chatId) : new Set<Sink>();
  return taintOf(effectOf(tool, args), { ...NOTHING_SAID, sources, grants });
}

/**
 * Stores with each call of an answer which of its effects need a yes because of what the model had read, and with calls
 * in a workspace what that was.
 */
export async function withTaint(
  db: Db,
  at: { threadId: string; chatId: string; group: boolean },
  history: History,
  calls: readonly CheckedCall[],
  added?: AddedTools,
): Promise<CheckedCall[]> {
  const effects = calls.map((call) => effectOfCall(call, added));
  const isKept = calls.map(({ verdict }) => tools.get(verdict.name)?.runsIn === 'kennel');
  if (!isKept.includes(true) && !effects.some((effect) => effect && effect.sends.length > 0)) return [...calls];
  const sources = sourcesOf(history, at.group);
  const known: Provenance = {
    sources,
    words: ownWords(history.messages, history.calls, at.group),
    wordsNow: wordsNow(history, at.group),
    links: new Set(),
    grants: sources.length > 0 ? await grantsOf(db, at.chatId) : new Set(),
  };
  // what a person has commanded in so many words is nobody else's wish
  const knownTo = (at: number, more: Partial<Provenance> = {}): Provenance =>
    calls[at]!.commanded ? { ...known, sources: [] } : { ...known, ...more };
  let taints = effects.map((effect, index) => effect && taintOf(effect, knownTo(index)));
  // pages are searched only for an address that nothing else explains
  if (effects.some((effect, index) => effect?.sent?.urls?.length && taints[index]?.asks.length)) {
    const links = urlsIn((await pagesRead(db, at.threadId)).join('\n'));
    taints = effects.map((effect, index) => effect && taintOf(effect, knownTo(index, { links })));
  }
  return calls.map((call, index) => ({
    ...call,
    taint: taints[index] ?? (isKept[index] ? { sources: [...knownTo(index).sources], asks: [] } : null),
  }));
}

import type { SessionUpdate } from '@agentclientprotocol/sdk';
import type { EventEnvelope, ItemRecord } from '../../../contracts/records.ts';
import { endedCall, isTool, type StartedTool, startedCall } from './tool-calls.ts';

type Chunk = 'user_message_chunk' | 'agent_message_chunk' | 'agent_thought_chunk';

const SPEAKER: Partial<Record<ItemRecord['kind'], Chunk>> = {
  user_message: 'user_message_chunk',
  agent_message: 'agent_message_chunk',
  agent_reasoning: 'agent_thought_chunk',
  context_compaction: 'agent_thought_chunk',
  status: 'agent_message_chunk',
};

const chunk = (sessionUpdate: Chunk, messageId: string, text: string): SessionUpdate => ({
  sessionUpdate,
  messageId,
  content: { type: 'text', text },
});

/** By a person who stopped it, or by the end of a worker; then what follows begins again. */
const CUT_OFF = '\n\n(This was cut off.)\n\n';

/**
 * What an editor shows of a thread, from its events. Texts of the past are shown whole, those of now as they are
 * streamed.
 */
export class Updates {
  readonly #workspaces: string;
  /** tool items by id, with the id of the call that the editor knows */
  readonly #calls = new Map<string, string>();
  /** texts that are being streamed: what the editor has of them, or is to get when the past is over */
  readonly #streams = new Map<string, { kind: Chunk; text: string }>();
  #own: string[] = [];
  #replaying: boolean;

  constructor(workspaces: string, replaying: boolean) {
    this.#workspaces = workspaces;
    this.#replaying = replaying;
  }

  /** A message that the editor itself has just sent: it shows it already. */
  expectEcho(text: string): void {
    this.#own.push(text);
  }
  dropEcho(text: string): boolean {
    // quotations stand below the words
    const at = this.#own.findIndex((own) => text === own || text.startsWith(`${own}\n`));
    if (at >= 0) this.#own.splice(at, 1);
    return at >= 0;
  }

  /** The past is over: shows what is streamed right now. */
  live(): SessionUpdate[] {
    this.#replaying = false;
    return [...this.#streams]
      .filter(([, { text }]) => text !== '')
      .map(([id, { kind, text }]) => chunk(kind, id, text));
  }

  of({ event, item_id, payload }: EventEnvelope): SessionUpdate[] {
    const item = payload.item as ItemRecord | undefined;
    if (event === 'item.started' && item) return this.#started(item, payload.tool as StartedTool | undefined);
    if (event === 'item.delta' && item_id)
      return this.#delta(item_id, String(payload.kind), String(payload.delta ?? ''));
    if (event.startsWith('item.') && item) return this.#ended(item);
    if (event === 'thread.updated') return threadUpdates(payload.changes as Record<string, unknown> | undefined);
    return [];
  }

  #started(item: ItemRecord, tool: StartedTool | undefined): SessionUpdate[] {
    if (isTool(item) && tool) {
      this.#calls.set(item.id, tool.id);
      return [{ sessionUpdate: 'tool_call', ...startedCall(tool, this.#workspaces) }];
    }
    return [];
  }

  #delta(itemId: string, kind: string, delta: string): SessionUpdate[] {
    const speaker = SPEAKER[kind as ItemRecord['kind']];
    if (!speaker || delta === '') return [];
    const stream = this.#streams.get(itemId) ?? { kind: speaker, text: '' };
    this.#streams.set(itemId, { kind: speaker, text: stream.text + delta });
    return this.#replaying ? [] : [chunk(speaker, itemId, delta)];
  }

  #ended(item: ItemRecord): SessionUpdate[] {
    const call = this.#calls.get(item.id);
    if (call !== undefined) {
      this.#calls.delete(item.id);
      return [{ sessionUpdate: 'tool_call_update', ...endedCall(call, item, this.#workspaces) }];
    }
    const speaker = SPEAKER[item.kind];
    const stream = this.#streams.get(item.id);
    this.#streams.delete(item.id);
    const text = item.detail ?? item.summary;
    if (!speaker || (item.kind === 'user_message' && this.dropEcho(text))) return [];
    const shown = this.#replaying ? '' : (stream?.text ?? '');
    // what was streamed is the beginning of the text
    const rest = text.startsWith(shown) ? text.slice(shown.length) : shown === '' ? text : '';
    const isCut = item.status === 'interrupted' && item.kind === 'agent_message' && (shown !== '' || rest !== '');
    return [rest, isCut ? CUT_OFF : ''].filter((each) => each !== '').map((each) => chunk(speaker, item.id, each));
  }
}

function threadUpdates(changes: Record<string, unknown> = {}): SessionUpdate[] {
  const updates: SessionUpdate[] = [];
  if (typeof changes.mode === 'string')
    updates.push({ sessionUpdate: 'current_mode_update', currentModeId: modeOf(changes.mode) });
  if (changes.title !== undefined)
    updates.push({ sessionUpdate: 'session_info_update', title: changes.title as string | null });
  return updates;
}

/** The modes of a thread. Every other text that a client may have stored works as `agent`. */
export const MODES = [
  { id: 'agent', name: 'Agent', description: 'Works, and asks before what is dangerous' },
  { id: 'plan', name: 'Plan', description: 'Reads and plans, and changes nothing' },
];
export const modeOf = (mode: string): string => (mode === 'plan' ? 'plan' : 'agent');

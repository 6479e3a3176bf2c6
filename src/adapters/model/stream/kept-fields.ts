import { joined } from './calls.ts';

type Fields = Record<string, unknown>;

/**
 * Fields of an assistant message that a provider wants back with it: thoughts (DeepSeek, Kimi, OpenRouter, vLLM, GitHub
 * Copilot), signatures (Gemini, LiteLLM), sealed thoughts. Pieces of a text are joined.
 */
const WANTED =
  /reasoning|thinking|thought|signature|encrypted|^extra_content$|^provider_(?:specific_fields|metadata)$/i;
/** Of these the same text once more is no further piece. */
const SEALED = /signature|encrypted|opaque/i;
/** Lists whose entries come in pieces: OpenRouter's, LiteLLM's. */
const LISTS: ReadonlySet<string> = new Set(['reasoning_details', 'thinking_blocks']);

/** Collects the fields of a message that its provider wants back, as they were received. */
export class KeptFields {
  private readonly kept: Fields = {};

  /** @param soFar the message repeats what came before it */
  add(message: object, soFar: boolean): void {
    for (const [name, value] of Object.entries(message)) {
      if (!WANTED.test(name) || isEmpty(value)) continue;
      if (LISTS.has(name) && Array.isArray(value)) this.addList(name, value, soFar);
      else if (typeof value === 'string' && !SEALED.test(name))
        this.kept[name] = (soFar ? '' : (this.kept[name] ?? '')) + value;
      else this.kept[name] = joined(soFar ? undefined : this.kept[name], value);
    }
  }

  private addList(name: string, parts: readonly unknown[], soFar: boolean): void {
    if (soFar || this.kept[name] === undefined) this.kept[name] = [];
    for (const part of parts)
      if (typeof part === 'object' && part !== null) addDetail(this.kept[name] as Fields[], part as Fields);
  }

  /** Undefined when there is nothing to keep. */
  result(): Fields | undefined {
    return Object.keys(this.kept).length > 0 ? this.kept : undefined;
  }
}

const isEmpty = (value: unknown): boolean =>
  typeof value === 'object' && value !== null
    ? Object.values(value).every(isEmpty)
    : typeof value !== 'string' || value === '';

/** The fields of an entry that come in pieces. Others are whole. */
const PIECES = new Set(['text', 'summary', 'data', 'thinking', 'signature']);

/**
 * Adds a piece to the entry that it belongs to: of the same type, and of the same index where there is one. Without an
 * index, pieces follow each other and a signature closes an entry.
 * https://openrouter.ai/docs/use-cases/reasoning-tokens
 */
function addDetail(known: Fields[], piece: Fields): void {
  const entry = known.findLast(
    (each) => each.type === piece.type && each.index === piece.index && (!each.id || !piece.id || each.id === piece.id),
  );
  const isOpen =
    entry &&
    (piece.index !== undefined || (entry === known.at(-1) && !entry.signature && piece.type !== 'reasoning.encrypted'));
  if (!isOpen) {
    known.push({ ...piece });
    return;
  }
  for (const [field, value] of Object.entries(piece)) {
    if (value === null || value === undefined) continue;
    entry[field] =
      PIECES.has(field) && typeof entry[field] === 'string' && typeof value === 'string' ? entry[field] + value : value;
  }
}

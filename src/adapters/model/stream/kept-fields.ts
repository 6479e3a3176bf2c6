import { joined } from './calls.ts';

type Fields = Record<string, unknown>;

/**
 * Fields of an assistant message that a provider wants back with it: DeepSeek, Kimi; OpenRouter, vLLM; GitHub Copilot.
 * Their pieces are joined.
 */
const TEXTS = ['reasoning_content', 'reasoning', 'reasoning_text', 'reasoning_opaque'] as const;
/** Lists whose entries come in pieces: OpenRouter's, LiteLLM's. */
const LISTS = ['reasoning_details', 'thinking_blocks'] as const;

/** Collects the fields of a message that its provider wants back, as they were received. */
export class KeptFields {
  private readonly kept: Fields = {};

  /** @param soFar the message repeats what came before it */
  add(message: object, soFar: boolean): void {
    const fields = message as Fields;
    for (const name of TEXTS) {
      const text = fields[name];
      if (typeof text === 'string' && text !== '') this.kept[name] = (soFar ? '' : (this.kept[name] ?? '')) + text;
    }
    for (const name of LISTS) {
      const parts = fields[name];
      if (!Array.isArray(parts) || parts.length === 0) continue;
      if (soFar || this.kept[name] === undefined) this.kept[name] = [];
      for (const part of parts)
        if (typeof part === 'object' && part !== null) addDetail(this.kept[name] as Fields[], part as Fields);
    }
    if (fields.extra_content) this.kept.extra_content = joined(this.kept.extra_content, fields.extra_content);
  }

  /** Undefined when there is nothing to keep. */
  result(): Fields | undefined {
    return Object.keys(this.kept).length > 0 ? this.kept : undefined;
  }
}

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

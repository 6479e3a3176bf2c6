import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { inline } from '../../domain/text/foreign-text.ts';
import { prefix, storableText, suffix } from '../../domain/text/storable.ts';

/** What a call gave, as text. */
export interface McpResult {
  ok: boolean;
  text: string;
  /** something in the middle was left out */
  cut: boolean;
}

/** Of a result, in characters: half from the beginning, half from the end. */
const MOST_TEXT = 100_000;

export function resultOf({ content, structuredContent, isError }: CallToolResult): McpResult {
  const parts = content.map(partText);
  // a server that gives both gives the same in both
  if (!content.some(({ type }) => type === 'text') && structuredContent !== undefined)
    parts.push(JSON.stringify(structuredContent, null, 1));
  const whole = storableText(parts.join('\n\n').trim()) || '(nothing)';
  const left = whole.length - MOST_TEXT;
  const text =
    left > 0
      ? `${prefix(whole, MOST_TEXT / 2)}\n… ${left} characters left out …\n${suffix(whole, MOST_TEXT / 2)}`
      : whole;
  return { ok: isError !== true, text, cut: left > 0 };
}

function partText(part: CallToolResult['content'][number]): string {
  switch (part.type) {
    case 'text':
      return part.text;
    case 'resource_link':
      return `[${inline(part.name, 100)}: ${inline(part.uri, 500)}]`;
    case 'resource':
      return 'text' in part.resource ? part.resource.text : `[file ${inline(part.resource.uri, 500)}, not shown]`;
    default:
      return `[${part.type} ${inline(part.mimeType, 60)}, ${Math.ceil((part.data.length * 3) / 4 / 1024)} KB, not shown]`;
  }
}

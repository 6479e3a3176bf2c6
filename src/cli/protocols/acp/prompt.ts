import { type ContentBlock, RequestError } from '@agentclientprotocol/sdk';

/** What an editor sends as one message: the person's words, and texts that came with them. */
export interface Prompt {
  text: string;
  quoted: Array<{ name: string; text: string }>;
  pictures: Array<{ data: Buffer; type: string }>;
}

export const invalid = (message: string): RequestError => new RequestError(-32602, message);

/** A prompt as clients write it: a text, or blocks. @throws RequestError as the reference server answers */
export function promptOf(params: unknown): { sessionId: string; prompt: ContentBlock[] } {
  const { sessionId, prompt } = (params ?? {}) as { sessionId?: unknown; prompt?: unknown };
  const blocks = typeof prompt === 'string' ? [{ type: 'text' as const, text: prompt }] : prompt;
  if (!Array.isArray(blocks)) throw invalid('prompt must be text or a list of content blocks');
  return { sessionId: sessionIdOf({ sessionId }), prompt: blocks as ContentBlock[] };
}

export function sessionIdOf(params: unknown): string {
  const { sessionId } = (params ?? {}) as { sessionId?: unknown };
  if (typeof sessionId !== 'string' || sessionId === '') throw invalid('sessionId is required');
  return sessionId;
}

/**
 * The words of a prompt, and its pictures. Links stand in the text as `@uri`. The text of an embedded file is not the
 * person's: it stays apart, so that it counts as words of others. @throws RequestError for blocks that no thread can
 * take
 */
export function readPrompt(blocks: readonly ContentBlock[]): Prompt {
  const words: string[] = [];
  const quoted: Prompt['quoted'] = [];
  const pictures: Prompt['pictures'] = [];
  for (const block of blocks) {
    if (block?.type === 'text') words.push(block.text);
    else if (block?.type === 'resource_link') words.push(`@${block.uri}`);
    else if (block?.type === 'resource' && 'text' in block.resource) {
      words.push(`@${block.resource.uri}`);
      quoted.push({ name: block.resource.uri, text: block.resource.text });
    } else if (block?.type === 'image' && block.data)
      pictures.push({ data: Buffer.from(block.data, 'base64'), type: block.mimeType });
    else
      throw invalid(
        `content of type ${String(block?.type)} is not supported here: send text, pictures, links, or resources with a text`,
      );
  }
  const text = words
    .map((each) => each.trim())
    .filter(Boolean)
    .join('\n\n');
  if (text === '' && pictures.length === 0) throw invalid('prompt must include text content');
  return { text, quoted, pictures };
}

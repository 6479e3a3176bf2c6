import type { IncomingMessage } from 'node:http';
import { textOf, type WireMessage } from './situation.ts';
import type { OfferedTool } from './use.ts';

const MAX_BODY = 32 * 1024 * 1024;

/** The parts of a chat completion request that matter here. */
export interface PracticeRequest {
  model?: string;
  messages: WireMessage[];
  tools?: unknown[];
  stream?: boolean;
  stream_options?: { include_usage?: boolean };
}

export async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY) throw new Error('the body is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Throws what the caller is told. */
export function parseRequest(raw: string): PracticeRequest {
  let body: PracticeRequest;
  try {
    body = JSON.parse(raw);
  } catch {
    throw new Error('the body is not JSON');
  }
  if (!Array.isArray(body?.messages)) throw new Error('messages is required');
  return body;
}

/**
 * A request without its messages before the latest of the person. A quote inside a text is escaped, so the mark stands
 * only where a message begins.
 */
export function skimmed(raw: string): string {
  const first = raw.indexOf('"messages":[');
  const latest = raw.lastIndexOf('{"role":"user"');
  return first < 0 || latest < first ? raw : raw.slice(0, first) + '"messages":[' + raw.slice(latest);
}

export function offeredTools(tools: unknown): OfferedTool[] {
  if (!Array.isArray(tools)) return [];
  return (tools as Array<{ function?: { name?: string; parameters?: { properties?: object } } }>).flatMap((tool) =>
    tool?.function?.name
      ? [{ name: tool.function.name, properties: Object.keys(tool.function.parameters?.properties ?? {}) }]
      : [],
  );
}

export const charsOf = ({ messages, tools }: PracticeRequest): number =>
  messages.reduce(
    (sum, message) => sum + textOf(message.content).length + JSON.stringify(message.tool_calls ?? '').length,
    JSON.stringify(tools ?? '').length,
  );

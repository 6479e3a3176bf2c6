import { inline } from '../../text/foreign-text.ts';

/** Longest memory. */
export const MEMORY_CHARS = 500;
/** The share of memories in a prompt, in characters. */
const PROMPT_CHARS = 2_000;

/**
 * What the model is told of memories: the newest that fit, oldest first. It changes only when a memory does, so that
 * providers can cache the prompt.
 */
export function memoryLines(bodies: readonly string[]): string[] {
  const lines: string[] = [];
  let left = PROMPT_CHARS;
  for (const body of bodies.toReversed()) {
    const line = `- ${inline(body, MEMORY_CHARS)}`;
    left -= line.length;
    if (left < 0) break;
    lines.unshift(line);
  }
  if (lines.length === 0) return [];
  const rest = bodies.length > lines.length ? ' There is more: recall finds it.' : '';
  return [`What you were asked to remember here, as facts and wishes and not as orders of now:${rest}`, ...lines];
}

interface ShownMemory {
  id: string;
  body: string;
  sources: readonly unknown[];
  created_at: Date;
}

/** One memory of a list. */
export const memoryLine = ({ id, body, sources, created_at }: ShownMemory): string =>
  `- ${id} (${created_at.toISOString().slice(0, 10)}${sources.length > 0 ? ', after text of others was read' : ''}): ${inline(body, MEMORY_CHARS)}`;

import { z } from 'zod';
import { AGENT_NAMES, type LogLine } from '../../../contracts/kennel.ts';
import { visibleWithin } from '../../../domain/text/foreign-text.ts';

/** Validates lines of a log. An agent may write into its own log, and an invalid line must not stop `follow`. */

/** A date that PostgreSQL accepts, too. */
function isDate(text: string): boolean {
  const year = new Date(text).getUTCFullYear();
  return year >= 1970 && year < 10_000;
}

const id = z.string().max(500);
const at = { seq: z.int().nonnegative(), step: z.int32().nonnegative(), at: z.string().max(40).refine(isDate) };
const paths = z.array(z.string()).optional();

const schema: z.ZodType<LogLine> = z.discriminatedUnion('type', [
  z.object({ ...at, type: z.literal('started'), harness: z.enum(AGENT_NAMES), version: z.string().nullable() }),
  z.object({ ...at, type: z.literal('session'), sessionId: id, resumed: z.boolean() }),
  z.object({ ...at, type: z.literal('text'), messageId: id, text: z.string() }),
  z.object({
    ...at,
    type: z.literal('tool'),
    id,
    title: z.string(),
    kind: z.string(),
    status: z.enum(['pending', 'in_progress', 'completed', 'failed']),
    detail: z.string().optional(),
    paths,
  }),
  z.object({ ...at, type: z.literal('plan'), entries: z.array(z.object({ content: z.string(), status: z.string() })) }),
  z.object({ ...at, type: z.literal('proposal'), text: z.string() }),
  z.object({ ...at, type: z.literal('question'), id, question: z.string(), options: z.array(z.string()) }),
  z.object({
    ...at,
    type: z.literal('permission'),
    id,
    title: z.string(),
    kind: z.string(),
    command: z.string().optional(),
    diff: z.string().optional(),
    paths,
  }),
  z.object({ ...at, type: z.literal('settled'), id, how: z.string() }),
  z.object({ ...at, type: z.literal('told'), ids: z.array(id).max(1_000) }),
  z.object({ ...at, type: z.literal('usage'), inputTokens: z.number(), outputTokens: z.number() }),
  z.object({ ...at, type: z.literal('note'), level: z.enum(['info', 'warn']), text: z.string() }),
  z.object({
    ...at,
    type: z.literal('ended'),
    outcome: z.enum(['completed', 'failed', 'cancelled', 'parked']),
    reason: z.string(),
  }),
]);

const asItIs = ({ command, diff }: { command?: string; diff?: string }) => ({
  ...(command !== undefined && { command: storable(command) }),
  ...(diff !== undefined && { diff: storable(diff) }),
});
const storable = (text: string): string => text.replaceAll('\0', '␀').toWellFormed();

/** Our tool by which an agent asks the person, as agents call it. The question is a message of its own. */
const ASKS = /^(?:(?:mcp[_:. ]+)?fetch[-_./: ]+)?ask_human(?: \(fetch(?: MCP Server)?\))?$/i;

/**
 * Null for text that is no log line. Other texts lose their control characters here, because they are stored, shown and
 * sent as they are.
 */
export function parseLine(text: string): LogLine | null {
  if (text === '') return null;
  try {
    const line = schema.safeParse(JSON.parse(text));
    if (!line.success) return null;
    const shown = visibleWithin(line.data);
    if (shown.type === 'tool' && ASKS.test(shown.title)) return { ...shown, title: 'asks you' };
    // a request for consent keeps its text: hidden characters in it are shown to the person, not removed
    return line.data.type === 'permission' ? { ...shown, ...asItIs(line.data) } : shown;
  } catch {
    return null;
  }
}

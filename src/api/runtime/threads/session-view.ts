import { z } from 'zod';
import { cut } from '../../../domain/text/storable.ts';
import type {
  SessionDetail,
  SessionFigures,
  SessionMessage,
  SessionRow,
} from '../../../store/chats/sessions/sessions.ts';
import { UNTITLED } from './summary.ts';

/** A session as clients of the older session manager know it: a thread with its messages as blocks. */

const time = () => z.iso.datetime();
const usd = () => z.number().nonnegative();
const none = () => z.literal(0).describe('No price is known in this currency');

export const sessionMetadata = z
  .object({
    id: z.string().describe('Id of the thread'),
    title: z.string(),
    created_at: time(),
    updated_at: time(),
    message_count: z.int().nonnegative().describe('Texts, and results of tools'),
    total_tokens: z.int().nonnegative(),
    model: z.string(),
    workspace: z.string(),
    mode: z.string().nullable(),
    cost: z.object({
      session_cost_usd: usd(),
      session_cost_cny: none(),
      subagent_cost_usd: usd().describe('Of coding tasks'),
      subagent_cost_cny: none(),
      displayed_cost_high_water_usd: usd().describe('Both together'),
      displayed_cost_high_water_cny: none(),
    }),
    cumulative_turn_secs: z.int().nonnegative(),
    parent_session_id: z.string().optional().describe('The thread that it was copied from'),
  })
  .meta({ id: 'SavedSessionMetadata' });

const block = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('text'), text: z.string() }),
    z.object({
      type: z.literal('tool_use'),
      id: z.string(),
      name: z.string(),
      input: z.record(z.string(), z.unknown()),
    }),
    z.object({ type: z.literal('tool_result'), tool_use_id: z.string(), content: z.string(), is_error: z.boolean() }),
  ])
  .meta({ id: 'SessionBlock' });

const message = z
  .object({ role: z.enum(['user', 'assistant']), content: z.array(block) })
  .meta({ id: 'SavedSessionMessage' });
type BlockMessage = z.output<typeof message>;

export const savedSession = z
  .object({
    metadata: sessionMetadata,
    messages: z.array(message).describe('Since the conversation was begun or cleared; of more than 16 MB the newest'),
    system_prompt: z.string().nullable(),
  })
  .meta({ id: 'SavedSession' });

const TITLE_CHARS = 50;

export const titleOf = ({ title, begun_with }: Pick<SessionRow, 'title' | 'begun_with'>): string =>
  cut(title ?? begun_with ?? UNTITLED, TITLE_CHARS);

const UNUSED: SessionFigures = { tokens: 0, micro_usd: 0, task_micro_usd: 0, seconds: 0 };

export function metadataOf(
  row: Omit<SessionRow, 'messages'>,
  messages: number,
  figures: SessionFigures = UNUSED,
): z.output<typeof sessionMetadata> {
  const [own, tasks] = [figures.micro_usd / 1_000_000, figures.task_micro_usd / 1_000_000];
  return {
    id: row.id,
    title: titleOf(row),
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    message_count: messages,
    total_tokens: figures.tokens,
    model: row.model,
    workspace: row.workspace,
    mode: row.mode,
    cost: {
      session_cost_usd: own,
      session_cost_cny: 0,
      subagent_cost_usd: tasks,
      subagent_cost_cny: 0,
      displayed_cost_high_water_usd: own + tasks,
      displayed_cost_high_water_cny: 0,
    },
    cumulative_turn_secs: Math.floor(figures.seconds),
    ...(row.forked_from !== null && { parent_session_id: row.forked_from }),
  };
}

/** A call stands in the message of the model step that made it, and its result in a message of its own after that. */
export function blocksOf(messages: SessionDetail['messages']): BlockMessage[] {
  return [...Map.groupBy(messages, ({ ord }) => ord).values()].flatMap((step) => {
    const said = step
      .filter(({ call }) => call === null)
      .map(({ content }) => ({ type: 'text' as const, text: content }));
    const made = step.flatMap(({ call }) =>
      call ? [{ type: 'tool_use' as const, id: call.id, name: call.name, input: call.input }] : [],
    );
    return [
      { role: step[0]!.role === 'user' ? 'user' : 'assistant', content: [...said, ...made] } satisfies BlockMessage,
      ...step.flatMap(resultOf),
    ];
  });
}

const resultOf = ({ call, content }: SessionMessage): BlockMessage[] =>
  call ? [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: call.id, content, is_error: !call.ok }] }] : [];

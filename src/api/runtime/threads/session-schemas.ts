import { z } from 'zod';

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
export type BlockMessage = z.output<typeof message>;

export const savedSession = z
  .object({
    metadata: sessionMetadata,
    messages: z.array(message).describe('Since the conversation was begun or cleared; of more than 16 MB the newest'),
    system_prompt: z.string().nullable(),
  })
  .meta({ id: 'SavedSession' });

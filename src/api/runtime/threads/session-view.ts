import type { z } from 'zod';
import { cut } from '../../../domain/text/storable.ts';
import type {
  SessionDetail,
  SessionFigures,
  SessionMessage,
  SessionRow,
} from '../../../store/chats/sessions/sessions.ts';
import { UNTITLED } from '../../../store/chats/threads/thread-summaries.ts';
import type { BlockMessage, sessionMetadata } from './session-schemas.ts';

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

import { z } from 'zod';
import type { CallToolResult, OfferedTool } from '../adapters/mcp/serving/protocol.ts';
import { isInterval, isOnce, readInterval } from '../domain/firings.ts';

/**
 * Tools of NanoClaw's agents, by their names and arguments. Each is a call of one of ours, so policy, taint and consent
 * are the same. Answers tell what happened, which NanoClaw's do not.
 */

interface ContractTool {
  offered: Pick<OfferedTool, 'name' | 'title' | 'description' | 'inputSchema'>;
  /** our tool */
  of: string;
  /** our tool where the arguments name another chat */
  ofOther?: string;
  /** its arguments; a text says what is wrong with those that were given */
  args: (given: Record<string, unknown>) => Record<string, unknown> | string;
  /** what the program is told of a call that went well */
  answer: (call: DoneCall) => Pick<CallToolResult, 'content' | 'structuredContent'>;
}

interface DoneCall {
  output: string;
  metadata: Record<string, unknown> | null;
}

const TYPES = ['cron', 'interval', 'once'] as const;
type Type = (typeof TYPES)[number];

const id = z.string().trim().min(1).max(100).describe('The task: its id, or its name');
const type = z.enum(TYPES).describe('cron: five fields. interval: milliseconds. once: a local time');
const value = z
  .string()
  .trim()
  .min(1)
  .max(100)
  .describe('Such as "0 9 * * *", "3600000" or "2026-11-30T15:30:00" (no Z), in the time zone of the owner');

/** Why a value is none of its type; null when it may be one. Our tool says what else is wrong. */
function wrongValue(ofType: Type, text: string): string | null {
  if (ofType === 'interval') return /^\d+$/.test(text) ? null : `Invalid interval "${text}": give milliseconds.`;
  const isTime = /^\d{4}-\d\d-\d\d[T ]/.test(text);
  if (ofType === 'once')
    return isTime ? null : `Invalid time "${text}": give a local time such as 2026-11-30T15:30:00.`;
  return isTime || /^\d+$/.test(text) ? `Invalid cron "${text}": give five fields.` : null;
}

function contractTool<S extends z.ZodType<Record<string, unknown>>>(
  { name, title, description }: { name: string; title: string; description: string },
  schema: S,
  of: string,
  args: (given: z.output<S>) => Record<string, unknown> | string,
  answer: ContractTool['answer'],
  ofOther?: string,
): ContractTool {
  const inputSchema = z.toJSONSchema(schema, { io: 'input' }) as OfferedTool['inputSchema'];
  return {
    offered: { name, title, description, inputSchema },
    of,
    ...(ofOther && { ofOther }),
    args: (given) => {
      const parsed = schema.safeParse(given);
      return parsed.success
        ? args(parsed.data)
        : parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'arguments'}: ${message}`).join('; ');
    },
    answer,
  };
}

const says = (text: string, structuredContent?: Record<string, unknown>): ReturnType<ContractTool['answer']> => ({
  content: [{ type: 'text', text }],
  ...(structuredContent && { structuredContent }),
});
const idIn = ({ metadata }: DoneCall): string => String(metadata?.id ?? '');
const about = (done: string) => (call: DoneCall) => says(`Task ${idIn(call)} ${done}.`, { task_id: idIn(call) });
const ofTask = z.object({ task_id: id });

const CONTRACT_TOOLS: readonly ContractTool[] = [
  contractTool(
    {
      name: 'schedule_task',
      title: 'Schedule a prompt',
      description: 'Do what a prompt says, again and again or once. Results come to the conversation of this program.',
    },
    z.object({
      prompt: z.string().trim().min(1).max(4_000).describe('What to do then'),
      schedule_type: type,
      schedule_value: value,
      context_mode: z
        .enum(['group', 'isolated'])
        .default('group')
        .describe('group: with what was said before. isolated: in a conversation of its own'),
      task_id: z.string().trim().min(1).max(80).optional().describe('Its name'),
      target_group_jid: z.string().trim().min(1).max(120).optional().describe('Another chat: its name, or its address'),
    }),
    'cron_create',
    ({ prompt, schedule_type, schedule_value, context_mode, task_id, target_group_jid }) => {
      const isolated = context_mode === 'isolated' && { isolated: true };
      const name = task_id !== undefined && { name: task_id };
      const chat = target_group_jid !== undefined && { chat: target_group_jid };
      return (
        wrongValue(schedule_type, schedule_value) ?? {
          prompt,
          schedule: schedule_value,
          ...isolated,
          ...name,
          ...chat,
        }
      );
    },
    (call) => says(`Task ${idIn(call)} is scheduled. ${call.output}`, { task_id: idIn(call) }),
  ),
  contractTool(
    { name: 'list_tasks', title: 'List scheduled prompts', description: 'What is scheduled in this conversation.' },
    z.object({}),
    'cron_list',
    () => ({}),
    ({ metadata }) => {
      const tasks = ((metadata?.crons ?? []) as ListedCron[]).map(taskOf);
      const lines = tasks.map(
        ({ id, prompt, schedule_type, schedule_value, status, next_run }) =>
          `- [${id}] ${prompt.slice(0, 50)}${prompt.length > 50 ? '...' : ''} (${schedule_type}: ${schedule_value}) - ${status}, next: ${next_run ?? 'N/A'}`,
      );
      return says(tasks.length === 0 ? 'No scheduled tasks found.' : ['Scheduled tasks:', ...lines].join('\n'), {
        tasks,
      });
    },
  ),
  contractTool(
    { name: 'update_task', title: 'Change a scheduled prompt', description: 'Change what it does, or when.' },
    z.object({
      task_id: id,
      prompt: z.string().trim().min(1).max(4_000).optional(),
      schedule_type: type.optional(),
      schedule_value: value.optional(),
    }),
    'cron_update',
    ({ task_id, prompt, schedule_type, schedule_value }) => {
      if (schedule_type !== undefined && schedule_value === undefined) return 'schedule_type needs a schedule_value.';
      const wrong = schedule_type && schedule_value ? wrongValue(schedule_type, schedule_value) : null;
      return (
        wrong ?? {
          cron: task_id,
          ...(prompt !== undefined && { prompt }),
          ...(schedule_value !== undefined && { schedule: schedule_value }),
        }
      );
    },
    about('is changed'),
  ),
  contractTool(
    { name: 'pause_task', title: 'Pause a scheduled prompt', description: 'It does not run until it is resumed.' },
    ofTask,
    'cron_update',
    ({ task_id }) => ({ cron: task_id, enabled: false }),
    about('is paused'),
  ),
  contractTool(
    { name: 'resume_task', title: 'Resume a scheduled prompt', description: 'Let a paused one run again.' },
    ofTask,
    'cron_update',
    ({ task_id }) => ({ cron: task_id, enabled: true }),
    about('runs again'),
  ),
  contractTool(
    { name: 'cancel_task', title: 'Delete a scheduled prompt', description: 'It is deleted for ever.' },
    ofTask,
    'cron_delete',
    ({ task_id }) => ({ cron: task_id }),
    about('is deleted'),
  ),
  contractTool(
    {
      name: 'send_message',
      title: 'Say something at once',
      description:
        'Shown at once in the conversation of this program, which its owner sees on the page; or sent to another chat, after the owner’s yes.',
    },
    z.object({
      text: z.string().trim().min(1).max(500),
      chat: z.string().trim().min(1).max(120).optional().describe('Another chat: its name, or its address'),
      sender: z.string().max(100).optional().describe('Not used'),
    }),
    'report_progress',
    ({ text, chat }) => (chat === undefined ? { message: text } : { text, chat }),
    ({ output, metadata }) =>
      says(metadata?.chat === undefined ? 'It is shown in the conversation of this program.' : output),
    'send_message',
  ),
  contractTool(
    {
      name: 'register_group',
      title: 'Answer in a group',
      description: 'Answer in a group that the account is in, after the owner’s yes.',
    },
    z.object({
      jid: z.string().trim().min(1).max(120).describe('Its address, or its name'),
      name: z.string().max(120).optional().describe('Not used: it has the name that its members gave it'),
      folder: z.string().trim().min(1).max(64).optional(),
      trigger: z.string().trim().min(1).max(60).optional(),
    }),
    'register_group',
    ({ jid, folder, trigger }) => ({
      group: jid,
      answer: 'called',
      ...(folder !== undefined && { folder }),
      ...(trigger !== undefined && { trigger }),
    }),
    ({ output }) => says(output),
  ),
];

interface ListedCron {
  id: string;
  prompt: string | null;
  workflow: string | null;
  schedule: string;
  state: string;
  nextRunAt: string | null;
}

export interface ListedTask {
  id: string;
  prompt: string;
  schedule_type: Type;
  schedule_value: string;
  status: 'active' | 'paused';
  next_run: string | null;
}

function taskOf({ id, prompt, workflow, schedule, state, nextRunAt }: ListedCron): ListedTask {
  const [schedule_type, schedule_value]: [Type, string] = isInterval(schedule)
    ? ['interval', String(readInterval(schedule).every)]
    : isOnce(schedule)
      ? ['once', schedule.slice('@at '.length)]
      : ['cron', schedule];
  return {
    id,
    prompt: prompt ?? `run ${workflow ?? 'an automation'}`,
    schedule_type,
    schedule_value,
    status: state === 'enabled' ? 'active' : 'paused',
    next_run: nextRunAt,
  };
}

const BY_NAME = new Map(CONTRACT_TOOLS.map((tool) => [tool.offered.name, tool]));

export const contractTools = (): IterableIterator<ContractTool> => BY_NAME.values();
export const contractToolOf = (name: string): ContractTool | undefined => BY_NAME.get(name);

/** Our tool for a call with these arguments of ours. */
export const ourToolOf = ({ of, ofOther }: ContractTool, ours: Record<string, unknown>): string =>
  'chat' in ours && ofOther ? ofOther : of;

import { z } from 'zod';
import { TASK_STATUSES } from '../../../store/routines/background-tasks.ts';

const time = () => z.iso.datetime().meta({ pattern: undefined });
const text = () => z.string().nullish();
const flag = () => z.boolean().nullish();
/** Clients know the refusal of another word. */
const status = () =>
  z.enum(['active', 'paused'], {
    error: ({ input }) =>
      typeof input === 'string'
        ? `unknown variant \`${input}\`, expected \`active\` or \`paused\``
        : 'expected `active` or `paused`',
  });

const optional = {
  cwds: z.array(z.string()).nullish().describe('The first is the workspace of its threads'),
  status: status().nullish(),
  timezone: text().describe('IANA; that of the chat when left out'),
  allow_shell: flag().describe('false when left out'),
  auto_approve: flag().describe('What would ask runs without; false when left out'),
};

export const newAutomationRequest = z
  .object({
    name: z.string(),
    prompt: z.string(),
    rrule: z.string(),
    ...optional,
    thread_id: text().describe('Where results go; the terminal when left out'),
  })
  .meta({
    id: 'CreateAutomationRequest',
    examples: [
      {
        name: 'Morning',
        prompt: 'What changed in demo since yesterday?',
        rrule: 'FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;BYHOUR=8;BYMINUTE=30',
      },
    ],
  });

/** What it leaves out stays as it is. */
export const updateAutomationRequest = z
  .object({ name: text(), prompt: text(), rrule: text(), ...optional })
  .meta({ id: 'UpdateAutomationRequest', examples: [{ status: 'paused' }] });

export const automationRecord = z
  .object({
    schema_version: z.literal(1),
    id: z.string(),
    name: z.string(),
    prompt: z.string(),
    rrule: z.string(),
    cwds: z.array(z.string()),
    status: z.enum(['active', 'paused']),
    created_at: time(),
    updated_at: time(),
    next_run_at: time().optional(),
    last_run_at: time().optional(),
    timezone: z.string().describe('Whose days and hours its rule means'),
    thread_id: z.string().optional().describe('Where its results go'),
    allow_shell: z.boolean(),
    auto_approve: z.boolean(),
    estimate: z.string().optional().describe('What its runs will probably cost, where that is known; not in the list'),
  })
  .meta({ id: 'AutomationRecord' });
export type AutomationRecord = z.output<typeof automationRecord>;

export const automationRunRecord = z
  .object({
    schema_version: z.literal(1),
    id: z.string(),
    automation_id: z.string(),
    scheduled_for: time(),
    status: z.enum(TASK_STATUSES),
    created_at: time(),
    started_at: time().optional(),
    ended_at: time().optional(),
    task_id: z.string().optional(),
    thread_id: z.string().optional(),
    turn_id: z.string().optional(),
    error: z.string().optional(),
  })
  .meta({ id: 'AutomationRun' });
export type AutomationRunRecord = z.output<typeof automationRunRecord>;

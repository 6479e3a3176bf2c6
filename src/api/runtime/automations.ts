import { z } from 'zod';
import { storableText } from '../../domain/text/storable.ts';
import type { AutomationChange, AutomationState } from '../../gateway/intake/automations.ts';
import { type AutomationRun, runsOfAutomation } from '../../store/routines/automations.ts';
import { TASK_STATUSES } from '../../store/routines/background-tasks.ts';
import { automationNotFound, automationTextEmpty, automationTextRequired } from '../errors/errors.ts';
import { isId, requestKey, whole } from '../http/request.ts';
import { given } from './shared/bodies.ts';
import { endpoint } from './shared/endpoint.ts';

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

const newAutomationRequest = z
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
const updateAutomationRequest = z
  .object({ name: text(), prompt: text(), rrule: text(), ...optional })
  .meta({ id: 'UpdateAutomationRequest', examples: [{ status: 'paused' }] });

const automationRecord = z
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
  })
  .meta({ id: 'AutomationRecord' });
type AutomationRecord = z.output<typeof automationRecord>;

const automationRunRecord = z
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
type AutomationRunRecord = z.output<typeof automationRunRecord>;

const recordOf = (automation: AutomationState): AutomationRecord => ({
  schema_version: 1,
  id: automation.id,
  name: automation.name,
  prompt: automation.args.prompt,
  rrule: automation.rrule,
  cwds: automation.args.cwds,
  status: automation.enabled ? 'active' : 'paused',
  created_at: automation.created_at.toISOString(),
  updated_at: automation.updated_at.toISOString(),
  ...(automation.next_run_at && { next_run_at: automation.next_run_at.toISOString() }),
  ...(automation.last_run_at && { last_run_at: automation.last_run_at.toISOString() }),
  timezone: automation.time_zone,
  ...(automation.thread_id !== null && { thread_id: automation.thread_id }),
  allow_shell: automation.args.allow_shell,
  auto_approve: automation.args.auto_approve,
});

/** A run that somebody asked for was due when they did. */
const runRecordOf = (automationId: string, run: AutomationRun): AutomationRunRecord => ({
  schema_version: 1,
  id: run.id,
  automation_id: automationId,
  scheduled_for: (run.scheduled_for ?? run.created_at).toISOString(),
  status: run.status,
  created_at: run.created_at.toISOString(),
  ...(run.started_at && { started_at: run.started_at.toISOString() }),
  ...(run.ended_at && { ended_at: run.ended_at.toISOString() }),
  ...(run.task_id !== null && { task_id: run.task_id }),
  ...(run.thread_id !== null && { thread_id: run.thread_id }),
  ...(run.turn_id !== null && { turn_id: run.turn_id }),
  ...(run.error !== null && { error: run.error }),
});

/** Most runs in one answer. So many are kept. */
const MOST_RUNS = 500;

const refusals = { 404: 'There is no such automation.' };
const answer = { schema: automationRecord, what: 'The automation. A pause in the Temporal Web UI shows here at once.' };

export const getAutomations = endpoint({
  method: 'GET',
  path: '/v1/automations',
  summary: 'List automations',
  answer: { schema: z.array(automationRecord), what: 'Automations, the last changed first.' },
  handle: async (_, { intake }) => (await intake.background.automations.list()).map(recordOf),
});

export const postAutomation = endpoint({
  method: 'POST',
  path: '/v1/automations',
  summary: 'Run a prompt by a rule',
  body: newAutomationRequest,
  answer: { ...answer, status: 201, what: 'The automation; the same for the same Idempotency-Key.' },
  refusals: {
    400: 'A field is blank, or the rule or the time zone is not understood.',
    404: 'There is no such thread.',
  },
  handle: async ({ ctx, body }, { intake }) => {
    const name = requiredText(body.name, automationTextRequired('name'));
    const prompt = requiredText(body.prompt, automationTextRequired('prompt'));
    const fields = {
      name,
      rrule: body.rrule,
      timeZone: given(body.timezone),
      enabled: body.status !== 'paused',
      args: {
        prompt,
        cwds: body.cwds ?? [],
        allow_shell: body.allow_shell ?? false,
        auto_approve: body.auto_approve ?? false,
      },
      threadId: given(body.thread_id),
    };
    return recordOf(await intake.background.automations.create(fields, requestKey(ctx, 'automation', body)));
  },
});

export const getAutomation = endpoint({
  method: 'GET',
  path: '/v1/automations/{id}',
  summary: 'Read an automation',
  answer,
  refusals,
  handle: async ({ params: { id } }, { intake }) => recordOf(await intake.background.automations.get(checkedId(id))),
});

export const patchAutomation = endpoint({
  method: 'PATCH',
  path: '/v1/automations/{id}',
  summary: 'Change an automation',
  body: updateAutomationRequest,
  answer,
  refusals: { ...refusals, 400: 'A field is blank, or the rule or the time zone is not understood.' },
  handle: async ({ params: { id }, body }, { intake }) =>
    recordOf(await intake.background.automations.update(checkedId(id), changesIn(body))),
});

export const deleteAutomation = endpoint({
  method: 'DELETE',
  path: '/v1/automations/{id}',
  summary: 'Delete an automation; a run that goes on is not ended',
  answer: { schema: automationRecord, what: 'The automation as it was.' },
  refusals,
  handle: async ({ params: { id } }, { intake }) => recordOf(await intake.background.automations.remove(checkedId(id))),
});

export const postAutomationRun = endpoint({
  method: 'POST',
  path: '/v1/automations/{id}/run',
  summary: 'Run an automation now, also while it is paused; a body is ignored',
  answer: { schema: automationRunRecord, what: 'The run; the same for the same Idempotency-Key.' },
  refusals,
  handle: async ({ ctx, params: { id } }, { intake }) =>
    runRecordOf(id, await intake.background.automations.run(checkedId(id), requestKey(ctx, `run ${id}`, null))),
});

export const postAutomationPause = endpoint({
  method: 'POST',
  path: '/v1/automations/{id}/pause',
  summary: 'Pause an automation; a body is ignored',
  answer,
  refusals,
  handle: async ({ params: { id } }, { intake }) =>
    recordOf(await intake.background.automations.setEnabled(checkedId(id), false)),
});

export const postAutomationResume = endpoint({
  method: 'POST',
  path: '/v1/automations/{id}/resume',
  summary: 'Let a paused automation run again; what it missed is not caught up; a body is ignored',
  answer,
  refusals,
  handle: async ({ params: { id } }, { intake }) =>
    recordOf(await intake.background.automations.setEnabled(checkedId(id), true)),
});

export const getAutomationRuns = endpoint({
  method: 'GET',
  path: '/v1/automations/{id}/runs',
  summary: 'List the runs of an automation',
  query: { limit: whole.describe(`At most ${MOST_RUNS}, also when left out`) },
  answer: {
    schema: z.array(automationRunRecord),
    what: 'Runs, the newest first; none for an automation that is not there.',
  },
  handle: async ({ params: { id }, query }, { store }) => {
    const runs = isId(id) ? await runsOfAutomation(store.db, id, Math.min(query.limit ?? MOST_RUNS, MOST_RUNS)) : [];
    return runs.map((run) => runRecordOf(id, run));
  },
});

/** @throws ApiError 404 */
function checkedId(id: string): string {
  if (!isId(id)) throw automationNotFound(id);
  return id;
}

function requiredText(text: string, otherwise: Error): string {
  const trimmed = storableText(text).trim();
  if (!trimmed) throw otherwise;
  return trimmed;
}

/** @throws ApiError 400 */
function changesIn(body: z.output<typeof updateAutomationRequest>): AutomationChange {
  const { name, prompt, rrule, timezone, status, cwds, allow_shell, auto_approve } = body;
  const args = {
    cwds,
    allow_shell,
    auto_approve,
    prompt: prompt == null ? undefined : requiredText(prompt, automationTextEmpty('prompt')),
  };
  return {
    ...(name != null && { name: requiredText(name, automationTextEmpty('name')) }),
    ...(rrule != null && { rrule }),
    timeZone: given(timezone),
    ...(status != null && { enabled: status === 'active' }),
    args: Object.fromEntries(Object.entries(args).filter(([, value]) => value != null)),
  };
}

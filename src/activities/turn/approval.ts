import { z } from 'zod';
import type { Config } from '../../config.ts';
import { currentCall } from '../../domain/chat/former-tools.ts';
import { parseSchedule } from '../../domain/cron.ts';
import {
  argumentsEvidence,
  commandEvidence,
  plainDiff,
  quotedEvidence,
  visibleLine,
} from '../../domain/text/evidence.ts';
import { addressWarnings } from '../../domain/text/look-alikes.ts';
import { english, type Say } from '../../domain/texts/say.ts';
import { zoneOf } from '../../store/chats/preferences.ts';
import { chatOfThread } from '../../store/chats/threads/threads.ts';
import { findTask } from '../../store/kennel/tasks/tasks.ts';
import { activeWorkspace, listWorkspaces } from '../../store/kennel/workspaces/workspaces.ts';
import { listMemories, memoryOwner } from '../../store/owner/memories.ts';
import type { Db } from '../../store/postgres/database.ts';
import { findCron } from '../../store/routines/crons.ts';
import { findRoutine } from '../../store/routines/routines.ts';
import type { Call } from '../../store/turns/steps/calls.ts';
import { toolOfTurn } from '../../tools/added-tools.ts';
import { planInWords, planOf, registerGroupTool } from '../../tools/groups.ts';
import { approvalSentence, tools } from '../../tools/registry.ts';
import { estimateOf, writtenStep } from '../../tools/routines/routine-steps.ts';
import type { Tool } from '../../tools/tool.ts';
import { scheduleBeside } from './schedule-with-routine.ts';

/**
 * What a person is asked about a call, and what they decide by, whole: the place, and the command, the difference or
 * the arguments.
 */
export async function approvalOf(
  db: Db,
  made: Call,
  config: Pick<Config, 'FETCH_TIME_ZONE' | 'FETCH_TRIGGER' | 'OWNER_PHONE_NUMBER'>,
  say: Say,
): Promise<{ sentence: string; evidence: string }> {
  const own = currentCall(made);
  const schedule = await scheduleBeside(db, own);
  const call = schedule ? { ...own, args: { ...own.args, ...timesOf(schedule.args) } } : own;
  const tool = await toolOfTurn(db, call.turn_id, call.name);
  // arguments have a meaning of ours only for tools of ours: of any other tool, every one is shown as it is
  if (!tools.has(call.name))
    return { sentence: approvalSentence(call.name, call.args, '', tool, say), evidence: argumentsEvidence(call.args) };
  const at = tool?.runsIn === 'kennel' || tool?.workspaceOf ? await whereOf(db, call, tool) : null;
  const args = await withNames(db, call, config);
  const path = at && typeof call.args.path === 'string' ? visibleLine(call.args.path) : '';
  return {
    sentence: approvalSentence(call.name, args, at ? say('ask.at', { workspace: at.workspace }) : '', tool, say),
    evidence: [
      // the sentence has shorter ones whole
      ...(path.length > LONGEST_IN_SENTENCE ? [`file ${path}`] : []),
      ...(at && at.hosts.length > 1 ? [`on ${at.hosts.map(visibleLine).join(' or ')}`] : []),
      ...misleading(call, say),
      whatOf({ ...call, args }, say),
      schedule ? argumentsOf(schedule.name, schedule.args) : '',
      await stepsOf(db, call),
      await groupOf(db, call, config),
      await costOf(db, call, config),
    ]
      .filter(Boolean)
      .join('\n'),
  };
}

const timesOf = ({ schedule, timezone }: Record<string, unknown>): Record<string, unknown> => ({
  schedule,
  ...(timezone !== undefined && { timezone }),
});

/** The arguments with names in place of ids: a person knows a schedule, a routine, a task and a memory by its words. */
async function withNames(
  db: Db,
  { name, args, thread_id }: Call,
  config: Pick<Config, 'OWNER_PHONE_NUMBER'>,
): Promise<Record<string, unknown>> {
  const { cron, workflow, taskId, id } = args;
  if ([cron, workflow, taskId, id].every((each) => typeof each !== 'string')) return args;
  const chatId = await chatOfThread(db, thread_id);
  const task = typeof taskId === 'string' ? await findTask(db, taskId) : undefined;
  const memories = name === 'forget' ? await listMemories(db, await memoryOwner(db, chatId, config), MEMORIES) : [];
  const names = {
    cron: typeof cron === 'string' ? (await findCron(db, chatId, cron))?.name : undefined,
    workflow: typeof workflow === 'string' ? (await findRoutine(db, chatId, workflow))?.name : undefined,
    taskId: task?.chat_id === chatId ? task.goal : undefined,
    id: memories.find((memory) => memory.id === id)?.body,
  };
  return { ...args, ...Object.fromEntries(Object.entries(names).filter(([, said]) => said !== undefined)) };
}

/** Warnings about an address that may mislead the person who is asked. */
const misleading = ({ args }: Call, say: Say): string[] =>
  [args.url, args.from].flatMap((address) =>
    typeof address === 'string' ? addressWarnings(visibleLine(address), say) : [],
  );

const LONGEST_IN_SENTENCE = 120;
/** Memories among which one is looked for by its id. */
const MEMORIES = 1_000;

/** Lines of a deleted file that are shown: its path says what goes, and undo brings it back. */
const DELETED_LINES = 12;

function whatOf({ name, args, metadata }: Call, say: Say): string {
  const { command, cwd, workspace: _, confirm: __, ...rest } = args;
  if (typeof command === 'string') {
    const folder = typeof cwd === 'string' && cwd !== '.' ? `${say('ask.folder', { path: visibleLine(cwd) })}\n` : '';
    return folder + commandEvidence(command);
  }
  if (typeof metadata?.preview !== 'string') return argumentsOf(name, rest);
  const preview = plainDiff(metadata.preview);
  const lines = preview.split('\n');
  if (name !== 'file_delete' || lines.length <= DELETED_LINES) return quotedEvidence(preview);
  return `${quotedEvidence(lines.slice(0, DELETED_LINES).join('\n'))}\n${say('ask.moreLines', { count: lines.length - DELETED_LINES })}`;
}

function argumentsOf(name: string, args: Record<string, unknown>): string {
  const tool = tools.get(name);
  const said: readonly string[] = tool?.inQuestion ?? [];
  const usual = tool ? defaultsOf(tool) : {};
  const unsaid = Object.entries(args).filter(
    ([key, value]) => !said.includes(key) && !isEmpty(value) && value !== usual[key],
  );
  const steps = said.includes('steps') && Array.isArray(args.steps) ? stepsInWords(args.steps) : [];
  return [argumentsEvidence(Object.fromEntries(unsaid)), ...steps].filter(Boolean).join('\n');
}

/** What a call means where it says nothing else: a person need not read that. */
const defaultsOf = ({ schema }: Tool): Record<string, unknown> =>
  schema instanceof z.ZodObject
    ? Object.fromEntries(
        Object.entries(schema.shape).flatMap(([key, field]) =>
          field instanceof z.ZodDefault ? [[key, field.def.defaultValue]] : [],
        ),
      )
    : {};

const isEmpty = (value: unknown): boolean =>
  value === '' || (typeof value === 'object' && value !== null && Object.keys(value).length === 0);

/** The name of a workflow does not say what it does, so its routine steps are shown. */
async function stepsOf(db: Db, call: Call): Promise<string> {
  if (typeof call.args.workflow !== 'string' || Array.isArray(call.args.steps)) return '';
  const routine = await findRoutine(db, await chatOfThread(db, call.thread_id), call.args.workflow);
  return stepsInWords(routine?.steps ?? []).join('\n');
}

/** Steps of a routine as they are stored, or as the model has just written them. */
const stepsInWords = (steps: readonly unknown[]): string[] =>
  steps.flatMap((asked, index) => {
    const step = typeof asked === 'string' ? writtenStep(asked) : asked;
    if (typeof step !== 'object' || step === null) return [`${index + 1}. ${visibleLine(String(step))}`];
    const { tool: wanted = '', name = '', args = {}, ...rest } = step as { [key: string]: unknown };
    const given = args as Record<string, unknown>;
    const tool = tools.get(String(wanted));
    const usual = { when: 'ok', onFailure: 'stop' } as Record<string, unknown>;
    const unusual = Object.entries(rest).filter(([key, value]) => usual[key] !== value);
    const [command, others] =
      typeof given.command === 'string' ? [given.command, { ...given, command: '' }] : ['', given];
    return [
      `${index + 1}. ${name ? `${visibleLine(String(name))}: ` : ''}${tool ? doing(tool, given) : visibleLine(String(wanted))}`,
      command && commandEvidence(command),
      argumentsEvidence(
        Object.fromEntries([...Object.entries(others).filter(([, value]) => value !== ''), ...unusual]),
      ),
    ].filter(Boolean);
  });

/** What a call of a tool does, in words: its question, or the beginning of its description. */
const doing = (tool: Tool, args: Record<string, unknown>): string =>
  tool.asks?.(args as never, '', english).replace(/\?$/, '') ?? tool.description.split(/[.,;:(]/, 1)[0]!.trim();

/** Who reads along in a group that is to be answered, its folder and its rule. */
async function groupOf(db: Db, { name, args }: Call, config: Pick<Config, 'FETCH_TRIGGER'>): Promise<string> {
  if (name !== registerGroupTool.name) return '';
  const plan = await planOf(db, args as never);
  return typeof plan === 'string' ? plan : (await planInWords(db, config, plan)).map(visibleLine).join('\n');
}

/** The estimated cost of a schedule, for its approval. */
async function costOf(
  db: Db,
  { name, args, thread_id }: Call,
  config: Pick<Config, 'FETCH_TIME_ZONE'>,
): Promise<string> {
  if (typeof args.schedule !== 'string' || (name !== 'cron_create' && name !== 'workflow_create')) return '';
  const chatId = await chatOfThread(db, thread_id);
  const routine = Array.isArray(args.steps)
    ? { id: '', steps: args.steps.map(writtenStep) }
    : typeof args.workflow === 'string' && (await findRoutine(db, chatId, args.workflow));
  const timeZone = typeof args.timezone === 'string' ? args.timezone : await zoneOf(db, chatId, config);
  const parsed = parseSchedule(args.schedule, timeZone, new Date());
  if (!routine || !parsed.ok) return '';
  return await estimateOf(db, { ...routine, schedule: parsed.schedule, timeZone }, (tool) => tools.get(tool));
}

/** The workspace of a call, with the hosts that have it: none for one that the call makes. */
async function whereOf(db: Db, call: Call, tool: Tool): Promise<{ workspace: string; hosts: string[] } | null> {
  const place = await placeOf(db, await chatOfThread(db, call.thread_id), call.args, tool);
  return place && { workspace: visibleLine(place.name), hosts: place.hosts };
}

/** The workspace that arguments mean in a chat, with the hosts that have it. */
export async function placeOf(
  db: Db,
  chatId: string,
  args: Record<string, unknown>,
  tool: Tool,
): Promise<{ name: string; hosts: string[] } | null> {
  const [active, all] = await Promise.all([activeWorkspace(db, chatId), listWorkspaces(db)]);
  const given = tool.workspaceOf ? tool.workspaceOf(args as never) : args.workspace;
  const names = [...new Set(all.map(({ name }) => name))];
  const name = typeof given === 'string' ? given : (active?.name ?? (names.length === 1 ? names[0]! : null));
  if (name === null) return null;
  const hosts = all.filter((each) => each.name === name).map(({ host }) => host);
  return { name, hosts: active?.name === name ? [active.host] : hosts };
}

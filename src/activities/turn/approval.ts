import type { Config } from '../../config.ts';
import { parseSchedule } from '../../domain/cron.ts';
import { argumentsEvidence, commandEvidence, quotedEvidence, visibleLine } from '../../domain/text/evidence.ts';
import { addressWarnings } from '../../domain/text/look-alikes.ts';
import { zoneOf } from '../../store/chats/preferences.ts';
import { chatOfThread } from '../../store/chats/threads/threads.ts';
import { activeWorkspace, listWorkspaces } from '../../store/kennel/workspaces/workspaces.ts';
import type { Db } from '../../store/postgres/database.ts';
import { findRoutine } from '../../store/routines/routines.ts';
import type { Call } from '../../store/turns/steps/calls.ts';
import { toolOfTurn } from '../../tools/added-tools.ts';
import { approvalSentence, tools } from '../../tools/registry.ts';
import { estimateOf } from '../../tools/routines/routine-steps.ts';
import type { Tool } from '../../tools/tool.ts';

/**
 * What a person is asked about a call, and what they decide by, whole: the place, and the command, the difference or
 * the arguments.
 */
export async function approvalOf(
  db: Db,
  call: Call,
  config: Pick<Config, 'FETCH_TIME_ZONE'>,
): Promise<{ sentence: string; evidence: string }> {
  const tool = await toolOfTurn(db, call.turn_id, call.name);
  // arguments have a meaning of ours only for tools of ours: of any other tool, every one is shown as it is
  if (!tools.has(call.name))
    return { sentence: approvalSentence(call.name, call.args, '', tool), evidence: argumentsEvidence(call.args) };
  const at = tool?.runsIn === 'kennel' || tool?.workspaceOf ? await whereOf(db, call, tool) : null;
  const file = call.args.path ? `file ${visibleLine(String(call.args.path))}` : null;
  const where = at && [file, `workspace ${at.workspace}`, at.host && `host ${at.host}`].filter(Boolean).join(', ');
  return {
    sentence: approvalSentence(call.name, call.args, at ? ` in ${at.workspace}` : ''),
    evidence: [
      ...(where ? [where] : []),
      ...misleading(call),
      whatOf(call),
      await stepsOf(db, call),
      await costOf(db, call, config),
    ]
      .filter(Boolean)
      .join('\n'),
  };
}

/** What about the address of a call may mislead the person who is asked. */
const misleading = ({ args }: Call): string[] =>
  [args.url, args.from].flatMap((address) =>
    typeof address === 'string' ? addressWarnings(visibleLine(address)) : [],
  );

/** Lines of a deleted file that are shown: its path says what goes, and undo brings it back. */
const DELETED_LINES = 12;

function whatOf({ name, args, metadata }: Call): string {
  const { command, cwd, workspace: _, confirm: __, ...rest } = args;
  if (typeof command === 'string') {
    const folder = typeof cwd === 'string' && cwd !== '.' ? `in the folder ${visibleLine(cwd)}\n` : '';
    return folder + commandEvidence(command);
  }
  const preview = metadata?.preview;
  if (typeof preview !== 'string') return argumentsEvidence(rest);
  const lines = preview.split('\n');
  if (name !== 'file_delete' || lines.length <= DELETED_LINES) return quotedEvidence(preview);
  return `${quotedEvidence(lines.slice(0, DELETED_LINES).join('\n'))}\n… and ${lines.length - DELETED_LINES} more lines`;
}

/** The name of a workflow does not say what it does, so its routine steps are shown. */
async function stepsOf(db: Db, call: Call): Promise<string> {
  if (typeof call.args.workflow !== 'string') return '';
  const chatId = await chatOfThread(db, call.thread_id);
  const routine = await findRoutine(db, chatId, call.args.workflow);
  const steps =
    routine?.steps.map(({ tool, args }, index) => `${index + 1}. ${visibleLine(tool)}\n${argumentsEvidence(args)}`) ??
    [];
  return steps.length > 0 ? `Its steps:\n${steps.join('\n')}` : '';
}

/** What a schedule will probably cost, before it is agreed to. */
async function costOf(
  db: Db,
  { name, args, thread_id }: Call,
  config: Pick<Config, 'FETCH_TIME_ZONE'>,
): Promise<string> {
  if (name !== 'cron_create' || typeof args.workflow !== 'string' || typeof args.schedule !== 'string') return '';
  const chatId = await chatOfThread(db, thread_id);
  const routine = await findRoutine(db, chatId, args.workflow);
  const timeZone = typeof args.timezone === 'string' ? args.timezone : await zoneOf(db, chatId, config);
  const parsed = parseSchedule(args.schedule, timeZone, new Date());
  if (!routine || !parsed.ok) return '';
  return await estimateOf(db, { ...routine, schedule: parsed.schedule, timeZone }, (tool) => tools.get(tool));
}

/** The workspace of a call, with the hosts that have it: none for one that the call makes. */
async function whereOf(db: Db, call: Call, tool: Tool): Promise<{ workspace: string; host?: string } | null> {
  const chatId = await chatOfThread(db, call.thread_id);
  const [active, all] = await Promise.all([activeWorkspace(db, chatId), listWorkspaces(db)]);
  const given = tool.workspaceOf ? tool.workspaceOf(call.args as never) : call.args.workspace;
  const names = [...new Set(all.map(({ name }) => name))];
  const workspace = typeof given === 'string' ? given : (active?.name ?? (names.length === 1 ? names[0]! : null));
  if (workspace === null) return null;
  const hosts = all.filter(({ name }) => name === workspace).map(({ host }) => host);
  const host = active?.name === workspace ? active.host : hosts.join(' or ');
  return { workspace: visibleLine(workspace), ...(host !== '' && { host: visibleLine(host) }) };
}

import { toolsForAgents } from '../../adapters/mcp/agent-servers.ts';
import { identified } from '../../adapters/workspaces.ts';
import { loginsOf } from '../../domain/tasks/agents/agent-settings.ts';
import type { Task } from '../../store/kennel/tasks/tasks.ts';
import {
  forgetOwn,
  hasHeardOthers,
  noteOwn,
  ownContent,
  startOf,
  WHOLE,
} from '../../store/kennel/workspaces/own-content.ts';
import type { KennelDeps } from '../activity-deps.ts';
import { workspaceOf } from './task-workspace.ts';

/** Tells the report of a task over its chat's own files from text of others. */

async function placeOf({ config }: KennelDeps, task: Task): Promise<{ chatId: string; workspace: string }> {
  const at = { name: task.workspace, path: workspaceOf(config, task) };
  return { chatId: task.chat_id, workspace: (await identified([at]))[0]!.identity };
}

async function digestOf({ config, kennel }: KennelDeps, task: Task): Promise<string | null> {
  const answer = await kennel.workspaceOp(workspaceOf(config, task), { op: 'digest', path: WHOLE });
  return answer.ok ? ((answer.data?.digest as string | null | undefined) ?? null) : null;
}

/** Before the agent begins: whether all that it finds is its chat's own. */
export async function noteOwnStart(deps: KennelDeps, task: Task): Promise<void> {
  const place = await placeOf(deps, task);
  const noted = (await ownContent(deps.db, place)).get(WHOLE);
  if (noted === undefined || task.worktree || (await digestOf(deps, task)) !== noted) return;
  await noteOwn(deps.db, place, startOf(task.id), noted);
}

/**
 * Whether text of others can have come to the agent from nowhere. If so, the workspace is the chat's own as the task
 * has left it. A log-in, MCP servers of the owner and listed hosts are ways for such text.
 */
export async function isOwnWork(deps: KennelDeps, task: Task): Promise<boolean> {
  const { db, config, kennel } = deps;
  if (task.step === 0) return false;
  const place = await placeOf(deps, task);
  if (!(await ownContent(db, place)).has(startOf(task.id))) return false;
  await forgetOwn(db, place, startOf(task.id));
  const hasWays =
    config.FETCH_KENNEL_EGRESS !== '' ||
    loginsOf(config.FETCH_KENNEL_LOGINS).has(task.harness) ||
    (await toolsForAgents({ db, config, threadId: task.thread_id })).size > 0;
  if (hasWays || (await hasHeardOthers(db, task)) || !(await kennel.isPlain(workspaceOf(config, task)))) return false;
  const digest = await digestOf(deps, task);
  if (digest === null) return false;
  await noteOwn(db, place, WHOLE, digest);
  return true;
}

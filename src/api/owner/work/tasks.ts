import { z } from 'zod';
import { factsOf, isAgent } from '../../../../kennel/agents/registry.ts';
import type {
  OwnerAction,
  OwnerChat,
  TaskChanges,
  TaskDiff,
  TaskSummary,
  TaskVerdict,
} from '../../../contracts/owner.ts';
import type { ConcludedChanges } from '../../../contracts/workspace-ops.ts';
import type { Verdict } from '../../../domain/tasks/checks/verdict.ts';
import { reportedDiffs } from '../../../domain/tasks/log-diff.ts';
import { inline } from '../../../domain/text/foreign-text.ts';
import { isLimited, isOver, type Task } from '../../../store/kennel/tasks/tasks.ts';
import { usageOf } from '../../../store/kennel/tasks/usage.ts';
import { chatsOfThreads } from '../../../store/owner/views/chats.ts';
import {
  editsInLog,
  egressOfTask,
  listTasks,
  readLog,
  type TaskDetailRow,
  type TaskRow,
  taskDetail,
} from '../../../store/owner/views/tasks.ts';
import { ApiError } from '../../errors/errors.ts';
import { isId, whole } from '../../http/request.ts';
import { endpoint, type RuntimeDeps } from '../../runtime/shared/endpoint.ts';
import { lostChat, post, timeOf, usdOf } from '../shared.ts';
import { diffFields, logFields, taskFields, taskList, taskStates } from './task-schemas.ts';

const USUALLY_LISTED = 50;
const MOST_LISTED = 200;
const USUAL_LINES = 200;
const MOST_LINES = 1_000;
const MOST_EDITS = 2_000;
const HOSTS_LISTED = 200;

const missing = { 404: 'There is no such task.' };

export const getTasks = endpoint({
  method: 'GET',
  path: '/v1/owner/tasks',
  summary: 'Coding tasks of all chats',
  query: {
    limit: whole.describe(`${USUALLY_LISTED} when left out, ${MOST_LISTED} at most`),
    before: z.string().describe('Tasks after this one on the list: `next` of the page before'),
    state: z.enum(['live', 'over', ...taskStates]),
  },
  answer: { schema: taskList, what: 'The latest first.' },
  handle: async ({ query: { limit = USUALLY_LISTED, before, state } }, { store: { db } }) => {
    const most = Math.min(Math.max(1, limit), MOST_LISTED);
    const rows = await listTasks(db, { limit: most + 1, before: before ?? null, state: state ?? null });
    const page = rows.slice(0, most);
    const chats = await chatsOfThreads(
      db,
      page.map(({ thread_id }) => thread_id),
    );
    return {
      tasks: page.map((row) => summaryView(row, chats.get(row.thread_id) ?? lostChat(row.thread_id))),
      next: rows.length > most ? page.at(-1)!.id : null,
    };
  },
});

export const getTask = endpoint({
  method: 'GET',
  path: '/v1/owner/tasks/{id}',
  summary: 'One coding task',
  answer: { schema: taskFields, what: 'The task with its plan, result, usage and hosts.' },
  refusals: missing,
  handle: async ({ params: { id } }, deps) => {
    const { db } = deps.store;
    const row = await existingTask(id, deps);
    const [chats, usage, egress] = await Promise.all([
      chatsOfThreads(db, [row.thread_id]),
      usageOf(db, id),
      egressOfTask(db, id, HOSTS_LISTED),
    ]);
    const { result, plan } = row;
    return {
      ...summaryView(row, chats.get(row.thread_id) ?? lostChat(row.thread_id)),
      turn_id: row.turn_id,
      timeout_ms: row.timeout_ms,
      plan: plan && { text: plan.text, files: plan.files },
      summary: result?.summary ?? null,
      said: result?.said || null,
      report: row.report,
      tests: result?.tests ?? null,
      verdict: result?.verdict ? verdictView(result.verdict) : null,
      changes: result?.changes ? changesView(result.changes) : null,
      usage: usage.models.map((each) => ({
        model: each.model,
        calls: each.calls,
        input_tokens: each.inputTokens,
        output_tokens: each.outputTokens,
        cost_usd: usdOf(each.microUsd),
      })),
      egress: egress.map(({ host, ...figures }) => ({ to: host, ...figures })),
      log_lines: row.log_lines,
    };
  },
});

export const getTaskLog = endpoint({
  method: 'GET',
  path: '/v1/owner/tasks/{id}/log',
  summary: 'What a coding task did, as stored',
  query: {
    after: whole.describe('Lines after this one: `next` of the page before'),
    limit: whole.describe(`${USUAL_LINES} when left out, ${MOST_LINES} at most`),
  },
  answer: { schema: logFields, what: 'Lines in their order.' },
  refusals: missing,
  handle: async ({ params: { id }, query: { after = 0, limit = USUAL_LINES } }, deps) => {
    const { log_lines: total } = await existingTask(id, deps);
    // the column counts in 32 bits, and no log is as long
    const from = Math.min(after, total);
    const lines = await readLog(deps.store.db, id, from, Math.min(Math.max(1, limit), MOST_LINES));
    const next = lines.at(-1)?.seq ?? from;
    return { lines, next, more: next < total, total };
  },
});

export const getTaskDiff = endpoint({
  method: 'GET',
  path: '/v1/owner/tasks/{id}/diff',
  summary: 'What a coding task changed, file by file',
  answer: { schema: diffFields, what: 'The files, and their differences as far as they are stored.' },
  refusals: missing,
  handle: async ({ params: { id } }, deps) => {
    const { result } = await existingTask(id, deps);
    return diffView(result?.changes ?? null, await editsInLog(deps.store.db, id, MOST_EDITS));
  },
});

/** @throws ApiError 404 */
export async function existingTask(id: string, { store }: Pick<RuntimeDeps, 'store'>): Promise<TaskDetailRow> {
  const row = isId(id) ? await taskDetail(store.db, id) : undefined;
  if (!row) throw new ApiError(404, 'There is no such task.');
  return row;
}

export const ORDERS = ['stop', 'pause', 'resume', 'undo', 'redo'] as const;
export type Order = (typeof ORDERS)[number];

/** Orders that a coding task takes now. */
export function ordersOf(
  task: Pick<Task, 'id' | 'state' | 'pausing' | 'limited_until'> & { files_changed?: number | null },
): OwnerAction[] {
  const order = (name: Order) => post(name, `/v1/owner/tasks/${task.id}/${name}`);
  if (isOver(task.state)) return task.files_changed ? [order('undo'), order('redo')] : [];
  const held = task.state === 'paused' || task.pausing;
  return [order('stop'), ...(held || isLimited(task) ? [order('resume')] : []), ...(held ? [] : [order('pause')])];
}

/** Characters of all differences of one answer. */
const DIFF_CHARS = 1_000_000;

const summaryView = (row: TaskRow, chat: OwnerChat): TaskSummary => ({
  id: row.id,
  chat,
  goal: row.goal,
  agent: isAgent(row.harness) ? factsOf(row.harness).label : row.harness,
  state: row.state,
  planning: row.planning,
  host: row.host,
  workspace: row.workspace,
  branch: row.worktree ? `fetch/${row.id}` : null,
  last: row.last === null ? null : inline(row.last, 300),
  reason: row.reason,
  limited_until: row.state === 'waiting' ? timeOf(row.limited_until) : null,
  files_changed: row.files_changed,
  tests_ok: row.tests_ok,
  created_at: row.created_at.toISOString(),
  started_at: timeOf(row.started_at),
  ended_at: timeOf(row.ended_at),
  tokens: row.tokens,
  cost_usd: usdOf(row.micro_usd),
  unpriced_usd: usdOf(row.unpriced),
  actions: ordersOf(row),
});

const verdictView = ({ level, reasons, passed, failed, skipped, before }: Verdict): TaskVerdict => ({
  level,
  reasons,
  passed,
  failed,
  skipped,
  before: before ?? null,
});

const changesView = (changes: ConcludedChanges): TaskChanges => ({
  commit: changes.commit,
  branch: changes.branch,
  kept_on: changes.keptOn ?? null,
  added: changes.added,
  removed: changes.removed,
  files_changed: changes.filesChanged ?? changes.files.length,
  files: changes.files.map(({ path, status, added, removed, from = null }) => ({ path, status, added, removed, from })),
  note: changes.note ?? null,
});

const FROM_LOG = 'The agent reported these edits, step by step. The numbers of lines are from git.';
const SO_FAR = 'The task has not ended: these are the edits that the agent has reported so far.';
const FIGURES = 'The agent reported no differences; the files and their figures are from git.';

/** `changes`: what git found at the end; null while the task works, and when nothing was changed. */
function diffView(changes: ConcludedChanges | null, edits: readonly string[]): TaskDiff {
  const reported = reportedDiffs(edits, DIFF_CHARS);
  const diffs = new Map(reported.map((each) => [each.path, each]));
  const found =
    changes?.files ?? reported.map(({ path, diff }) => ({ path, status: 'modified' as const, ...figuresOf(diff) }));
  const files = found.map(({ path, status, added, removed, ...more }) => ({
    path,
    status,
    from: ('from' in more ? more.from : undefined) ?? null,
    added,
    removed,
    diff: diffs.get(path)?.diff || null,
  }));
  const source = files.some(({ diff }) => diff !== null) ? 'log' : 'none';
  const note = files.length === 0 ? null : source === 'none' ? FIGURES : changes ? FROM_LOG : SO_FAR;
  return { source, note, files, cut: (changes?.filesChanged ?? 0) > files.length || reported.some(({ cut }) => cut) };
}

const figuresOf = (diff: string): { added: number; removed: number } => {
  const lines = diff.split('\n');
  const begin = (mark: string, head: string) =>
    lines.filter((line) => line.startsWith(mark) && !line.startsWith(head)).length;
  return { added: begin('+', '+++ '), removed: begin('-', '--- ') };
};

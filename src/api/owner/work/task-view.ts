import { factsOf, isAgent } from '../../../../kennel/agents/registry.ts';
import type { OwnerAction, OwnerChat, TaskChanges, TaskDiff, TaskSummary } from '../../../contracts/owner.ts';
import type { ConcludedChanges } from '../../../contracts/workspace-ops.ts';
import { reportedDiffs } from '../../../domain/tasks/log-diff.ts';
import { inline } from '../../../domain/text/foreign-text.ts';
import { isLimited, isOver, type Task } from '../../../store/kennel/tasks/tasks.ts';
import type { TaskRow } from '../../../store/owner/views/tasks.ts';
import { post, timeOf, usdOf } from '../shared.ts';

export const ORDERS = ['stop', 'pause', 'resume', 'undo', 'redo'] as const;
export type Order = (typeof ORDERS)[number];

/** What can be ordered of a coding task now. */
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

export const summaryView = (row: TaskRow, chat: OwnerChat): TaskSummary => ({
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

export const changesView = (changes: ConcludedChanges): TaskChanges => ({
  commit: changes.commit,
  branch: changes.branch,
  kept_on: changes.keptOn ?? null,
  added: changes.added,
  removed: changes.removed,
  files_changed: changes.filesChanged ?? changes.files.length,
  files: changes.files.map(({ path, status, added, removed, from = null }) => ({ path, status, added, removed, from })),
  note: changes.note ?? null,
});

const FROM_LOG = 'These are the edits that the agent reported, step by step; the figures of the files are from git.';
const SO_FAR = 'The task has not ended: these are the edits that the agent has reported so far.';
const FIGURES = 'The agent reported no differences; the files and their figures are from git.';

/** `changes`: what git found at the end; null while the task works, and when nothing was changed. */
export function diffView(changes: ConcludedChanges | null, edits: readonly string[]): TaskDiff {
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

import type { LogLine } from './kennel.ts';
import type { OwnerAction, OwnerChat } from './owner-parts.ts';
import type { TaskState } from './task.ts';

/** Coding tasks as the owner's page shows them. */

/** `GET /v1/owner/tasks?limit=&before=&state=`: `limit` 50, at most 200; `state` is a `TaskState`, `live` or `over` */
export interface OwnerTasks {
  /** the latest first */
  tasks: TaskSummary[];
  /** value of `before` for the next page; null: this is the last */
  next: string | null;
}

export interface TaskSummary {
  id: string;
  chat: OwnerChat;
  goal: string;
  /** label of the agent, such as `Claude Code` */
  agent: string;
  state: TaskState;
  /** it makes a plan, and has changed nothing yet */
  planning: boolean;
  host: string;
  workspace: string;
  /** it works on files of its own, on this branch */
  branch: string | null;
  /** what it did last, in one line */
  last: string | null;
  /** why it ended */
  reason: string | null;
  /** when the limit of its model opens */
  limited_until: string | null;
  files_changed: number | null;
  tests_ok: boolean | null;
  created_at: string;
  started_at: string | null;
  ended_at: string | null;
  tokens: number;
  cost_usd: number;
  unpriced_usd: number;
  actions: OwnerAction[];
}

/** `GET /v1/owner/tasks/{id}` */
export interface TaskDetail extends TaskSummary {
  turn_id: string;
  timeout_ms: number;
  /** the plan that was handed in last */
  plan: { text: string; files: string[] } | null;
  /** how it ended, in one sentence */
  summary: string | null;
  /** the last words of the agent */
  said: string | null;
  /** what the chat was told at its end */
  report: string | null;
  tests: TaskTests | null;
  /** null where no file was changed, and of older tasks */
  verdict: TaskVerdict | null;
  changes: TaskChanges | null;
  usage: Array<{ model: string; calls: number; input_tokens: number; output_tokens: number; cost_usd: number }>;
  /** hosts that it reached or was refused */
  egress: Array<{ to: string; port: number; connections: number; refused: number; sent: number; received: number }>;
  /** lines of its log */
  log_lines: number;
}

/** What the tests show, by rules. The numbers are 0 where the runner names no test. */
export interface TaskVerdict {
  level: 'verified' | 'partly' | 'unverified';
  reasons: string[];
  passed: number;
  failed: number;
  skipped: number;
  /** of the tests before the task; null where they are not known */
  before: { passed: number; failed: number; skipped: number } | null;
}

export interface TaskTests {
  command: string;
  ok: boolean;
  output: string;
}

export interface TaskChanges {
  commit: string | null;
  branch: string | null;
  /** branch of their own that the changes are on */
  kept_on: string | null;
  added: number;
  removed: number;
  files_changed: number;
  /** at most 500 */
  files: Array<{
    path: string;
    status: 'added' | 'modified' | 'deleted' | 'renamed';
    added: number;
    removed: number;
    from: string | null;
  }>;
  note: string | null;
}

/** `GET /v1/owner/tasks/{id}/log?after=&limit=`: `limit` 200, at most 1,000 */
export interface TaskLog {
  /** as stored, in order; `seq` counts from 1 */
  lines: LogLine[];
  /** value of `after` for the next page, also when nothing follows yet */
  next: number;
  /** there are more lines now */
  more: boolean;
  /** lines in all */
  total: number;
}

/** `GET /v1/owner/tasks/{id}/diff` */
export interface TaskDiff {
  /** `git`: read now. `log`: what the agent said that it changed. `none`: only the list of files is known. */
  source: 'git' | 'log' | 'none';
  /** why it is not from git, for the reader */
  note: string | null;
  files: DiffFile[];
  /** more than is here */
  cut: boolean;
}

/** One file of `GET /v1/owner/tasks/{id}/diff`. */
export interface DiffFile {
  path: string;
  status: 'added' | 'modified' | 'deleted' | 'renamed';
  from: string | null;
  added: number;
  removed: number;
  /** unified diff; null when only the figures are known */
  diff: string | null;
}

/**
 * `POST /v1/owner/tasks/{id}/stop|pause|resume|undo|redo`: what the words in the chat became. The task changes a little
 * later.
 */
export interface TaskOrdered {
  kind: 'turn' | 'steer' | 'answer' | 'stop' | 'reply' | 'task';
  turn_id: string | null;
  /** what the chat answers at once, such as that no such task runs */
  reply: string | null;
}

import type { OwnerAction, OwnerChat } from './owner-parts.ts';

export type * from './owner-parts.ts';
export type * from './owner-settings.ts';
export type * from './owner-tasks.ts';

/**
 * Answers of `/v1/owner/...`, for the owner's page. Types only, so a browser may import them. Times are RFC 3339, money
 * is in US dollars. Every text can hold words of others (models, pages, file names, people): show it as text, never as
 * HTML.
 */

/** `GET /v1/owner/now` */
export interface OwnerNow {
  /** when this was read; compare waiting times with it, and not with the clock of the browser */
  at: string;
  /** the oldest first */
  waiting: OwnerQuestion[];
  /** the latest first */
  running: OwnerRunning[];
  /** pull requests until they are merged or closed, the newest first */
  watched: OwnerWatched[];
  /** the latest first, at most 20 of 30 days; each until it is marked as seen, or its person has written again */
  failed: OwnerFailed[];
  /** how many questions are open, also those beyond the 100 that are listed */
  waiting_count: number;
}

/**
 * An open question; `GET /v1/owner/questions/{id}` gives one with its whole evidence. Its texts never change: another
 * plan or command is another question. So a yes to this id counts for what is here, if the reader has seen `evidence`
 * with `evidence_rest` 0.
 */
export interface OwnerQuestion {
  id: string;
  /**
   * `question`: choices or free words. `approval`: of a call or of an agent's command. `plan`: of a coding task.
   * `hosts`: what a task may reach. `setup`: a script for the image of a task.
   */
  kind: 'question' | 'approval' | 'plan' | 'hosts' | 'setup';
  chat: OwnerChat;
  /** the coding task that asks */
  task: { id: string; goal: string; workspace: string } | null;
  prompt: string;
  /**
   * the command, difference, plan or arguments that a yes counts for, after a warning where text of others may be
   * behind it; null when the prompt is all
   */
  evidence: string | null;
  /** characters of the evidence that are not here; fetch the question by its id before a yes is offered */
  evidence_rest: number;
  /** name of the tool that is to run */
  tool: string | null;
  /** text of others may have caused it */
  tainted: boolean;
  asked_at: string;
  /** null: not sent to its channel yet */
  delivered_at: string | null;
  answer: {
    method: 'POST';
    /** `/v1/approvals/{id}` or `/v1/user-input/{thread}/{id}` */
    path: string;
    /** one button each: send `body` as it is */
    choices: Array<{ label: string; description: string; body: Record<string, unknown>; kind: 'yes' | 'no' | 'other' }>;
    /** set when own words are an answer, too: put them into `value` of the only member of `answers` */
    words: { answers: [{ id: string; label: string; value: string }] } | null;
  };
}

export interface OwnerRunning {
  kind: 'turn' | 'task' | 'routine';
  /** of the turn, the task or the run */
  id: string;
  chat: OwnerChat;
  title: string;
  /** `waiting`: for a person. `limited`: for a limit of its model, until `until`. */
  state: 'queued' | 'running' | 'waiting' | 'limited' | 'paused';
  /** what it does now, in one line */
  doing: string | null;
  since: string;
  /** when a limit is expected to open */
  until: string | null;
  cost_usd: number;
  actions: OwnerAction[];
}

export interface OwnerWatched {
  id: string;
  chat: OwnerChat;
  /** `#12 "Add a login"`, or the project where it has no number yet */
  title: string;
  /** its page; null: not made yet */
  url: string | null;
  /** how far it is and what it waits for, such as "waits for a review" */
  doing: string;
  since: string;
}

export interface OwnerFailed {
  kind: 'turn' | 'task' | 'routine' | 'message';
  id: string;
  chat: OwnerChat;
  title: string;
  why: string;
  at: string;
  /** "try again", where that can be offered */
  actions: OwnerAction[];
}

/**
 * `GET /v1/owner/events?since_seq=`: server-sent events, all named `changed`, with `id: <seq>`; this is their `data`.
 * It says that something changed, not what it is now: read that again. A browser's EventSource resumes by itself
 * (`Last-Event-ID`). One may come twice; none is left out. Without `since_seq` the first one is `all`.
 */
export interface OwnerEvent {
  /** where a stream that breaks now goes on */
  seq: number;
  /** `all`: too much or unknown, so read everything again. The others say what kind of thing changed. */
  about: 'thread' | 'tasks' | 'schedules' | 'whatsapp' | 'workspaces' | 'agents' | 'settings' | 'all';
  /** with `thread` */
  thread_id: string | null;
  /**
   * with `thread`: names of the events since the last frame, such as `turn.completed`, `approval.required`,
   * `item.delta`
   */
  kinds: string[];
}

/** A cron fires a routine, an automation fires a prompt, a reminder says something once. */
type ScheduleKind = 'cron' | 'reminder' | 'automation';

/** `GET /v1/owner/schedules` */
export interface OwnerSchedules {
  schedules: OwnerSchedule[];
}

export interface OwnerSchedule {
  id: string;
  kind: ScheduleKind;
  chat: OwnerChat | null;
  name: string;
  /** name of the routine with its inputs, the prompt, or what is said */
  what: string;
  /** five fields, or the rule (RRULE) of an automation; null for a reminder */
  expression: string | null;
  /** the same in words, such as `every weekday at 8:30`; empty for a reminder */
  when: string;
  time_zone: string;
  enabled: boolean;
  /** up to five; empty when it is paused or does not fire again */
  next: string[];
  /** up to ten, the latest first */
  runs: ScheduleRun[];
  actions: OwnerAction[];
}

export interface ScheduleRun {
  id: string;
  scheduled_for: string | null;
  started_at: string;
  ended_at: string | null;
  status: 'running' | 'completed' | 'failed';
  summary: string | null;
}

/** `POST /v1/owner/schedules/preview` with `{ text, time_zone?, thread_id? }`; 400 says what is wrong. */
export interface SchedulePreview {
  /** what was understood: a cron expression, or one time */
  kind: 'cron' | 'once';
  expression: string;
  time_zone: string;
  /** the next five, or one */
  firings: string[];
  /** the same in words of the zone */
  described: string[];
  /** what is left of the text when the words of time are taken out; empty for a bare expression */
  what: string;
  /** what its runs will probably cost, as a sentence; unset where nothing is known */
  estimate?: string;
}

/**
 * `POST /v1/owner/schedules` with `{ text, thread_id? }`: the words are said in the chat, as if typed there, so the
 * tool of the schedule runs with its consent rules. A question that follows is in `now`.
 */
export interface ScheduleAsked {
  thread_id: string;
  kind: 'turn' | 'steer' | 'answer' | 'stop' | 'reply' | 'task';
  turn_id: string | null;
}

/** `GET /v1/owner/spend?days=` (30 when left out, 90 at most) */
export interface OwnerSpend {
  /** UTC, `YYYY-MM-DD` */
  today: string;
  /** when the budgets of a day begin again */
  resets_at: string;
  total_today: SpendFigures;
  /** what is used of each budget of today; the fullest first */
  budgets: BudgetUse[];
  /** one for each day of the period, also empty ones, oldest first */
  days: Array<{ day: string } & SpendFigures & { tasks_usd: number; chats_usd: number }>;
  /** of the period, the dearest first, at most 50 each */
  models: Array<{ model: string; tokens: number; cost_usd: number }>;
  chats: Array<{ chat: OwnerChat } & SpendFigures>;
  tasks: Array<{ id: string; goal: string; thread_id: string } & SpendFigures>;
}

export interface SpendFigures {
  tokens: number;
  cost_usd: number;
  /** the part that counts at the highest known price, because the right one is unknown */
  unpriced_usd: number;
}

export interface BudgetUse {
  /**
   * `chat`: turns of a chat. `tasks`: all coding tasks of a chat. `task`: one that runs. `month`: all of a chat in a
   * month. `schedule`: the runs of one.
   */
  scope: 'chat' | 'tasks' | 'task' | 'month' | 'schedule';
  chat: OwnerChat;
  task_id: string | null;
  unit: 'usd' | 'tokens';
  used: number;
  /** with what was allowed beyond it */
  limit: number;
  /** the setting that raises it */
  setting: string;
  /** at the pace of the last hour, or of a task so far, it is used up then; null: not before it begins again */
  reached_at: string | null;
}

/** `GET /v1/owner/workspaces` */
export interface OwnerWorkspaces {
  workspaces: OwnerWorkspace[];
}

export interface OwnerWorkspace {
  host: string;
  name: string;
  path: string;
  language: string | null;
  /** as last seen; null: not a git repository, or not looked at yet */
  git: {
    branch: string | null;
    head: string | null;
    modified: number;
    untracked: number;
    ahead: number;
    behind: number;
  } | null;
  seen_at: string | null;
  /** not over, oldest first */
  tasks: Array<{ id: string; goal: string; state: string; worktree: string | null }>;
  /** hosts that people allowed or refused, the latest first */
  egress: EgressRuleView[];
  /** names of the people that the owner shares it with */
  shared_with: string[];
}

/**
 * Remove it: `POST /v1/owner/egress/remove` with `{ host, workspace, to, port }` (`host` is that of the workspace, `to`
 * the one of the rule).
 */
export interface EgressRuleView {
  to: string;
  port: number;
  allowed: boolean;
  /** null: for every task of the workspace */
  task_id: string | null;
  /** for some minutes; `over`: they are gone */
  once: boolean;
  over: boolean;
}

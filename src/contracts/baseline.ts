import type { Waits } from './conversation.ts';
import type { Decision } from './decision.ts';
import type { Channel } from './ids.ts';

/**
 * What crosses the boundary of the `baseline` workflow: ids and verdicts. What a project says and prints stays in the
 * store.
 */

export interface BaselineInput {
  /** of the project on its host */
  baselineId: string;
  /** of this check: its question and its message come once */
  round: string;
  chatId: string;
  channel: Channel;
  host: string;
  /** names of workspaces are never private */
  workspace: string;
  /** false: nobody asked for it, so nothing is asked, and only what is worse than before is told */
  asks: boolean;
  waits: Waits;
}

/**
 * `nothing`: nothing is checked; the message says so to a person who wanted it. `asked`: the question waits, or is
 * decided by an attempt before this one.
 */
export type ProjectLook =
  | { what: 'nothing'; outboxId: string | null }
  | { what: 'ready' }
  | { what: 'asked'; questionId: string; outboxId: string; decided?: Decision };

/**
 * The message that says what a check has found; null when there is nothing to say. `wantsHosts`: it failed where its
 * programs wanted hosts that nobody has allowed, which the next look asks for.
 */
export type CheckFound = string | null | { wantsHosts: true };

/** Activities on the host of the project. All may run again. */
export interface BaselineHostActivities {
  /** what a check needs that nobody has allowed yet, asked in one question */
  lookAtProject(input: BaselineInput): Promise<ProjectLook>;
  /** installs, builds, lints and tests a copy. `isLast`: it is not made again with more hosts */
  checkProject(input: BaselineInput & { isLast?: true }): Promise<CheckFound>;
}

/** `no`: to the question `questionId`. `gone`: the project is not there any more. */
export type WhyUnchecked = { why: 'no'; questionId: string } | { why: 'gone' | 'failed' };

/** Short activities on our own store, run as local activities. */
export interface BaselineRecordActivities {
  /** outbox id of the message that nothing is checked; null where nobody waits for it */
  tellUnchecked(input: BaselineInput & WhyUnchecked): Promise<string | null>;
}

export type BaselineEnd = 'checked' | 'not allowed' | 'nothing to check' | 'failed';

import type { Waits } from './conversation.ts';
import type { Decision } from './decision.ts';
import type { Channel } from './ids.ts';
import type { TaskInput } from './task.ts';

/**
 * What crosses the boundary of the `shipment` workflow: ids, digests and verdicts. Texts of a pull request are of
 * strangers, and stay in the store.
 */

export type ShipmentState = 'opening' | 'watching' | 'working' | 'waiting' | 'merged' | 'closed' | 'stopped' | 'failed';

/** Who says that it is merged: the owner each time, or the owner once, for when everything is green. */
export type MergeRule = 'ask' | 'green';

export interface ShipmentInput {
  shipmentId: string;
  chatId: string;
  channel: Channel;
  /** of its workspace */
  host: string;
  /** name for operators; workspace names are never private */
  workspace: string;
  rule: MergeRule;
  limits: ShipmentLimits;
  waits: Waits;
  carried?: CarriedShipment;
}

interface ShipmentLimits {
  /** passes of a coding agent without another yes */
  maxPasses: number;
  /** money of these passes without another yes */
  maxMicroUsd: number;
  /** time between two looks: while checks run, and when nothing has happened for long */
  lookMs: number;
  longestLookMs: number;
  /** how long it is watched */
  watchMs: number;
  /** a host that takes no work for this long counts as away */
  awayMs: number;
  maxHistoryEvents: number;
}

/** What a look at the pull request has found. */
export interface Look {
  state: 'open' | 'merged' | 'closed';
  /** newest commit of its branch on the server */
  head: string;
  /** it does not merge into its base as it is */
  conflicts: boolean;
  checks: ChecksState;
  /** a digest of the failed checks: the same for the same failures */
  failures: string;
  /** remarks that nobody has worked on yet; `outside`: some are of people who may not write to the repository */
  remarks: number;
  outside: boolean;
  review: 'none' | 'approved' | 'changes requested';
}

/**
 * `none`: nothing ran for this commit. `held`: something waits for a person there, or was cancelled. Only `passed` is
 * green.
 */
export type ChecksState = 'none' | 'pending' | 'held' | 'failed' | 'passed';

/** The server cannot be looked at now. `token`: it refuses the token, or shows nothing to it. */
export interface Unseen {
  unseen: 'limit' | 'token' | 'away';
  /** ms since the epoch: not before then; null where the server does not say */
  until: number | null;
}

export type PassCause = 'checks' | 'remarks' | 'conflict' | 'answer';

/** What the workflow remembers of a pull request between two looks. */
export interface ShipmentMemory {
  /** newest commit that was made here and is on the server; null before the first push */
  head: string | null;
  /** the one before it, which the server may still show for a moment */
  before: string | null;
  /** when it was pushed, ms since the epoch */
  pushedAt: number;
  passes: number;
  /** passes and money that were allowed so far */
  allowedPasses: number;
  allowedMicroUsd: number;
  spentMicroUsd: number;
  /** the pass that may be pushed and is not yet; and how often that has failed */
  toPush: number | null;
  pushTries: number;
  /** how often a pass was made for the same thing */
  tries: Record<string, number>;
  /** what was told already */
  told: string[];
  /** a commit of somebody else that the person does not want to go on from */
  refusedHead: string | null;
  /** the person has allowed remarks of outsiders to be worked on; holds for those that are there */
  outside: boolean;
  /** when something was last seen to change, ms since the epoch, and what it looked like then */
  changedAt: number;
  seen: string;
  /** since when the server shows nothing, ms since the epoch */
  blindSince: number | null;
}

/** A question that waits for the person, while the pull request is watched on. */
export interface OpenQuestion {
  id: string;
  about: QuestionAbout;
  /** what a pass would be made for */
  key: string;
  causes: PassCause[];
  /** number of the pass that is to be pushed */
  pass: number;
  askedAt: number;
  reminded: boolean;
}

export type QuestionAbout = 'push' | 'merge' | 'moved' | 'passes' | 'money' | 'circle' | 'outside' | 'stuck';

/** What a shipment takes along when it continues as new. */
export interface CarriedShipment {
  memory: ShipmentMemory;
  question: OpenQuestion | null;
  begunAt: number;
  /** the pass that was under way when its workflow was lost */
  pass?: number;
}

interface ShipmentRef {
  shipmentId: string;
}

interface PassInput extends ShipmentRef {
  pass: number;
}

export interface BeginPass extends PassInput {
  causes: PassCause[];
  /** the answer of this question is what the pass is told besides */
  answered?: string;
}

export interface ShipmentAnswer {
  decision: Decision;
  leaves: boolean;
}

/** How the task of a pass ended. */
interface PassEnd {
  over: boolean;
  ok: boolean;
  spentMicroUsd: number;
}

/** A sentence for the person. */
export interface Refused {
  problem: string;
}

/** What a pass has made. `nothing`: no file was changed and nothing was said. */
export type Offered =
  | { what: 'nothing' }
  | { what: 'asked'; questionId: string; outboxId: string; decided?: Decision }
  /** pushes of this chat need no question: the owner has said so */
  | { what: 'allowed' };

/** `conflict`: a coding agent has to solve it, beginning from a commit that was prepared. */
export type Rebased = { what: 'done'; head: string } | { what: 'conflict' } | { what: 'nothing' } | Refused;

/** Activities on the host of the workspace. All may run again. */
export interface ShipmentHostActivities {
  /** makes the branch, pushes it, and makes the pull request, or finds each of them */
  openShipment(input: ShipmentRef): Promise<{ head: string } | Refused>;
  /** puts the commits on top of the base; what cannot be is prepared for an agent */
  rebaseShipment(input: ShipmentRef): Promise<Rebased>;
  /** asks whether what a pass has made may be pushed and said */
  offerPass(input: PassInput): Promise<Offered>;
  /** pushes what a pass has made, and answers the remarks that it was about */
  pushPass(input: PassInput): Promise<{ head: string } | Refused>;
  /** goes on from what somebody else has pushed */
  adoptHead(input: ShipmentRef & { head: string }): Promise<{ head: string } | Refused>;
  /** removes its branches from the workspace; without a merge, only those whose commits are on the server, too */
  tidyShipment(input: ShipmentRef): Promise<void>;
}

/** Activities that ask the server, on any worker. */
export interface ShipmentWatchActivities {
  lookAtShipment(input: ShipmentRef): Promise<Look | Unseen>;
  /** reads the logs and remarks that a pass is about, and creates its task */
  beginPass(input: BeginPass): Promise<{ task: TaskInput } | Refused>;
  /** merges this commit and no other */
  mergeShipment(input: ShipmentRef & { head: string }): Promise<{ merged: true } | Refused>;
}

/** Local activities: they use only our own store. */
export interface ShipmentRecordActivities {
  setShipmentState(input: ShipmentRef & { state: ShipmentState; head?: string; ended?: string }): Promise<void>;
  /** the message is told once for each key; returns its outbox id */
  tellShipment(input: ShipmentRef & { key: string; what: Told; detail?: string }): Promise<string>;
  askShipment(
    input: ShipmentRef & { key: string; about: Exclude<QuestionAbout, 'push'>; detail?: string },
  ): Promise<{ questionId: string; outboxId: string; decided?: Decision }>;
  /** `leaves`: nothing more is to be done. Null while it is open. */
  answerToShipment(questionId: string): Promise<ShipmentAnswer | null>;
  endOfPass(input: PassInput): Promise<PassEnd>;
  /** nothing comes of this pass, and its remarks are done with; 0: the remarks that no pass works on */
  dropPass(input: PassInput): Promise<void>;
  /** true when a person has said `ship stop`, also before its workflow could hear it */
  isStopped(input: ShipmentRef): Promise<boolean>;
  closeQuestions(input: ShipmentRef): Promise<void>;
}

/** What a person is told of a pull request. */
export type Told =
  | 'opened'
  | 'not opened'
  | 'merged'
  | 'closed'
  | 'stopped'
  | 'watched long enough'
  | 'pushed'
  | 'rebased'
  | 'not pushed'
  | 'green'
  | 'nothing ran'
  | 'held'
  | 'token'
  | 'token again'
  | 'not merged'
  | 'working'
  | 'no agent';

export interface ShipmentView {
  state: ShipmentState;
  doing: string;
  passes: number;
}

import type {
  ActInput,
  ActResult,
  AskInput,
  AskResult,
  DeliverInput,
  FinishInput,
  ThinkInput,
  ThinkResult,
} from './conversation.ts';
import type { Decision } from './decision.ts';
import type { Channel } from './ids.ts';

/**
 * Activities of a turn. There is one for a model step, one for a tool call and one for a send: none exists only to keep
 * records.
 */
export interface TurnActivities {
  think(input: ThinkInput): Promise<ThinkResult>;
  act(input: ActInput): Promise<ActResult>;
  /** the same for a tool that touches only our own store, as a local activity */
  actOnStore(input: ActInput): Promise<ActResult>;
  deliver(input: DeliverInput): Promise<void>;
  /** works out what an approval of this call shows; runs on the host that has the workspace */
  preview(input: ActInput): Promise<void>;
}

/** Short steps on our own store, run as local activities. */
export interface RecordActivities {
  openQuestion(input: AskInput): Promise<AskResult>;
  /** the stored decision of a question; null while it is open */
  decisionOf(questionId: string): Promise<Decision | null>;
  /** outbox id of the reminder, or null when the question was decided meanwhile */
  remind(questionId: string): Promise<string | null>;
  /** false when an answer came first */
  expire(questionId: string): Promise<boolean>;
  /** the result of a call whose worker died, or that could not be run at all (`why`) */
  recordUnknown(input: { callId: string; why?: string }): Promise<void>;
  /** outbox id of what the person is told, or null when the turn had ended already */
  finish(input: FinishInput): Promise<string | null>;
}

/** What crosses the boundary of the `reminder` workflow. */
export interface ReminderInput {
  reminderId: string;
}

/** A message that is ready to be sent. */
interface SaidReminder {
  outboxId: string;
  channel: Channel;
}

export interface ReminderActivities {
  /** null when it was removed, or its chat is gone */
  sayReminder(reminderId: string): Promise<SaidReminder | null>;
}

import type { Channel } from '../../contracts/ids.ts';
import type { ThreadRecord, TurnRecord } from '../../contracts/records.ts';
import type { SetUp } from '../../domain/chat/words/help.ts';
import { type ApprovalDecision, answerInput, decideApproval, type InputAnswers } from './answers.ts';
import { type Background, createBackground } from './background.ts';
import { setUpOf } from './commands/help.ts';
import type { AnsweredMessage, InboundMessage, IntakeResult } from './message.ts';
import { respond, say } from './say.ts';
import { createSchedules, type Schedules } from './schedules.ts';
import { deliverNow, type IntakeDeps } from './signal.ts';
import { type InterruptRequest, interrupt, type SteerRequest, steer } from './stop-and-steer.ts';
import { channelThread, clearSession, deleteSession } from './threads.ts';
import { type CompactionRequest, compact, type StartedTurn, startTurn, type TurnRequest } from './turns.ts';

export type { Also, Approver } from './message.ts';
export { IntakeError } from './signal.ts';

/**
 * The only way in. Whatever a person does becomes an inbox row, in one transaction with what it means (a turn, a
 * steering message, a decision), under the thread's lock. Only then is the conversation signalled. If a crash loses the
 * signal, the sweeper finds the row. So a return from here means "will be answered".
 */
export interface Intake {
  /** A message of a person: a command, an answer, steering, or a new turn. It is never refused as "busy". */
  say(message: InboundMessage): Promise<IntakeResult>;
  /** A message that is answered without the model. */
  respond(message: AnsweredMessage): Promise<IntakeResult>;
  /** A second turn on a thread whose turn still runs is a conflict. */
  startTurn(request: TurnRequest): Promise<StartedTurn>;
  /** A turn that sums up what was said before; a conflict while another one runs. */
  compact(request: CompactionRequest): Promise<StartedTurn>;
  steer(request: SteerRequest): Promise<TurnRecord>;
  /** Returns the turn as it was when the interrupt was accepted, in progress; `turn.completed` follows. */
  interrupt(request: InterruptRequest): Promise<TurnRecord>;
  decide(request: ApprovalDecision): Promise<void>;
  answer(request: InputAnswers): Promise<void>;
  /** Has a stored message of a chat sent at once. */
  deliver(outboxId: string, chatId: string): Promise<void>;
  /** The thread of a chat on a channel, created on first use. */
  channelThread(channel: Channel, address: string): Promise<ThreadRecord>;
  /** The thread of this machine's terminal, created on first use. */
  consoleThread(): Promise<ThreadRecord>;
  /** Begins a new conversation in a session, as `/new` does; a session whose turn runs is a conflict. */
  clearSession(threadId: string): Promise<void>;
  /** The same, and hides the session until the next message of its chat. */
  deleteSession(threadId: string): Promise<void>;
  /** Background tasks, each on its own thread. */
  background: Background;
  /** Schedules of all chats. */
  schedules: Schedules;
  /** What is set up right now. */
  setUp(): Promise<SetUp>;
}

/** `secret`: key of the hash in the ids of chats. */
export function createIntake(deps: IntakeDeps & { secret: string }): Intake {
  return {
    say: (message) => say(deps, message),
    respond: (message) => respond(deps, message),
    startTurn: (request) => startTurn(deps, request),
    compact: (request) => compact(deps, request),
    steer: (request) => steer(deps, request),
    interrupt: (request) => interrupt(deps, request),
    decide: (request) => decideApproval(deps, request),
    answer: (request) => answerInput(deps, request),
    deliver: (outboxId, chatId) => deliverNow(deps, outboxId, chatId),
    channelThread: (channel, address) => channelThread(deps, channel, address),
    consoleThread: () => channelThread(deps, 'console', 'terminal'),
    clearSession: (threadId) => clearSession(deps, threadId),
    deleteSession: (threadId) => deleteSession(deps, threadId),
    background: createBackground(deps),
    schedules: createSchedules(deps),
    setUp: () => setUpOf(deps.db, deps.config),
  };
}

import type { Logger } from 'pino';
import type { RecordActivities } from '../../contracts/activities.ts';
import type { AskInput, AskResult, FinishInput } from '../../contracts/conversation.ts';
import { unknownOutcome } from '../../domain/failures.ts';
import { cut } from '../../store/chats/ids.ts';
import { sayTo } from '../../store/chats/preferences.ts';
import { chatOfThread } from '../../store/chats/threads/threads.ts';
import { traceOf } from '../../store/home/operations.ts';
import { type Db, isGone } from '../../store/postgres/database.ts';
import { endedTurn, finishTurn } from '../../store/turns/finish.ts';
import { ask } from '../../store/turns/questions/ask.ts';
import { expireQuestion, remindQuestion } from '../../store/turns/questions/decide.ts';
import { decisionOf } from '../../store/turns/questions/questions.ts';
import { type Call, findCall, settle } from '../../store/turns/steps/calls.ts';
import { saidInStep } from '../../store/turns/steps/transcript.ts';
import { turnsEnded } from '../../telemetry/metrics.ts';
import { addSpan, isTracing } from '../../telemetry/tracing.ts';
import type { ActivityDeps } from '../activity-deps.ts';
import { recording } from '../heartbeat.ts';
import { approvalOf } from './approval.ts';
import { decidedWithRoutine } from './schedule-with-routine.ts';

/** Short activities on our own store. As local activities they take half the time and a third of the events. */
export function createRecordActivities(deps: Pick<ActivityDeps, 'db' | 'config' | 'log'>): RecordActivities {
  const { db, config } = deps;
  return {
    openQuestion: recording(async (input: AskInput): Promise<AskResult> => {
      const call = await findCall(db, input.callId);
      const say = await sayTo(db, await chatOfThread(db, input.threadId));
      const approval =
        call && input.kind === 'approval'
          ? { ...(await approvalOf(db, call, config, say)), intent: await saidInStep(db, input.turnId, call.step) }
          : null;
      const sentenceOf = async (made: Call) => (await approvalOf(db, made, config, say)).sentence;
      const decided = approval && call ? await decidedWithRoutine(db, call, sentenceOf) : null;
      const { title, ...asked } = await ask(db, input, approval && { ...approval, decided }, say);
      const shown =
        input.kind === 'approval'
          ? approvedThing(call?.args, config.FETCH_UI_TEXT === 'on')
          : config.FETCH_UI_TEXT === 'on' && title;
      return { ...asked, ...(shown && { title: shown }) };
    }),
    decisionOf: recording((questionId: string) => decisionOf(db, questionId)),
    remind: recording((questionId: string): Promise<string | null> => remindQuestion(db, questionId)),
    expire: recording((questionId: string): Promise<boolean> => expireQuestion(db, questionId)),
    recordUnknown: recording(async ({ callId, why }: { callId: string; why?: string }): Promise<void> => {
      const call = await findCall(db, callId);
      if (call) await settle(db, call, { ok: false, output: why ?? unknownOutcome('call') });
    }),
    // if the thread is gone, the turn is over and there is nobody to tell
    finish: recording(async (input: FinishInput): Promise<string | null> => {
      const outboxId = await finishTurn(db, input).catch(unlessGone);
      if (outboxId) turnEnded(deps, input.turnId, input.status, input.failure?.type);
      return outboxId;
    }),
  };
}

function unlessGone(error: unknown): null {
  if (isGone(error)) return null;
  throw error;
}

/**
 * What is to be approved, as far as the Temporal Web UI may show it: workspace names are not private, files and
 * commands are.
 */
function approvedThing(args: Record<string, unknown> | undefined, withText: boolean): string {
  const text = (value: unknown) => (typeof value === 'string' ? cut(value.replace(/\s+/g, ' ').trim(), 60) : '');
  const where = text(args?.workspace) && `in ${text(args?.workspace)}`;
  return [withText && text(args?.path ?? args?.command), where].filter(Boolean).join(' ');
}

/**
 * Counts a turn that has ended, adds it to its trace, and writes one log line. Nobody waits for these two, and when the
 * store is away they are lost.
 */
export function turnEnded(
  { db, log }: { db: Db; log?: Logger | undefined },
  turnId: string,
  outcome: 'completed' | FinishInput['status'],
  why?: string,
): void {
  turnsEnded.add({ outcome });
  if (!log?.isLevelEnabled('info') && !isTracing()) return;
  void tell(db, log, turnId, why).catch(() => {});
}

async function tell(db: Db, log: Logger | undefined, turnId: string, why: string | undefined): Promise<void> {
  const turn = await endedTurn(db, turnId);
  if (!turn) return;
  const { status, began, ended, ...figures } = turn;
  log?.info({ ...figures, ...(why && { why }) }, `turn ${status}`);
  if (!isTracing()) return;
  const attributes = {
    'fetch.turn_id': turnId,
    'fetch.channel': figures.channel,
    'fetch.outcome': status,
    'fetch.steps': figures.steps,
    'fetch.calls': figures.calls,
  };
  // the activity that ended the turn is only a part of it
  addSpan('turn', { kind: 'internal', parent: await traceOf(db, { turnId }), attributes, began, ended });
}

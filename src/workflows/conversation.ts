import {
  allHandlersFinished,
  CancellationScope,
  condition,
  defineQuery,
  defineSignal,
  isCancellation,
  log,
  makeContinueAsNewFunc,
  setDefaultSignalHandler,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { Arrival, Carried, ConversationInput, ConversationView } from '../contracts/conversation.ts';
import type { Decision } from '../contracts/decision.ts';
import { arrivalSignal, holdsQuery, viewQuery, wakeSignal } from '../contracts/signals.ts';
import { Board } from './board.ts';
import { deliverOn, records } from './policies.ts';
import { failureOf, runTurn } from './turn.ts';

/** Inbox ids remembered against a repeated signal. The inbox table is what deduplicates messages for ever; this only covers a signal sent twice. */
const SEEN_LIMIT = 500;
const STOPS_LIMIT = 20;
/** A run that an operator has pinned to another build would continue as new for ever if it did so at its beginning. */
const OUTDATED_EVENTS = 10;

/**
 * Owns one chat, for ever. Handlers only deduplicate and enqueue; one loop runs the turns in order and one sends what
 * they produced, in order. Between turns, when the history has grown, it continues as new with a few kilobytes.
 */
export async function conversation(input: ConversationInput): Promise<void> {
  const carried: Carried = input.carried ?? { turns: [], replies: [], seen: [], turnsDone: 0, spentMicroUsd: 0 };
  const turns = [...carried.turns];
  const outgoing = [...carried.replies];
  const seen = [...carried.seen];
  const stops = [...(carried.stops ?? [])];
  const decisions: Record<string, Decision> = {};
  const board = new Board(input.channel, { turnsDone: carried.turnsDone, spentMicroUsd: carried.spentMicroUsd }, workflowInfo().startTime.toISOString());
  let running: { turnId: string; scope: CancellationScope } | null = null;
  let sending = false;

  const showQueue = () => {
    board.view.queuedTurns = turns.map((turn) => turn.turnId);
  };

  // every handler is registered before the first await, or a signal of the first task would find none
  setHandler(defineSignal<[Arrival]>(arrivalSignal), (arrival) => {
    if (seen.includes(arrival.inboxId)) return;
    seen.push(arrival.inboxId);
    if (seen.length > SEEN_LIMIT) seen.splice(0, seen.length - SEEN_LIMIT);
    switch (arrival.kind) {
      case 'turn':
        turns.push({ turnId: arrival.turnId, threadId: arrival.threadId });
        showQueue();
        break;
      case 'answer':
        decisions[arrival.questionId] = arrival.decision;
        break;
      case 'stop':
        // kept for a turn whose own signal comes later; bounded, because most are for the turn that runs
        stops.push(arrival.turnId);
        if (stops.length > STOPS_LIMIT) stops.shift();
        if (running?.turnId === arrival.turnId) running.scope.cancel();
        break;
      case 'reply':
        outgoing.push(arrival.outboxId);
        break;
      case 'steer':
        // its text is in the store, where the next model step reads it
        if (arrival.outboxId) outgoing.push(arrival.outboxId);
        break;
    }
  });
  setHandler(defineQuery<ConversationView>(viewQuery), () => board.view);
  setHandler(defineQuery<string[], [string[]]>(holdsQuery), (ids) => {
    const held = new Set([...seen, ...outgoing, ...turns.map((turn) => turn.turnId), ...(running ? [running.turnId] : [])]);
    return ids.filter((id) => held.has(id));
  });
  // a workflow learns that another build is current only when something happens to it
  setHandler(defineSignal(wakeSignal), () => {});
  setDefaultSignalHandler((name) => log.warn('a signal that this version does not know was dropped', { name }));

  const sender = async (): Promise<never> => {
    for (;;) {
      await condition(() => outgoing.length > 0);
      sending = true;
      const outboxId = outgoing[0]!;
      // only a row that is gone fails for good: there is nothing left to send then
      await deliverOn(input.channel, outboxId.includes('_call_') ? 'send question' : 'send reply', { outboxId }).catch((error) =>
        log.error('a message could not be sent', { outboxId, error: failureOf(error).message }),
      );
      outgoing.shift();
      sending = false;
    }
  };
  // it loops for ever and catches what it awaits; it ends with the run
  void sender().catch((error) => {
    if (!isCancellation(error)) log.error('the sender stopped', { error: String(error) });
  });

  for (;;) {
    if (renewable()) {
      await condition(allHandlersFinished);
      // a pinned run goes on with the current build from here on; where builds are not told apart, the option says nothing
      return await makeContinueAsNewFunc<typeof conversation>({ initialVersioningBehavior: 'AUTO_UPGRADE' })({
        ...input,
        carried: { turns, replies: outgoing, seen, stops, turnsDone: board.view.turnsDone, spentMicroUsd: board.view.spentMicroUsd },
      });
    }
    // a full history must not wait for the next turn to be renewed: a chat may ask for nothing but its status for weeks
    await condition(() => turns.length > 0 || renewable());
    const next = turns.shift();
    if (!next) continue;
    showQueue();

    const scope = new CancellationScope();
    running = { turnId: next.turnId, scope };
    try {
      if (stops.includes(next.turnId)) await CancellationScope.nonCancellable(() => end(next, 'interrupted'));
      else await scope.run(() => runTurn({ ...next, limits: input.limits, waits: input.waits, board, decisions, send: (id) => void outgoing.push(id) }));
      board.failure = null;
    } catch (error) {
      const interrupted = isCancellation(error) && scope.consideredCancelled;
      board.failure = interrupted ? null : failureOf(error);
      await CancellationScope.nonCancellable(() => end(next, interrupted ? 'interrupted' : 'failed', error));
    } finally {
      running = null;
      const stop = stops.indexOf(next.turnId);
      if (stop >= 0) stops.splice(stop, 1);
    }
    board.step = 0;
    board.show('idle', 'nothing to do', { turnId: null, waitingFor: null, turnsDone: board.view.turnsDone + 1 });
  }

  /** The history is full, or another build is current, and nothing is under way that continuing as new would lose. */
  function renewable(): boolean {
    const { continueAsNewSuggested, historyLength, targetWorkerDeploymentVersionChanged } = workflowInfo();
    const outdated = targetWorkerDeploymentVersionChanged && historyLength > OUTDATED_EVENTS;
    return (continueAsNewSuggested || outdated || historyLength > input.limits.maxHistoryEvents) && outgoing.length === 0 && !sending;
  }

  async function end(turn: { turnId: string; threadId: string }, status: 'interrupted' | 'failed', error?: unknown): Promise<void> {
    const outboxId = await records.finish({ ...turn, status, ...(status === 'failed' && { failure: failureOf(error) }) });
    if (outboxId) outgoing.push(outboxId);
  }
}

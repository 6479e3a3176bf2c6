import { allHandlersFinished, log, setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import type {
  CarriedShipment,
  OpenQuestion,
  PassCause,
  ShipmentHostActivities,
  ShipmentInput,
  ShipmentMemory,
  ShipmentState,
  ShipmentView,
  Told,
} from '../../contracts/shipment.ts';
import { failureOf, hostIsAway } from '../shared/failure-of.ts';
import { deliverOn } from '../shared/policies.ts';
import { list } from '../shared/search-attributes.ts';
import { onHost, shipmentRecords } from './policies.ts';

/** The state of a shipment. Handlers record in it; the main function and its parts read it. */
export interface ShipmentRun {
  readonly input: ShipmentInput;
  readonly begunAt: number;
  memory: ShipmentMemory;
  question: OpenQuestion | null;
  /** a pass that the person has asked for; `answered`: the question whose answer says how to go on */
  wanted: { causes: PassCause[]; answered: string } | null;
  /** something has come that the next look should not wait for */
  woken: boolean;
  stopped: boolean;
  view: ShipmentView;
  unsent: number;
  sending: Promise<void>;
}

/** How a shipment ends, and what the person is told. */
export interface End {
  state: Extract<ShipmentState, 'merged' | 'closed' | 'stopped' | 'failed'>;
  told: Told;
  detail?: string;
}

/** Above this it continues as new even while messages wait for their channel. */
const FAR_TOO_MANY_EVENTS = 20_000;
const MOST_TOLD = 50;

export function beginShipment(input: ShipmentInput): ShipmentRun {
  const { carried, limits } = input;
  return {
    input,
    begunAt: carried?.begunAt ?? Date.now(),
    memory: carried?.memory ?? {
      head: null,
      before: null,
      pushedAt: Date.now(),
      passes: 0,
      allowedPasses: limits.maxPasses,
      allowedMicroUsd: limits.maxMicroUsd,
      spentMicroUsd: 0,
      toPush: null,
      pushTries: 0,
      tries: {},
      told: [],
      refusedHead: null,
      outside: false,
      changedAt: Date.now(),
      seen: '',
      blindSince: null,
    },
    question: carried?.question ?? null,
    wanted: null,
    woken: false,
    stopped: false,
    view: { state: 'opening', doing: 'begins', passes: carried?.memory.passes ?? 0 },
    unsent: 0,
    sending: Promise.resolve(),
  };
}

export const carriedBy = ({ memory, question, begunAt }: ShipmentRun): CarriedShipment => ({
  memory,
  question,
  begunAt,
});

/** This commit is on the server now, and was made or taken over here. */
export function noteHead({ memory }: ShipmentRun, head: string): void {
  if (head === memory.head) return;
  Object.assign(memory, { before: memory.head, head, pushedAt: Date.now(), changedAt: Date.now() });
}

/** The history is full, and continuing as new would lose nothing. */
export function isRenewable({ input, unsent }: ShipmentRun): boolean {
  const { continueAsNewSuggested, historyLength } = workflowInfo();
  if (!continueAsNewSuggested && historyLength <= input.limits.maxHistoryEvents) return false;
  return allHandlersFinished() && (unsent === 0 || historyLength > FAR_TOO_MANY_EVENTS);
}

/** The view for operators; a changed state is stored, too. */
export async function show(run: ShipmentRun, state: ShipmentState, doing: string): Promise<void> {
  const { input, memory, view, question } = run;
  const changed = view.state !== state;
  Object.assign(view, { state, doing, passes: memory.passes });
  setCurrentDetails(
    [
      `**${state}**: ${doing}`,
      '',
      `- workspace \`${input.workspace}\` on host \`${input.host}\``,
      `- ${memory.passes} of ${memory.allowedPasses} passes, $${(memory.spentMicroUsd / 1_000_000).toFixed(4)} spent`,
      ...(question ? [`- waits for an answer: ${question.about}`] : []),
    ].join('\n'),
  );
  if (!changed) return;
  list(state === 'waiting' ? 'waiting' : state === 'working' ? 'working' : 'idle', {
    channel: input.channel,
    thread: null,
    waitsFor: state === 'waiting' ? 'approval' : null,
    spentMicroUsd: memory.spentMicroUsd,
  });
  await shipmentRecords.setShipmentState.executeWithOptions({ summary: doing }, [
    { shipmentId: input.shipmentId, state },
  ]);
}

/** Sends without blocking: an absent channel must not keep a pull request from being watched. */
export function send(run: ShipmentRun, summary: string, outboxId: string): void {
  run.unsent += 1;
  run.sending = run.sending
    .then(() => deliverOn(run.input.channel, summary, { outboxId }))
    .catch((error) => log.error('a message could not be sent', { outboxId, error: failureOf(error).message }))
    .then(() => {
      run.unsent -= 1;
    });
}

/** Tells the person something, once for each `key`. */
export async function tell(run: ShipmentRun, key: string, what: Told, detail?: string): Promise<void> {
  const { memory, input } = run;
  if (memory.told.includes(key)) return;
  memory.told = [...memory.told, key].slice(-MOST_TOLD);
  const told = { shipmentId: input.shipmentId, key, what, ...(detail !== undefined && { detail }) };
  const outboxId = await shipmentRecords.tellShipment.executeWithOptions({ summary: `tell: ${what}` }, [told]);
  send(run, `tell: ${what}`, outboxId);
}

/** Runs an activity on the host of the workspace. A host that is away is waited for, however long it takes. */
export async function onItsHost<T>(
  run: ShipmentRun,
  activity: (host: ShipmentHostActivities) => Promise<T>,
): Promise<T> {
  const { host, limits } = run.input;
  for (let offerMs = limits.awayMs; ; offerMs = Math.min(offerMs * 2, limits.longestLookMs)) {
    try {
      return await activity(onHost(host, offerMs));
    } catch (error) {
      if (!hostIsAway(error)) throw error;
      run.view.doing = `waits for the host ${host}, which does not answer`;
      setCurrentDetails(`**${run.view.state}**: ${run.view.doing}`);
    }
  }
}

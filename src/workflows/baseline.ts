import {
  defineQuery,
  defineSignal,
  log,
  proxyActivities,
  setCurrentDetails,
  setDefaultSignalHandler,
  setHandler,
} from '@temporalio/workflow';
import type {
  BaselineEnd,
  BaselineHostActivities,
  BaselineInput,
  BaselineRecordActivities,
  ProjectLook,
  WhyUnchecked,
} from '../contracts/baseline.ts';
import type { Arrival } from '../contracts/conversation.ts';
import { kennelQueue } from '../contracts/ids.ts';
import { arrivalSignal, holdsQuery, wantedSignal } from '../contracts/signals.ts';
import { nonRetryableTypes } from '../domain/failures.ts';
import { DAY, HOUR, MINUTE } from '../domain/time.ts';
import { awaitAnswer, type Decisions } from './shared/await-answer.ts';
import { failureOf } from './shared/failure-of.ts';
import { patientRecords } from './shared/patient.ts';
import { deliverOn, HEARTBEAT_TIMEOUT, records } from './shared/policies.ts';
import { list } from './shared/search-attributes.ts';

/**
 * A project is installed, built and tested once before anything is changed in it, so that later failures can be told
 * from earlier ones. One question names all that this needs. The chat goes on meanwhile.
 */
export async function baseline(input: BaselineInput): Promise<BaselineEnd> {
  const rounds = [input];
  const decisions: Decisions = {};
  setHandler(defineSignal<[Arrival]>(arrivalSignal), (arrival) => {
    if (arrival.kind === 'answer') decisions[arrival.questionId] = arrival.decision;
  });
  setHandler(defineQuery<string[], [string[]]>(holdsQuery), (ids) => ids.filter((id) => decisions[id] !== undefined));
  setDefaultSignalHandler((name) => log.warn('a signal that this version does not know was dropped', { name }));
  // one that is wanted while another ends is not lost
  setHandler(defineSignal<[BaselineInput]>(wantedSignal), (wanted) => {
    if (!rounds.some(({ round }) => round === wanted.round)) rounds.push(wanted);
  });
  let end: BaselineEnd = 'failed';
  for (let at = 0; at < rounds.length; at += 1) end = await checkOnce(rounds[at]!, decisions);
  return end;
}

/** A check that wants more hosts is made again with them, at most so often: packages of packages lie elsewhere. */
const MOST_CHECKS = 4;

async function checkOnce(input: BaselineInput, decisions: Decisions): Promise<BaselineEnd> {
  const { workspace } = input;
  try {
    for (let at = 1; ; at += 1) {
      const isLast = at === MOST_CHECKS && { isLast: true as const };
      // each has a question and a message of its own
      const end = await checkWith({ ...input, ...(at > 1 && { round: `${input.round}x${at}` }), ...isLast }, decisions);
      if (end !== 'wants hosts') return end;
    }
  } catch (error) {
    const { type, message } = failureOf(error);
    log.warn('a project could not be checked', { workspace, error: message });
    await tellUnchecked(input, { why: type === 'NotFound' ? 'gone' : 'failed' }).catch(() => {});
    return 'failed';
  }
}

async function checkWith(
  input: BaselineInput & { isLast?: true },
  decisions: Decisions,
): Promise<BaselineEnd | 'wants hosts'> {
  const { workspace, host } = input;
  const show = (phase: 'working' | 'waiting', doing: string) => {
    setCurrentDetails(`**${phase}**: ${doing}\n\n- workspace \`${workspace}\` on host \`${host}\``);
    const waitsFor = phase === 'waiting' ? 'approval' : null;
    list(phase, { channel: input.channel, thread: null, waitsFor, spentMicroUsd: 0 });
  };
  show('working', 'looks at what it needs');
  const look = await looks(host).lookAtProject.executeWithOptions({ summary: `what ${workspace} needs` }, [input]);
  if (look.what === 'nothing') {
    if (look.outboxId !== null) await deliverOn(input.channel, 'tell why not', { outboxId: look.outboxId });
    return 'nothing to check';
  }
  if (look.what === 'asked') {
    show('waiting', 'waits for an answer: may it be installed and tested?');
    if (!(await isAllowed(input, look, decisions))) {
      await tellUnchecked(input, { why: 'no', questionId: look.questionId });
      return 'not allowed';
    }
  }
  show('working', 'installs and tests a copy');
  const found = await checks(host).checkProject.executeWithOptions({ summary: `check ${workspace}` }, [input]);
  if (found !== null && typeof found === 'object') return 'wants hosts';
  if (found !== null) await deliverOn(input.channel, 'tell what the check has found', { outboxId: found });
  return 'checked';
}

async function tellUnchecked(input: BaselineInput, why: WhyUnchecked): Promise<void> {
  const told = { ...input, ...why };
  const outboxId = await baselineRecords.tellUnchecked.executeWithOptions({ summary: 'say that it is not checked' }, [
    told,
  ]);
  if (outboxId !== null) await deliverOn(input.channel, 'tell that it is not checked', { outboxId });
}

type Asked = Extract<ProjectLook, { what: 'asked' }>;

/** Sends the question, unless it is decided, and waits for its answer. */
async function isAllowed(input: BaselineInput, asked: Asked, decisions: Decisions): Promise<boolean> {
  const { questionId: id, outboxId, decided } = asked;
  const { waits, channel, workspace } = input;
  let sending: Promise<void> = Promise.resolve();
  const send = (message: string) => {
    sending = sending
      .then(() => deliverOn(channel, 'ask whether it may be checked', { outboxId: message }))
      .catch((error) => log.error('a message could not be sent', { error: failureOf(error).message }));
  };
  if (decided) decisions[id] = decided;
  else {
    send(outboxId);
    const answer = awaitAnswer(
      { id, decisions },
      {
        what: `an answer: may ${workspace} be installed and tested?`,
        waits,
        remindInMs: waits.remindAfterMs,
        remind: () => records.remind(id),
        send,
        expire: () => records.expire(id),
        unanswered: 'deny',
      },
    );
    for (let next = answer.next(); !next.done; ) next = answer.next(await next.value);
  }
  return decisions[id] === 'allow';
}

const baselineRecords = patientRecords<BaselineRecordActivities>();

const retry = {
  initialInterval: 1_000,
  backoffCoefficient: 2,
  maximumInterval: 5 * MINUTE,
  nonRetryableErrorTypes: nonRetryableTypes,
};

/** A host that is away is waited for, for days: nothing else waits for this. An image may have to be built first. */
const looks = (host: string) =>
  proxyActivities<Pick<BaselineHostActivities, 'lookAtProject'>>({
    taskQueue: kennelQueue(host),
    startToCloseTimeout: HOUR,
    scheduleToCloseTimeout: 3 * DAY,
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    retry,
  });

/** A check that ends its process or its machine must not do so for ever. */
const checks = (host: string) =>
  proxyActivities<Pick<BaselineHostActivities, 'checkProject'>>({
    taskQueue: kennelQueue(host),
    startToCloseTimeout: 4 * HOUR,
    scheduleToCloseTimeout: 3 * DAY,
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    retry: { ...retry, maximumAttempts: 10 },
  });

import type { Look, OpenQuestion, PassCause, QuestionAbout, ShipmentAnswer } from '../../contracts/shipment.ts';
import { keyOf, REFUSED } from '../../domain/shipping/next.ts';
import { records } from '../shared/policies.ts';
import { shipmentRecords, watch } from './policies.ts';
import { noteHead, onItsHost, type ShipmentRun, send, show, tell } from './shipment-run.ts';

/** Questions of a shipment. While one is open, the pull request is watched on. */

interface Ask {
  about: Exclude<QuestionAbout, 'push'>;
  key: string;
  causes: PassCause[];
  detail?: string;
  pass?: number;
}

export async function ask(run: ShipmentRun, { about, key, causes, detail, pass = 0 }: Ask): Promise<void> {
  const { shipmentId } = run.input;
  const { questionId, outboxId, decided } = await shipmentRecords.askShipment.executeWithOptions(
    { summary: `ask: ${about}` },
    [{ shipmentId, key, about, ...(detail !== undefined && { detail }) }],
  );
  await wait(run, { id: questionId, about, key, causes, pass }, decided === undefined ? outboxId : null);
}

/** Waits for an answer. `outboxId`: of the message that asks, where it is to be sent. */
export async function wait(
  run: ShipmentRun,
  question: Pick<OpenQuestion, 'id' | 'about' | 'key' | 'causes' | 'pass'>,
  outboxId: string | null,
): Promise<void> {
  run.question = { ...question, askedAt: Date.now(), reminded: false };
  if (outboxId === null) run.woken = true;
  else send(run, `ask: ${question.about}`, outboxId);
  await show(run, 'waiting', `waits for an answer: ${question.about}`);
}

/** Takes the question back, because something has made it pointless. */
export async function withdraw(run: ShipmentRun): Promise<void> {
  if (!run.question) return;
  run.question = null;
  await shipmentRecords.closeQuestions.executeWithOptions({ summary: 'take the question back' }, [
    { shipmentId: run.input.shipmentId },
  ]);
}

/**
 * Does what was answered; reminds once, and lets a question expire that nobody answers. True after an answer: what was
 * seen before it is old then.
 */
export async function hear(run: ShipmentRun, look: Look): Promise<boolean> {
  const { question, input } = run;
  if (!question) return false;
  const answer = await shipmentRecords.answerToShipment.executeWithOptions({ summary: 'read the answer' }, [
    question.id,
  ]);
  if (answer) {
    run.question = null;
    await show(run, 'watching', 'goes on after the answer');
    await answered(run, question, answer, look);
    return true;
  }
  const waited = Date.now() - question.askedAt;
  if (waited >= input.waits.expireAfterMs) {
    await records.expire(question.id);
    run.woken = true;
  } else if (waited >= input.waits.remindAfterMs && !question.reminded) {
    question.reminded = true;
    const reminder = await records.remind(question.id);
    if (reminder) send(run, 'send reminder', reminder);
  }
  return false;
}

/** The time after which an open question needs something. */
export function untilDue({ question, input: { waits } }: ShipmentRun): number {
  if (!question) return Number.POSITIVE_INFINITY;
  const due = question.askedAt + (question.reminded ? waits.expireAfterMs : waits.remindAfterMs);
  return Math.max(due - Date.now(), 1_000);
}

async function answered(
  run: ShipmentRun,
  question: OpenQuestion,
  { decision, leaves }: ShipmentAnswer,
  look: Look,
): Promise<void> {
  const { memory, input } = run;
  const { shipmentId, limits } = input;
  const { about, key, causes, pass } = question;
  const yes = decision === 'allow';
  switch (about) {
    case 'push':
      if (yes) memory.toPush = pass;
      else await drop(run, pass, causes, look);
      return;
    case 'merge':
      if (yes) await merge(run, key.split(' ')[1]!);
      return;
    case 'moved': {
      const head = key.replace(/^moved /, '');
      if (!yes) {
        memory.refusedHead = head;
        return;
      }
      const adopted = await onItsHost(run, (host) => host.adoptHead({ shipmentId, head }));
      // further commits have come: they are asked about in their turn
      if ('problem' in adopted) memory.refusedHead = head;
      else noteHead(run, adopted.head);
      return;
    }
    case 'passes':
      if (yes) memory.allowedPasses = memory.passes + limits.maxPasses;
      else refuse(run, causes, look);
      return;
    case 'money':
      if (yes) memory.allowedMicroUsd = memory.spentMicroUsd + limits.maxMicroUsd;
      else refuse(run, causes, look);
      return;
    case 'circle':
      if (yes) for (const cause of causes) memory.tries[keyOf([cause], look)] = 0;
      else refuse(run, causes, look);
      return;
    case 'outside':
      if (yes) memory.outside = true;
      else await dropRecord(run, 0);
      return;
    case 'stuck':
      if (leaves || decision === 'deny') await drop(run, pass, causes, look);
      else {
        await dropRecord(run, pass);
        run.wanted = { causes: [...causes, 'answer'], answered: question.id };
      }
      return;
  }
}

/** Nothing more is done about this. */
function refuse({ memory }: ShipmentRun, causes: readonly PassCause[], look: Pick<Look, 'failures'>): void {
  for (const cause of causes) memory.tries[keyOf([cause], look)] = REFUSED;
}

const dropRecord = (run: ShipmentRun, pass: number): Promise<void> =>
  shipmentRecords.dropPass.executeWithOptions({ summary: `nothing comes of pass ${pass}` }, [
    { shipmentId: run.input.shipmentId, pass },
  ]);

/** Drops what a pass has made. Its remarks are done with, and others are still worked on. */
export async function drop(
  run: ShipmentRun,
  pass: number,
  causes: readonly PassCause[],
  look: Pick<Look, 'failures'>,
): Promise<void> {
  refuse(
    run,
    causes.filter((cause) => cause !== 'remarks'),
    look,
  );
  await dropRecord(run, pass);
}

/** Merges the commit that the person has agreed to, or that the owner's rule is about. */
export async function merge(run: ShipmentRun, head: string): Promise<void> {
  const { shipmentId } = run.input;
  const done = await watch.mergeShipment.executeWithOptions({ summary: 'merge' }, [{ shipmentId, head }]);
  // the next look sees that it is merged
  if ('problem' in done) await tell(run, `not merged ${head}`, 'not merged', done.problem);
  else run.woken = true;
}

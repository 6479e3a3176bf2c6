import type { ShipmentRecordActivities } from '../../contracts/shipment.ts';
import { leavesIt } from '../../domain/shipping/texts.ts';
import {
  answerOf,
  askOfShipment,
  closeShipmentQuestions,
  tellOfShipment,
} from '../../store/kennel/questions/shipment-questions.ts';
import {
  findShipment,
  setShipmentState,
  settlePass,
  spentBy,
  taskOfPass,
} from '../../store/kennel/shipments/shipments.ts';
import { isOver } from '../../store/kennel/tasks/tasks.ts';
import type { Db } from '../../store/postgres/database.ts';
import { fail } from '../failure.ts';
import { recording } from '../heartbeat.ts';
import { shipmentOf } from './forge-of.ts';

/** Short activities of a shipment on our own store. They run as local activities of the worker. */
export function createShipmentRecords({ db }: { db: Db }): ShipmentRecordActivities {
  return {
    setShipmentState: recording(
      ({ shipmentId, ...change }: Parameters<ShipmentRecordActivities['setShipmentState']>[0]) =>
        setShipmentState(db, shipmentId, change),
    ),
    tellShipment: recording(
      async ({ shipmentId, key, what, detail }: Parameters<ShipmentRecordActivities['tellShipment']>[0]) =>
        await tellOfShipment(db, await shipmentOf(db, shipmentId), key, what, detail),
    ),
    askShipment: recording(async ({ shipmentId, ...asked }: Parameters<ShipmentRecordActivities['askShipment']>[0]) => {
      const question = await askOfShipment(db, await shipmentOf(db, shipmentId), asked);
      if (!question) throw fail('NotFound', 'The chat of this pull request has no thread any more.');
      return question;
    }),
    answerToShipment: recording(async (questionId: string) => {
      const answer = await answerOf(db, questionId);
      if (!answer) return null;
      return { decision: answer.decision, leaves: answer.expired || leavesIt(answer.words) };
    }),
    endOfPass: recording(async ({ shipmentId, pass }: Parameters<ShipmentRecordActivities['endOfPass']>[0]) => {
      const task = await taskOfPass(db, { id: shipmentId }, pass);
      const spentMicroUsd = await spentBy(db, shipmentId);
      // a task that is gone with its records never ends otherwise
      return { over: !task || isOver(task.state), ok: task?.state === 'completed', spentMicroUsd };
    }),
    dropPass: recording(({ shipmentId, pass }: Parameters<ShipmentRecordActivities['dropPass']>[0]) =>
      settlePass(db, shipmentId, pass),
    ),
    isStopped: recording(async ({ shipmentId }: Parameters<ShipmentRecordActivities['isStopped']>[0]) => {
      const found = await findShipment(db, shipmentId);
      // forgotten with its chat, or ended before its workflow was restored to an earlier time
      return !found || found.stopped || found.ended_at !== null;
    }),
    closeQuestions: recording(({ shipmentId }: Parameters<ShipmentRecordActivities['closeQuestions']>[0]) =>
      closeShipmentQuestions(db, shipmentId),
    ),
  };
}

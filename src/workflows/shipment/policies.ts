import { proxyActivities } from '@temporalio/workflow';
import { kennelQueue } from '../../contracts/ids.ts';
import type {
  ShipmentHostActivities,
  ShipmentRecordActivities,
  ShipmentWatchActivities,
} from '../../contracts/shipment.ts';
import { nonRetryableTypes } from '../../domain/failures.ts';
import { HOUR, MINUTE } from '../../domain/time.ts';
import { patientRecords } from '../shared/patient.ts';
import { HEARTBEAT_TIMEOUT } from '../shared/policies.ts';

/** Retry policies of a shipment, each with its reason. Durations in ms. */

const patient = {
  initialInterval: 1_000,
  backoffCoefficient: 2,
  // a server of pull requests that is away must not be asked by everybody at once when it comes back
  maximumInterval: 5 * MINUTE,
  nonRetryableErrorTypes: nonRetryableTypes,
};

/** All of them look first whether their effect is there already. An image is built when it is first needed. */
export const onHost = (host: string, awayMs: number): ShipmentHostActivities =>
  proxyActivities<ShipmentHostActivities>({
    taskQueue: kennelQueue(host),
    startToCloseTimeout: HOUR,
    scheduleToStartTimeout: awayMs,
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    retry: patient,
  });

/** Branches that stay do no harm, so an absent host must not hold up the end. */
export const tidyOn = (host: string): Pick<ShipmentHostActivities, 'tidyShipment'> =>
  proxyActivities<Pick<ShipmentHostActivities, 'tidyShipment'>>({
    taskQueue: kennelQueue(host),
    scheduleToCloseTimeout: 5 * MINUTE,
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    retry: patient,
  });

/** A look that fails is an answer, so only our own failures are retried. */
export const watch = proxyActivities<ShipmentWatchActivities>({
  startToCloseTimeout: 10 * MINUTE,
  heartbeatTimeout: HEARTBEAT_TIMEOUT,
  retry: patient,
});

/** Short activities on our own store. */
export const shipmentRecords = patientRecords<ShipmentRecordActivities>();

import { startShipment } from '../../../adapters/workflows.ts';
import { shipmentInputOf } from '../../../domain/shipping/input.ts';
import { channelOfChat } from '../../../store/chats/threads/threads.ts';
import { countPasses, type Shipment } from '../../../store/kennel/shipments/shipments.ts';
import type { IntakeDeps } from '../signal.ts';
import type { Holdings } from './holdings.ts';

/**
 * A pull request that is watched needs its workflow. A lost one begins again at the commit that was pushed last, and
 * finds its tasks, questions and comments. Answers and orders need no signal: each look reads them from the store.
 */
export async function compareShipment(
  { db, temporal, config }: IntakeDeps,
  holdings: Holdings,
  shipment: Shipment,
): Promise<boolean> {
  const { status } = await holdings.of(shipment.workflow_id, []);
  if (status === 'RUNNING') return false;
  const [channel, passes] = await Promise.all([channelOfChat(db, shipment.chat_id), countPasses(db, shipment.id)]);
  return await startShipment(temporal, shipmentInputOf(shipment, { channel, settings: config, passes }));
}

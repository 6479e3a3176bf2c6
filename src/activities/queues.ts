import type { ActivityDeps, HostDeps, KennelDeps } from './activity-deps.ts';
import type { createDeliver } from './deliver.ts';

/**
 * Which activities run on which task queue. A role loads those of its own queues only: importing the others takes
 * memory that it never uses. Workflows name activities as here, so a renamed one breaks runs that are under way.
 */

/** The queues `agent` and `background`, which workers poll. */
export async function workerActivities(deps: ActivityDeps) {
  const [turn, step, records, routine, task, watch, shipment] = await Promise.all([
    import('./turn/act.ts'),
    import('./turn/step/think.ts'),
    import('./turn/turn-records.ts'),
    import('./routine/routine.ts'),
    import('./task/task-records.ts'),
    import('./shipment/shipment-watch.ts'),
    import('./shipment/shipment-records.ts'),
  ]);
  return {
    think: step.createThink(deps),
    act: turn.createAct(deps),
    actOnStore: turn.createActOnStore(deps),
    ...records.createRecordActivities(deps),
    ...routine.createRoutineActivities(deps),
    ...routine.createReminderActivities(deps),
    ...task.createTaskRecords(deps),
    ...watch.createShipmentWatch(deps),
    ...shipment.createShipmentRecords(deps),
  };
}

/** The queue `kennel-<host>` of a host with containers. */
export async function kennelActivities(deps: KennelDeps & HostDeps) {
  const [turn, routine, task, shipment, baseline] = await Promise.all([
    import('./turn/act.ts'),
    import('./routine/routine.ts'),
    import('./task/task-activities.ts'),
    import('./shipment/shipment-host.ts'),
    import('./host/baseline.ts'),
  ]);
  return {
    act: turn.createAct(deps),
    preview: turn.createPreview(deps),
    runRoutineStep: routine.createRoutineActivities(deps).runRoutineStep,
    ...task.createTaskActivities(deps),
    ...shipment.createShipmentHost(deps),
    ...baseline.createBaselineHost(deps),
  };
}

/** The queue `gateway-<channel>` of a channel that sends. */
export async function gatewayActivities(deps: Parameters<typeof createDeliver>[0]) {
  return { deliver: (await import('./deliver.ts')).createDeliver(deps) };
}

import { createHash } from 'node:crypto';
import { cancellationSignal } from '@temporalio/activity';
import type { Forge } from '../../adapters/forge.ts';
import { taskWorkflowId } from '../../contracts/ids.ts';
import type { AgentName } from '../../contracts/kennel.ts';
import type { BeginPass, Look, Refused, ShipmentWatchActivities, Unseen } from '../../contracts/shipment.ts';
import type { TaskInput } from '../../contracts/task.ts';
import { checksOf, failuresKey } from '../../domain/shipping/checks.ts';
import { waitsFor } from '../../domain/shipping/next.ts';
import { goalOf, materialOf } from '../../domain/shipping/texts.ts';
import { chooseAgent } from '../../domain/tasks/agents/agents.ts';
import { inline } from '../../domain/text/foreign-text.ts';
import { HOUR } from '../../domain/time.ts';
import { taskInput } from '../../gateway/intake/signal.ts';
import { listHosts } from '../../store/kennel/hosts.ts';
import { answerOf } from '../../store/kennel/questions/shipment-questions.ts';
import {
  conflictBranch,
  ownBranch,
  passCallId,
  recordRemarks,
  remarksForPass,
  type Shipment,
  setFailedChecks,
  setWaits,
  taskOfPass,
} from '../../store/kennel/shipments/shipments.ts';
import { insertTask, lastNamedAgent } from '../../store/kennel/tasks/tasks.ts';
import { idFromCall } from '../../tools/tool.ts';
import type { ActivityDeps } from '../activity-deps.ts';
import { beating } from '../heartbeat.ts';
import { forgeOf, refusedAs, shipmentOf, unseenAt } from './forge-of.ts';

type Deps = Pick<ActivityDeps, 'db' | 'config'>;

/** The part of a shipment that asks the server of its pull request. */
export const createShipmentWatch = (deps: Deps): ShipmentWatchActivities => ({
  lookAtShipment: beating(async ({ shipmentId }) => {
    const shipment = await shipmentOf(deps.db, shipmentId);
    const found = await lookOrNot(deps, shipment);
    await setWaits(deps.db, shipment, waitsFor(found, Date.now() - shipment.created_at.getTime()));
    return found;
  }),
  beginPass: beating(async (input) => await beginPass(deps, await shipmentOf(deps.db, input.shipmentId), input)),
  mergeShipment: beating(async ({ shipmentId, head }) => {
    const shipment = await shipmentOf(deps.db, shipmentId);
    const forge = forgeOf(deps.config, shipment, cancellationSignal());
    return await refusedAs(async () => {
      const done = await forge.merge(shipment.number!, head);
      if (done.merged) return { merged: true as const };
      // an attempt before this one may have merged it, and not have lived to know
      const now = await forge.look(shipment.number!);
      return now.state === 'merged' ? { merged: true as const } : { problem: done.why };
    });
  }),
});

async function lookOrNot(deps: Deps, shipment: Shipment): Promise<Look | Unseen> {
  if (!deps.config.GH_TOKEN) return { unseen: 'token', until: null };
  try {
    return await look(deps, shipment, forgeOf(deps.config, shipment, cancellationSignal()));
  } catch (error) {
    return unseenAt(error);
  }
}

async function look({ db }: Deps, shipment: Shipment, forge: Forge): Promise<Look> {
  const pull = await forge.look(shipment.number!);
  const { state, head } = pull;
  if (state !== 'open')
    return { state, head, conflicts: false, checks: 'none', failures: '', remarks: 0, outside: false, review: 'none' };
  const [all, said] = await Promise.all([forge.checks(head), forge.remarks(pull)]);
  const { state: checks, failed } = checksOf(all);
  await setFailedChecks(db, shipment.id, failed);
  return {
    state,
    head,
    conflicts: pull.mergeable === false,
    checks,
    failures: failed.length > 0 ? createHash('sha256').update(failuresKey(failed)).digest('hex').slice(0, 16) : '',
    review: said.review,
    ...(await recordRemarks(db, shipment.id, said.remarks)),
  };
}

/** Failed checks whose output one pass reads, and characters of each text and of all. */
const MOST_CHECKS = 8;
const MOST_CHARS = 12_000;
const MOST_MATERIAL = 120_000;

/** Creates the task of a pass. A repeated attempt finds it. */
async function beginPass(
  deps: Deps,
  shipment: Shipment,
  { pass, causes, answered }: BeginPass,
): Promise<{ task: TaskInput } | Refused> {
  const { db, config } = deps;
  const known = await taskOfPass(db, shipment, pass);
  if (known) return { task: await taskInput(db, config, known) };
  const agent = await agentFor(deps, shipment);
  if (typeof agent !== 'string') return agent;
  const sections = await refusedAs(() => textsOf(deps, shipment, { pass, causes }));
  if ('problem' in sections) return sections;
  const words = answered === undefined ? '' : ((await answerOf(db, answered))?.words ?? '');
  const callId = passCallId(shipment, pass);
  const id = idFromCall('tsk_', callId);
  const goal = goalOf(causes, { number: shipment.number!, title: shipment.title });
  const task = await insertTask(db, {
    id,
    chat_id: shipment.chat_id,
    call_id: callId,
    workflow_id: taskWorkflowId(id),
    goal: words ? `${goal}\n\nThe person says: ${words}` : goal,
    agent: 'auto',
    harness: agent,
    host: shipment.host,
    workspace: shipment.workspace,
    worktree: true,
    timeout_ms: Math.round(config.FETCH_TASK_HOURS * HOUR),
    shipment_id: shipment.id,
    from_branch: causes.includes('conflict') ? conflictBranch(shipment) : ownBranch(shipment),
    material:
      sections.length > 0
        ? materialOf(sections, Math.min(MOST_CHARS, Math.floor(MOST_MATERIAL / sections.length)))
        : null,
  });
  return task ? { task: await taskInput(db, config, task) } : { problem: 'Its chat has no thread any more.' };
}

async function agentFor({ db, config }: Deps, shipment: Shipment): Promise<AgentName | Refused> {
  const host = (await listHosts(db)).find((each) => each.host === shipment.host);
  const chosen = chooseAgent({
    wanted: 'auto',
    allowed: config.FETCH_KENNEL_AGENTS.split(',').map((name) => name.trim()),
    ready: host?.harnesses ?? [],
    named: await lastNamedAgent(db, shipment.chat_id),
    unattended: true,
  });
  return chosen.ok ? chosen.agent : { problem: chosen.why };
}

/** What the agent of a pass reads, all of it text of others. */
async function textsOf(
  { db, config }: Deps,
  shipment: Shipment,
  { pass, causes }: Pick<BeginPass, 'pass' | 'causes'>,
): Promise<Array<{ what: string; text: string }>> {
  const forge = forgeOf(config, shipment, cancellationSignal());
  const failed = causes.includes('checks') ? shipment.failed_checks.slice(0, MOST_CHECKS) : [];
  const outputs = await Promise.all(
    failed.map(async (check) => ({
      what: `Output of the failed check "${inline(check.name, 100)}"`,
      text: (await forge.output(check)) || 'It has no output.',
    })),
  );
  const remarks = causes.includes('remarks') ? await remarksForPass(db, shipment.id, pass) : [];
  return [
    ...outputs,
    ...remarks.map(({ author, place, body }) => ({
      what: `Remark of ${inline(author, 60)}${place ? ` on ${inline(place, 200)}` : ''}`,
      text: body,
    })),
  ];
}

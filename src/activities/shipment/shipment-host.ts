import { lstat } from 'node:fs/promises';
import { cancellationSignal } from '@temporalio/activity';
import { hasStatus } from '../../adapters/github/errors.ts';
import type { Offered, Rebased, Refused, ShipmentHostActivities } from '../../contracts/shipment.ts';
import { MOVED_ON } from '../../domain/shipping/next.ts';
import { commentMark, pushEvidence, replyText } from '../../domain/shipping/texts.ts';
import { english } from '../../domain/texts/say.ts';
import { derivedId } from '../../store/chats/ids.ts';
import { askOfShipment, tellOfShipment } from '../../store/kennel/questions/shipment-questions.ts';
import {
  ownBranch,
  releasePass,
  remarksOfPass,
  type Shipment,
  setHead,
  setPull,
  settlePass,
  taskOfPass,
  tasksOfShipment,
  wasPushedBefore,
} from '../../store/kennel/shipments/shipments.ts';
import { isOver } from '../../store/kennel/tasks/tasks.ts';
import { signatureOf } from '../../store/kennel/workspaces/signatures.ts';
import { grantsOf } from '../../store/turns/steps/taint.ts';
import { bringTo, pushOwnBranch } from '../../tools/github/bundle.ts';
import type { KennelDeps } from '../activity-deps.ts';
import { fail } from '../failure.ts';
import { beating } from '../heartbeat.ts';
import { requireHeld } from '../lease.ts';
import { AUTHOR, workspaceOf } from '../task/task-workspace.ts';
import { forgeOf, refusedAs, shipmentOf } from './forge-of.ts';
import {
  adoptCommit,
  beginBranch,
  changesOfPass,
  headOfOwn,
  rebaseBranch,
  removeBranches,
  takePass,
} from './shipment-git.ts';

/** The part of a shipment that needs the commits of its workspace. */
export function createShipmentHost(deps: KennelDeps): ShipmentHostActivities {
  const ofShipment = <I extends { shipmentId: string }, O>(run: (shipment: Shipment, input: I) => Promise<O>) =>
    beating(async (input: I): Promise<O> => {
      const shipment = await shipmentOf(deps.db, input.shipmentId);
      requireHeld(deps, shipment);
      const folder = await lstat(workspaceOf(deps.config, shipment)).catch(() => null);
      if (!folder?.isDirectory())
        throw fail('NotFound', english('github.projectGone', { workspace: shipment.workspace }));
      await deps.kennel.ready();
      await deps.kennel.provide('tools', () => {}, cancellationSignal());
      return await run(shipment, input);
    });
  return {
    openShipment: ofShipment((shipment) => open(deps, shipment)),
    rebaseShipment: ofShipment((shipment) => rebase(deps, shipment)),
    offerPass: ofShipment((shipment, { pass }) => offer(deps, shipment, pass)),
    pushPass: ofShipment((shipment, { pass }) => push(deps, shipment, pass)),
    adoptHead: ofShipment((shipment, { head }) => adopt(deps, shipment, head)),
    tidyShipment: ofShipment((shipment) => tidy(deps, shipment)),
  };
}

async function tidy(deps: KennelDeps, shipment: Shipment): Promise<void> {
  const tasks = await tasksOfShipment(deps.db, shipment.id);
  // an agent may still be at work on a branch of a pull request that is no longer watched
  if (tasks.some(({ state }) => !isOver(state))) return;
  const kept = shipment.state === 'merged' ? null : (shipment.head ?? shipment.commit);
  await removeBranches(deps, shipment, { tasks: tasks.map(({ id }) => id), kept }, cancellationSignal());
}

const placeOf = ({ config, kennel }: KennelDeps, shipment: Shipment) => ({
  kennel,
  path: workspaceOf(config, shipment),
});
const asking = ({ config }: KennelDeps) => ({ config, signal: cancellationSignal() });
const branchesOf = (shipment: Shipment) => ({
  from: ownBranch(shipment),
  branch: shipment.branch,
  url: shipment.clone_url,
});

const NO_TOKEN: Refused = { problem: english('github.noToken') };

async function open(deps: KennelDeps, shipment: Shipment): Promise<{ head: string } | Refused> {
  const { db, config } = deps;
  if (!config.GH_TOKEN) return NO_TOKEN;
  const problem = await beginBranch(deps, shipment, cancellationSignal());
  if (problem) return { problem };
  const { base, branch, title, body } = shipment;
  const pushed = await firstPush(deps, shipment);
  if ('problem' in pushed) return pushed;
  return await refusedAs(async () => {
    const forge = forgeOf(config, shipment, cancellationSignal());
    // an attempt before this one may have made it, and not have lived to know
    const found = await forge.find(branch);
    const pull =
      found ??
      (await forge.make({ title, body, branch, base }).catch(async (error) => {
        const other = hasStatus(error, 422) ? await forge.find(branch) : null;
        if (!other) throw error;
        return other;
      }));
    await setPull(db, shipment.id, { number: pull.number, url: pull.url, head: pushed.head });
    return { head: pushed.head };
  });
}

/** Pushes what is shipped. What an earlier shipment of this branch has pushed beyond it is gone on from. */
async function firstPush(deps: KennelDeps, shipment: Shipment): Promise<{ head: string } | Refused> {
  const { db } = deps;
  const { base, commit } = shipment;
  // an attempt before this one may have gone on from there
  const own = await headOfOwn(deps, shipment, cancellationSignal());
  if (own !== commit && (await wasPushedBefore(db, shipment, own))) return { head: own };
  const pushed = await pushOwnBranch(asking(deps), placeOf(deps, shipment), { ...branchesOf(shipment), base, commit });
  if (pushed.ok) return { head: pushed.head };
  if (!pushed.ahead) return { problem: pushed.why };
  if (!(await wasPushedBefore(db, shipment, pushed.ahead.head)))
    return { problem: english('github.notHere', { workspace: shipment.workspace }) };
  const problem = await adoptCommit(deps, shipment, pushed.ahead, cancellationSignal());
  return problem ? { problem } : { head: pushed.ahead.head };
}

async function rebase(deps: KennelDeps, shipment: Shipment): Promise<Rebased> {
  const { db, config } = deps;
  if (!config.GH_TOKEN) return NO_TOKEN;
  const place = placeOf(deps, shipment);
  const brought = await bringTo(asking(deps), place, { ...branchesOf(shipment), name: shipment.base });
  if (!brought.ok) return { problem: brought.why };
  const author = (await signatureOf(db, shipment.chat_id)) ?? AUTHOR;
  const done = await rebaseBranch(deps, shipment, brought, { signal: cancellationSignal(), author });
  if (done === 'conflict') return { what: 'conflict' };
  if (done !== 'done') return done;
  return await pushHead(deps, shipment);
}

/** Pushes the shipment's branch over the commit that was pushed before, and over no other. */
async function pushHead(deps: KennelDeps, shipment: Shipment): Promise<Rebased> {
  const head = await headOfOwn(deps, shipment, cancellationSignal());
  if (head === shipment.head) return { what: 'nothing' };
  const pushed = await pushOwnBranch(asking(deps), placeOf(deps, shipment), {
    ...branchesOf(shipment),
    commit: head,
    ...(shipment.head !== null && { lease: shipment.head }),
  });
  if (!pushed.ok) return { problem: pushed.why };
  await setHead(deps.db, shipment.id, head);
  return { what: 'done', head };
}

async function madeBy(deps: KennelDeps, shipment: Shipment, pass: number) {
  const task = await taskOfPass(deps.db, shipment, pass);
  if (!task) throw fail('NotFound', `The task of pass ${pass} is not in the database.`);
  const [remarks, diff] = await Promise.all([
    remarksOfPass(deps.db, shipment.id, pass),
    changesOfPass(deps, shipment, task, cancellationSignal()),
  ]);
  // only remarks are answered: what an agent says of a check is for the person
  return { task, diff, said: remarks.length > 0 ? (task.result?.said ?? '') : '' };
}

async function offer(deps: KennelDeps, shipment: Shipment, pass: number): Promise<Offered> {
  const { db } = deps;
  const { said, diff } = await madeBy(deps, shipment, pass);
  if (said.trim() === '' && diff.trim() === '') return { what: 'nothing' };
  const grants = await grantsOf(db, shipment.chat_id);
  if (grants.has('push') && (said.trim() === '' || grants.has('publish'))) return { what: 'allowed' };
  const asked = await askOfShipment(db, shipment, {
    key: `push ${pass}`,
    about: 'push',
    evidence: pushEvidence({ said, diff }),
  });
  if (!asked) throw fail('NotFound', 'The chat of this pull request has no thread any more.');
  return { what: 'asked', ...asked };
}

async function push(deps: KennelDeps, shipment: Shipment, pass: number): Promise<{ head: string } | Refused> {
  const { db, config } = deps;
  if (!config.GH_TOKEN) return NO_TOKEN;
  const { task, said, diff } = await madeBy(deps, shipment, pass);
  const author = (await signatureOf(db, shipment.chat_id)) ?? AUTHOR;
  const before = shipment.head;
  let head = before!;
  // a second attempt finds the branch where the first one left it
  if (diff.trim() !== '' || (await headOfOwn(deps, shipment, cancellationSignal())) !== before) {
    const problem = await takePass(deps, shipment, task, { signal: cancellationSignal(), author });
    // another pass begins from what the branch is now, and answers what this one cannot
    if (problem === MOVED_ON) await releasePass(db, shipment.id, pass);
    if (problem) return { problem };
    const pushed = await pushHead(deps, shipment);
    if ('problem' in pushed) return pushed;
    head = pushed.what === 'done' ? pushed.head : head;
  }
  const commented =
    said.trim() === '' ? {} : await refusedAs(() => comment(deps, shipment, { pass, said, head, diff }));
  if (commented && 'problem' in commented) return commented as Refused;
  // a workflow that is lost now knows nothing of this pass when it begins again
  await tellOfShipment(db, shipment, `pushed ${pass}`, 'pushed');
  await settlePass(db, shipment.id, pass);
  return { head };
}

async function comment(
  { config }: KennelDeps,
  shipment: Shipment,
  { pass, said, head, diff }: { pass: number; said: string; head: string; diff: string },
): Promise<void> {
  // the id of the call is known to nobody there, so nobody else can write the comment that stands for this one
  const key = `${shipment.id}-${pass}-${derivedId('call_', shipment.call_id, String(pass)).slice(-12)}`;
  const text = replyText({ said, commit: diff.trim() === '' ? null : head, key });
  await forgeOf(config, shipment, cancellationSignal()).comment(shipment.number!, text, commentMark(key));
}

async function adopt(deps: KennelDeps, shipment: Shipment, head: string): Promise<{ head: string } | Refused> {
  const { db, config } = deps;
  if (!config.GH_TOKEN) return NO_TOKEN;
  const place = placeOf(deps, shipment);
  const brought = await bringTo(asking(deps), place, { ...branchesOf(shipment), name: shipment.branch });
  if (!brought.ok) return { problem: brought.why };
  if (brought.head !== head) return { problem: 'Further commits have come to its branch meanwhile.' };
  const problem = await adoptCommit(deps, shipment, brought, cancellationSignal());
  if (problem) return { problem };
  await setHead(db, shipment.id, head);
  return { head };
}

import { WorkflowNotFoundError } from '@temporalio/client';
import { z } from 'zod';
import { githubForge } from '../../adapters/github/github-forge.ts';
import { fullName, parseFullName } from '../../adapters/github/remote.ts';
import { headOfBranch, type Repository } from '../../adapters/github/repositories.ts';
import { startShipment } from '../../adapters/workflows.ts';
import { arrivalSignal, orderedSignal } from '../../contracts/signals.ts';
import { shipmentInputOf } from '../../domain/shipping/input.ts';
import { branchNameOf, type Described, descriptionOf, stateText, titleOf } from '../../domain/shipping/texts.ts';
import { channelOfChat } from '../../store/chats/threads/threads.ts';
import {
  insertShipment,
  lastShipped,
  markStopped,
  namesOf,
  openShipments,
  type Shipment,
  workBehind,
} from '../../store/kennel/shipments/shipments.ts';
import { toldInPrompt } from '../declarations.ts';
import { defineTool, idFromCall, named, type ToolContext, type ToolOutcome } from '../tool.ts';
import { printed } from '../workspace/command-text.ts';
import { inWorkspace, type Opened, text, WITH_IMAGE_MS, workspaceArgument } from '../workspace/in-workspace.ts';
import { retriedWithToken, writeAccess } from './access.ts';
import { GIT } from './bundle.ts';
import { name as shownName, title as shownTitle } from './foreign-words.ts';
import { branchOf, changedSince, isOutcome, writableOf } from './workspace-repository.ts';

/** `ship`: a pull request that is watched to its merge. */

const no = (output: string): ToolOutcome => ({ ok: false, output });

const schema = z.strictObject({
  action: z.enum(['start', 'status', 'merge', 'stop']).default('start'),
  title: text(150).trim().min(1).optional().meta(toldInPrompt('Made from the changes when left out')),
  merge: z.enum(['ask', 'green']).default('ask').describe('green: when all is green'),
  number: z.int().min(1).optional().meta(toldInPrompt('Of a pull request that is watched')),
  workspace: workspaceArgument,
});
type Args = z.output<typeof schema>;

const DANGERS = { start: 'MODERATE', status: 'SAFE', stop: 'MODERATE', merge: 'DANGEROUS' } as const;

export const shipTool = defineTool({
  name: 'ship',
  family: 'github',
  effect: 'idempotent',
  runsIn: 'kennel',
  timeoutMs: WITH_IMAGE_MS,
  danger: 'DANGEROUS',
  dangerOf: ({ action }) => DANGERS[action],
  reads: ['page'],
  readFrom: () => 'pull requests of the workspace',
  sends: ['push', 'publish'],
  sent: ({ action }) => (action === 'status' || action === 'stop' ? {} : null),
  ownersOnly: 'Only the owner can ship a project.',
  // words of a page must not merge anything
  asksAlways: ({ action, merge }) => action === 'merge' || (action === 'start' && merge === 'green'),
  notARoutineStep: true,
  description: 'Make a pull request and watch it to its merge: tasks work on failed checks, reviews, conflicts.',
  schema,
  summarise: ({ action }) => action,
  asks: ({ action, merge }, at, say) => {
    if (action === 'merge') return say('ask.shipMerge', { at });
    if (action === 'stop') return say('ask.shipStop', { at });
    return say(merge === 'green' ? 'ask.shipGreen' : 'ask.ship', { at });
  },
  preview: async (args, context) => {
    if (args.action !== 'start') {
      const [only, more] = await meant(context, args);
      return only && !more ? namesOf(only).name : null;
    }
    const { output } = await inWorkspace(context, args.workspace, async (at) => {
      const wanted = await planOf(context, at, args);
      return isOutcome(wanted) ? wanted : { ok: true, output: shownPlan(wanted) };
    });
    return output;
  },
  run: (args, context) =>
    retriedWithToken(context, () =>
      args.action === 'start'
        ? inWorkspace(context, args.workspace, (at) => start(context, at, args))
        : onShipment(context, args),
    ),
});

interface Plan {
  repository: Repository;
  branch: string;
  base: string;
  commit: string;
  title: string;
  body: string;
  rule: Args['merge'];
  /** files that are not committed, and stay out */
  uncommitted: number;
}

/** All that the person says yes to. */
const shownPlan = ({ repository, branch, base, commit, title, body, rule, uncommitted }: Plan): string =>
  [
    `Repository: ${fullName(repository)}`,
    `From: ${branch} at ${commit.slice(0, 12)}`,
    `Into: ${base}`,
    `Merge: ${rule === 'green' ? 'by itself, when every check has passed and nobody wants changes' : 'after a question'}`,
    ...(uncommitted > 0 ? [`Not committed, and left out: ${uncommitted} ${uncommitted === 1 ? 'file' : 'files'}`] : []),
    `Title: ${title}`,
    '',
    body,
  ].join('\n');

/** Tasks whose goals and verdicts a description has. */
const MOST_TASKS = 5;

async function planOf(context: ToolContext, at: Opened, { title, merge }: Args): Promise<Plan | ToolOutcome> {
  const git = await branchOf(context, at);
  if (isOutcome(git)) return git;
  if (git.head === null) return no(`${at.name} has no commit yet, so there is nothing to ship.`);
  const repository = await writableOf(context, at, git);
  if (isOutcome(repository)) return repository;
  const base = repository.defaultBranch;
  if ((await headOfBranch(writeAccess(context), repository, base)) === null)
    return no(`${fullName(repository)} has no branch ${base} to merge into. Push it first.`);
  const described = await describe(context, at, base);
  if (isOutcome(described)) return described;
  const words = title ?? titleOf(described);
  const own = git.branch !== base;
  return {
    repository,
    base,
    commit: git.head,
    branch: own ? git.branch : branchNameOf(words, git.head.slice(0, 7)),
    title: words,
    body: descriptionOf(described),
    rule: merge,
    uncommitted: git.modified + git.untracked,
  };
}

/** Prints the subjects of what the base does not have, and its size. */
const SCRIPT = [
  'base=$1; shift',
  'from=',
  'for ref in "refs/remotes/origin/$base" "refs/heads/$base"; do if [ -z "$from" ] && "$@" show-ref --verify --quiet "$ref"; then from=$ref; fi; done',
  'if [ -z "$from" ]; then "$@" log --format=%s -n 10; exit 0; fi',
  'if "$@" merge-base --is-ancestor HEAD "$from"; then exit 20; fi',
  '"$@" log --no-merges --format=%s -n 200 "$from..HEAD"',
  'echo',
  '"$@" diff --shortstat --no-ext-diff "$from...HEAD"',
].join('\n');

async function describe(context: ToolContext, at: Opened, base: string): Promise<Described | ToolOutcome> {
  const { db, chatId, signal } = context;
  const result = await at.kennel.command({
    workspace: at.path,
    readOnly: true,
    argv: ['bash', '-eo', 'pipefail', '-c', SCRIPT, 'describe', base, ...GIT],
    timeoutMs: 60_000,
    maxOutput: 40_000,
    label: 'git-describe',
    signal,
  });
  if (result.code === 20)
    return no(`${at.name} has no commit that ${base} does not have, so there is nothing to ship.`);
  if (result.code !== 0) return no(`The commits could not be read: ${printed(result.stderr).trim().slice(-300)}`);
  const [subjects = '', size = ''] = printed(result.stdout).trim().split('\n\n');
  const tasks = await workBehind(db, chatId, at.name, await lastShipped(db, at.name), MOST_TASKS);
  return {
    commits: subjects.split('\n').filter(Boolean),
    size: size.trim(),
    work: tasks.map(({ goal, result: made }) => ({ goal, verdict: made?.verdict ?? null })),
  };
}

async function start(context: ToolContext, at: Opened, args: Args): Promise<ToolOutcome> {
  const { db, chatId, callId } = context;
  const id = idFromCall('shp_', callId);
  const [open] = await openShipments(db, chatId, at.name);
  if (open?.id === id) return await begin(context, open);
  const plan = await planOf(context, at, args);
  if (isOutcome(plan)) return plan;
  const changed = await changedSince(context, shownPlan(plan));
  if (changed) return changed;
  const { repository, uncommitted: _, ...row } = plan;
  const shipment = await insertShipment(db, {
    ...row,
    id,
    chat_id: chatId,
    call_id: callId,
    host: at.host,
    workspace: at.name,
    repository: fullName(repository),
    clone_url: repository.cloneUrl,
  });
  if (!shipment)
    return no(
      `The branch ${plan.branch} of ${at.name} is being shipped already. Say \`ship status\` to see how far it is.`,
    );
  return await begin(context, shipment);
}

async function begin({ db, temporal, config }: ToolContext, shipment: Shipment): Promise<ToolOutcome> {
  const channel = await channelOfChat(db, shipment.chat_id);
  await startShipment(temporal, shipmentInputOf(shipment, { channel, settings: config, passes: 0 }));
  return {
    ok: true,
    output: `I make the pull request ${named(shipment.title)} of ${shipment.workspace} into ${shipment.base}, and watch it. I write when it is open, and when you are needed.`,
    metadata: { shipment: shipment.id, branch: shipment.branch, repository: shipment.repository },
  };
}

/** The open pull requests of the chat that an order may be about. */
const meant = async ({ db, chatId }: ToolContext, { workspace, number }: Partial<Args>): Promise<Shipment[]> =>
  (await openShipments(db, chatId, workspace)).filter((each) => number === undefined || each.number === number);

/** Runs an order about the pull request that is meant: the only open one of the chat, or that of a workspace. */
async function onShipment(context: ToolContext, args: Args): Promise<ToolOutcome> {
  const { action } = args;
  const open = await meant(context, args);
  if (action === 'status')
    return {
      ok: true,
      output: open.length === 0 ? 'No pull request is being watched.' : open.map(statusLine).join('\n'),
      metadata: { shipments: open.map(({ id, number, url, state }) => ({ id, number, url, state })) },
    };
  // nothing has the number: those that are there are shown
  const all = open.length > 0 ? open : await meant(context, {});
  const [shipment] = open;
  if (all.length === 0) return no('No pull request is being watched in this chat.');
  if (!shipment || all.length > 1) {
    const lines = all.map((each) => `- ${each.workspace}: ${namesOf(each).name}`);
    return no(`Which one? Say its number, as in \`ship stop 12\`:\n${lines.join('\n')}`);
  }
  return action === 'stop' ? await stop(context, shipment) : await merge(context, shipment);
}

function statusLine(shipment: Shipment): string {
  const { failed_checks: failed, url } = shipment;
  const checks = failed.map(({ name }) => shownName(name)).join(', ');
  return `${namesOf(shipment).name}: ${stateText(shipment)}${checks ? `; failed: ${checks}` : ''}${url ? ` ${url}` : ''}`;
}

async function stop(context: ToolContext, shipment: Shipment): Promise<ToolOutcome> {
  await markStopped(context.db, shipment.id);
  await wake(context, shipment, orderedSignal, 'stop');
  return { ok: true, output: `I watch ${namesOf(shipment).name} no longer. It stays open.`, ours: true };
}

async function merge(context: ToolContext, shipment: Shipment): Promise<ToolOutcome> {
  const { number, head, title } = shipment;
  const repository = parseFullName(shipment.repository);
  if (number === null || head === null || !repository) return no('Its pull request is still being made.');
  const forge = githubForge(writeAccess(context), repository);
  const done = await forge.merge(number, head);
  if (!done.merged && (await forge.look(number)).state !== 'merged') return no(`It was not merged. ${done.why}`);
  await wake(context, shipment, arrivalSignal, { kind: 'reply', inboxId: context.callId, outboxId: '' });
  return { ok: true, output: `Merged #${number} ${shownTitle(title)}.`, metadata: { number, head } };
}

/** The next look of its workflow comes at once. Without a workflow nothing is lost: the store has it. */
async function wake(
  { temporal }: ToolContext,
  { workflow_id }: Shipment,
  signal: string,
  value: unknown,
): Promise<void> {
  await temporal.workflow
    .getHandle(workflow_id)
    .signal(signal, value)
    .catch((error) => {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    });
}

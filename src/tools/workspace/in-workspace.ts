import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { type Kennel, KennelFull, KennelUnavailable } from '../../adapters/kennel/kennel.ts';
import { KeyedMutex } from '../../adapters/keyed-mutex.ts';
import { type FoundWorkspace, findWorkspaces } from '../../adapters/workspaces.ts';
import type { Author, Profile, WorkspaceAnswer, WorkspaceOp } from '../../contracts/workspace-ops.ts';
import { argvFor, type Part } from '../../domain/tasks/checks/project-profile.ts';
import { checkPath, findName, quoted } from '../../domain/tasks/workspace-names.ts';
import { suggestion } from '../../domain/text/nearest.ts';
import { english } from '../../domain/texts/say.ts';
import { MINUTE } from '../../domain/time.ts';
import { reachOf } from '../../store/chats/shares.ts';
import { listHosts } from '../../store/kennel/hosts.ts';
import { streamOutput } from '../../store/kennel/workspaces/call-output.ts';
import { projectProfile } from '../../store/kennel/workspaces/project-profiles.ts';
import { activeWorkspace, listWorkspaces, tasksIn } from '../../store/kennel/workspaces/workspaces.ts';
import { toldInPrompt, untold } from '../declarations.ts';
import type { ToolContext, ToolOutcome } from '../tool.ts';
import { awaitEngine, isAbsence } from './await-engine.ts';
import { asOwn, beside, type Extent } from './own-content.ts';

/** What every kennel tool needs first: the containers of this host, and the workspace that is meant. */

export interface Site {
  kennel: Kennel;
  host: string;
  /** folder of the workspaces */
  folder: string;
}
export interface Opened extends Site, FoundWorkspace {}

/** Time limit of an operation on files or on a repository. */
const OP_MS = 120_000;
/** Time limit of every kennel tool: the first one waits until the image is built. */
export const WITH_IMAGE_MS = 20 * MINUTE;

/** Author of what is stored beside the person's history, and of commits that nobody signs. */
export const AUTHOR: Author = { name: 'Fetch', email: 'fetch@localhost' };

const noNull = (text: string): boolean => !text.includes('\0');
/** A text argument. */
export const text = (max: number) => z.string().max(max).refine(noNull, 'must not contain null characters');
export const workspaceArgument = text(100).optional().meta(toldInPrompt('The active one when left out'));
/** The contract has this argument. Consent is a person's answer to a question of the system, never an argument. */
export const confirmArgument = z.boolean().optional().meta(untold('Ignored: the system itself asks the person'));

/** A path argument. The tool gets a relative path; `.` is the workspace itself. */
export const pathArgument = (changes: boolean) =>
  z
    .string()
    .transform((raw, issue) => {
      const checked = checkPath(raw, changes);
      if (checked.ok) return checked.path;
      issue.addIssue({ code: 'custom', message: checked.problem });
      return z.NEVER;
    })
    .meta(toldInPrompt('Relative to the workspace'));

const no = (output: string): ToolOutcome => ({ ok: false, output });
/** A refusal that names no folder which somebody else may have named. */
const ownNo = (output: string): ToolOutcome => ({ ...no(output), ours: true });

/** Longer than a lease takes to be renewed once the database answers. */
const LEASE_WAIT_MS = 10_000;

/** Waits a little for the lease of this host. Without it, another host may be at work in the same folder. */
async function isHeld({ lease, signal }: ToolContext): Promise<boolean> {
  const giveUp = Date.now() + LEASE_WAIT_MS;
  while (lease && !lease.held()) {
    if (Date.now() > giveUp) return false;
    await pause(200, undefined, { signal });
  }
  return true;
}

/** Runs `act` with the containers of this host. An expected failure there becomes a result. */
export async function onSite(context: ToolContext, act: (site: Site) => Promise<ToolOutcome>): Promise<ToolOutcome> {
  const { kennel, host, workspacesFolder: folder } = context;
  if (!kennel || !host || !folder) return ownNo('Workspaces are on a kennel host, and this process is not one.');
  if (!(await isHeld(context)))
    return ownNo(`The host ${host} has lost touch with the database, so nothing was done. Try again when it is back.`);
  try {
    return await act({ kennel, host, folder });
  } catch (error) {
    if (error instanceof KennelUnavailable) return no(error.message);
    if (error instanceof KennelFull)
      return ownNo(`Every slot of this host is taken now: ${error.message} Try again a little later.`);
    throw error;
  }
}

/**
 * Runs `act` in the named workspace, or in the active one, once containers can be started for it. `extent`: what it can
 * read, which tells whether its output is the chat's own.
 */
export const inWorkspace = (
  context: ToolContext,
  wanted: string | undefined,
  act: (at: Opened) => Promise<ToolOutcome>,
  extent?: Extent,
): Promise<ToolOutcome> =>
  opened(context, wanted, (at) =>
    extent ? asOwn(at, context, extent, () => act(at)) : beside(at, context, () => act(at)),
  );

const opened = (
  context: ToolContext,
  wanted: string | undefined,
  act: (at: Opened) => Promise<ToolOutcome>,
): Promise<ToolOutcome> =>
  onSite(context, async (site) => {
    const found = await findWorkspace(context, site, wanted);
    if ('ok' in found) return found;
    await provide(context, site.kennel);
    return await act({ ...site, ...found });
  });

const changes = new KeyedMutex();

/**
 * Like `inWorkspace`, but no other of these tools changes the workspace meanwhile: calls of one model step run in
 * parallel, and two edits of one file must both survive.
 */
export const changeWorkspace = (
  context: ToolContext,
  wanted: string | undefined,
  act: (at: Opened) => Promise<ToolOutcome>,
  extent?: Extent,
): Promise<ToolOutcome> =>
  opened(context, wanted, (at) =>
    inTurnOf(
      at.path,
      () => (extent ? asOwn(at, context, extent, () => act(at)) : beside(at, context, () => act(at))),
      context.signal,
    ),
  );

/** The changes of a workspace, one at a time. */
export const inTurnOf = <T>(path: string, act: () => Promise<T>, signal?: AbortSignal): Promise<T> =>
  changes.run(path, act, signal);

/** The workspace that is meant, or why there is none. */
export async function findWorkspace(
  context: ToolContext,
  site: Site,
  wanted: string | undefined,
): Promise<FoundWorkspace | ToolOutcome> {
  const [found, active, reach] = await Promise.all([
    findWorkspaces(site.folder),
    activeWorkspace(context.db, context.chatId),
    reachOf(context.db, context),
  ]);
  // for this person, a workspace that is not shared with them does not exist
  const within = ({ name }: { name: string }) => reach === null || reach.has(name);
  const [workspaces, leftOut] = [found.workspaces.filter(within), found.leftOut.filter(within)];
  const names = workspaces.map((each) => each.name);
  const named = (name: string | null) => workspaces.find((each) => each.name === name);
  if (wanted === undefined) {
    // a workspace on another host is never guessed: the same name may be another project here
    if (active && within(active) && active.host !== site.host)
      return ownNo(
        `The active workspace ${active.name} is on the host ${active.host}, and this ran on ${site.host}. Try again.`,
      );
    if (active && within(active))
      return (
        named(active.name) ??
        no(
          `The active workspace ${active.name} is not there any more. Select another one.${suggestion(active.name, names)}`,
        )
      );
    if (workspaces.length === 1) return workspaces[0]!;
    // if no workspace can be made, say that instead
    if (workspaces.length === 0) await engineReady(context, site.kennel);
    return workspaces.length === 0
      ? ownNo('There is no workspace yet. One has to be made or brought in first.')
      : no(english('name.noneActive', { all: names.slice(0, 20).join(', ') }));
  }
  const here = named(findName(wanted, names));
  if (here) return here;
  const refused = leftOut.find((each) => each.name === wanted);
  if (refused) return no(`${quoted(wanted)} cannot be used as a workspace: ${refused.why}.`);
  const elsewhere = (await listWorkspaces(context.db)).filter((each) => each.host !== site.host && within(each));
  const other = elsewhere.find((each) => each.name === wanted);
  if (other)
    return no(`The workspace ${other.name} is on the host ${other.host}. Select it first with workspace_select.`);
  return no(
    `${english('name.noWorkspace', { name: quoted(wanted) })}${suggestion(wanted, [...names, ...elsewhere.map((each) => each.name)])}`,
  );
}

/** Waits for an engine that is restarting. Throws KennelUnavailable when there is none. */
async function engineReady(context: ToolContext, kennel: Kennel): Promise<void> {
  let error: unknown;
  const found = await awaitEngine(context, async () => {
    try {
      await kennel.ready();
      return null;
    } catch (thrown) {
      error = thrown;
      const host = (await listHosts(context.db)).find((each) => each.host === context.host);
      return {
        problem: (thrown as Error).message,
        expected: thrown instanceof KennelUnavailable && host?.ready_at != null && host.expected,
      };
    }
  });
  if (isAbsence(found)) throw error;
}

/**
 * Makes sure that containers can be started; with `workspace` in the environment of the repository there. While an
 * image is built for the first time, the screens show the progress. Returns sentences about what the repository asks
 * for and does not get.
 */
export async function provide(context: ToolContext, kennel: Kennel, workspace?: string): Promise<string[]> {
  await engineReady(context, kennel);
  const build = showBuild(context);
  try {
    const { notes } = await kennel.provide('tools', build.tell, context.signal, workspace);
    return notes.map((note) => note(english));
  } finally {
    await build.close();
  }
}

/** Shows the progress of a build on the screens, as output of the call. */
export function showBuild(context: ToolContext): { tell: (line: string) => void; close: () => Promise<void> } {
  let shown: ReturnType<typeof streamOutput> | undefined;
  return {
    tell: (line) => {
      shown ??= streamOutput(context.db, context);
      shown.push(`${line}\n`);
      void context.progress?.(line).catch(() => {});
    },
    close: async () => await shown?.close(),
  };
}

/** Asks the workspace program, within its time limit. */
export async function operate(
  { kennel, path }: Pick<Opened, 'kennel' | 'path'>,
  op: WorkspaceOp,
  { signal }: ToolContext,
): Promise<WorkspaceAnswer> {
  const limit = AbortSignal.timeout(OP_MS);
  try {
    return await kennel.workspaceOp(path, op, { signal: AbortSignal.any([signal, limit]) });
  } catch (error) {
    if (limit.aborted && !signal.aborted)
      return { ok: false, output: `This took longer than ${OP_MS / 1000} s and was stopped.` };
    throw error;
  }
}

/** Turns an answer of the workspace program into a tool's result. */
export const outcomeOf = (
  { ok, output, ours, data }: WorkspaceAnswer,
  { name }: Pick<Opened, 'name'>,
): ToolOutcome => ({
  ok,
  output,
  ...(ours && { ours }),
  metadata: { ...data, workspace: name },
});

/**
 * The evidence of an approval: the change that the operation would make; null when it cannot be worked out, and then
 * the arguments are shown.
 */
export async function previewOf(
  context: ToolContext,
  wanted: string | undefined,
  op: WorkspaceOp,
): Promise<string | null> {
  const shown = await opened(context, wanted, async (at) => outcomeOf(await operate(at, op, context), at));
  return shown.output || null;
}

/** `TypeScript, Vite, npm`; empty when nothing is known. */
export const kindOf = (profile: Profile | null): string[] =>
  profile ? [profile.language, profile.framework, profile.packageManager].filter((each): each is string => !!each) : [];

/** The profile of a workspace; null with the reason when it cannot be read. */
export async function profileOf(at: Opened, context: ToolContext): Promise<{ profile: Profile | null; why: string }> {
  const answer = await operate(at, { op: 'profile' }, context);
  return { profile: answer.ok ? ((answer.data as unknown as Profile | undefined) ?? null) : null, why: answer.output };
}

/** How a part of a project is done, as its person said it or its files do, and how long it took at the last check. */
export async function commandFor(
  part: Exclude<Part, 'install'>,
  at: Opened,
  context: ToolContext,
): Promise<{ argv: string[] | null; ms: number | undefined }> {
  const { said, checked } = await projectProfile(context.db, { host: at.host, workspace: at.name });
  const found = said[part] === undefined ? (await profileOf(at, context)).profile : null;
  return { argv: argvFor(part, found, said), ms: part === 'run' ? undefined : checked?.parts[part]?.ms };
}

/** Why files and branches cannot change while a task works with them. */
export async function atWork({ db }: ToolContext, at: { host: string; name: string }): Promise<ToolOutcome | null> {
  const task = (await tasksIn(db, at)).find((each) => !each.worktree && each.state !== 'queued');
  return task
    ? {
        ok: false,
        output: `The task ${task.id} is working in ${at.name}. Wait for its end, or cancel it first.`,
        ours: true,
        metadata: { taskId: task.id },
      }
    : null;
}

import { endBaseline } from '../adapters/workflows.ts';
import {
  findWorkspaces,
  folderId,
  placeWorkspace,
  stageWorkspace,
  TRASH_DAYS,
  trashWorkspace,
  unstage,
} from '../adapters/workspaces.ts';
import type { Template } from '../contracts/workspace-ops.ts';
import { sameName } from '../domain/tasks/workspace-names.ts';
import { shareWithMakers } from '../store/chats/shares.ts';
import { withdrawCheck } from '../store/kennel/questions/baseline-questions.ts';
import { intentOf, noteIntent } from '../store/kennel/workspaces/call-output.ts';
import { signatureOf } from '../store/kennel/workspaces/signatures.ts';
import { activeWorkspace, forgetWorkspace, selectIfNone, tasksIn } from '../store/kennel/workspaces/workspaces.ts';
import { publishNew } from './github/publish.ts';
import type { ToolContext, ToolOutcome } from './tool.ts';
import { AUTHOR, findWorkspace, type Opened, operate, provide, type Site } from './workspace/in-workspace.ts';
import { noteMade } from './workspace/own-content.ts';
import { about, dataOf, look, stateOf } from './workspace/view.ts';

/** Creating and deleting workspaces. */

interface NewWorkspace {
  name: string;
  template: Template;
  description: string;
  initGit: boolean;
  /** on GitHub, where a token is set */
  publish?: boolean;
}

/**
 * It is made in another folder and moved when complete, so that the folder of workspaces never holds half a workspace.
 */
export async function create(
  context: ToolContext,
  site: Site,
  { name, template, description, initGit, publish = true }: NewWorkspace,
): Promise<ToolOutcome> {
  const { db, chatId } = context;
  const author = (await signatureOf(db, chatId)) ?? AUTHOR;
  const placed = await placeOnce(context, site, name, (staged) =>
    operate(
      { kennel: site.kennel, path: staged },
      { op: 'create', template, name, description, git: initGit, author },
      context,
    ),
  );
  if ('ok' in placed) return placed;
  const at = placed;
  await noteMade(at, context);
  const profile = await look(context, at);
  await shareWithMakers(db, context.turnId, name);
  const active = await selectIfNone(db, chatId, { host: site.host, name });
  const published = initGit && publish && context.config.GH_TOKEN ? await publishNew(context, at, description) : null;
  const lines = [
    `Created ${about(name, profile, initGit ? ['git initialized'] : [])}${active ? '; it is the active workspace' : ''}`,
    ...(published ? [published.output] : []),
  ];
  return {
    ok: true,
    output: lines.join('\n'),
    metadata: { ...dataOf(at, profile), template, active, ...(published?.metadata && { github: published.metadata }) },
  };
}

/**
 * Makes a workspace once: `fill` fills a folder beside the others, which is then moved to its place. A second attempt
 * of the same call finds what the first one placed.
 */
export async function placeOnce(
  context: ToolContext,
  site: Site,
  name: string,
  fill: (staged: string) => Promise<{ ok: boolean; output: string }>,
): Promise<Opened | ToolOutcome> {
  const { db, callId } = context;
  const { workspaces, leftOut } = await findWorkspaces(site.folder);
  const taken = [...workspaces, ...leftOut].find((each) => sameName(each.name, name));
  const intent = await intentOf(db, callId);
  const known = workspaces.find((each) => each.name === name)?.path;
  if (known !== undefined && intent?.placed !== undefined && intent.placed === (await folderId(known)))
    return { ...site, name, path: known };
  if (taken)
    return {
      ok: false,
      output: `There is ${taken.name === name ? 'already something called' : 'already'} ${taken.name} among the workspaces. Choose another name.`,
    };
  await provide(context, site.kennel);
  const staged = await stageWorkspace(site.folder, callId);
  const made = await fill(staged);
  if (!made.ok) {
    await unstage(staged);
    return { ok: false, output: made.output };
  }
  await noteIntent(db, callId, { placed: await folderId(staged) });
  return { ...site, name, path: await placeWorkspace(site.folder, staged, name) };
}

/** Why a workspace cannot be deleted now. */
async function undeletable(
  { db, chatId }: ToolContext,
  at: { host: string; name: string },
): Promise<ToolOutcome | null> {
  const active = await activeWorkspace(db, chatId);
  if (active?.host === at.host && active.name === at.name)
    return {
      ok: false,
      output: `${at.name} is the active workspace and cannot be deleted. Select a different workspace first.`,
    };
  const [task] = await tasksIn(db, at);
  return task
    ? { ok: false, output: `A task in ${at.name} is not over (${task.state}). Cancel it first: ${task.id}.` }
    : null;
}

/** The evidence for the approval of a deletion. */
export async function whatIsLost(context: ToolContext, site: Site, wanted: string): Promise<ToolOutcome> {
  const found = await findWorkspace(context, site, wanted);
  if ('ok' in found) return found;
  const refused = await undeletable(context, { ...site, ...found });
  if (refused) return refused;
  await provide(context, site.kennel);
  const { output } = await stateOf(context, { ...site, ...found });
  return { ok: true, output: `Delete the workspace ${output}\nIt is kept for ${TRASH_DAYS} days.` };
}

/** Moves it to the trash. */
export async function remove(context: ToolContext, site: Site, wanted: string): Promise<ToolOutcome> {
  const { db, callId } = context;
  const intent = await intentOf(db, callId);
  let name = intent?.deletes as string | undefined;
  if (name === undefined) {
    const found = await findWorkspace(context, site, wanted);
    if ('ok' in found) return found;
    const refused = await undeletable(context, { ...site, ...found });
    if (refused) return refused;
    name = found.name;
    await noteIntent(db, callId, { deletes: name });
  }
  for (const app of await site.kennel.apps.list()) if (app.name === name) await site.kennel.apps.stop(app.id);
  const question = await withdrawCheck(db, { host: site.host, workspace: name });
  if (question !== null) await endBaseline(context.temporal, question);
  const kept = await trashWorkspace(site.folder, name, callId);
  await forgetWorkspace(db, site.host, name);
  if (!kept) return { ok: false, output: `The workspace ${name} is not there any more.` };
  return {
    ok: true,
    output: `Deleted workspace ${name}. It is kept for ${TRASH_DAYS} days in the trash beside the workspaces.`,
    metadata: { name, kept },
  };
}

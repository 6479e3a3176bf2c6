import { z } from 'zod';
import { changedAt, findWorkspaces, folderId, placeWorkspace, stageWorkspace, TRASH_DAYS, trashWorkspace, unstage } from '../adapters/workspaces.ts';
import { type Profile, TEMPLATES } from '../contracts/workspace-ops.ts';
import { findName, nameProblem, sameName } from '../domain/workspace-names.ts';
import { intentOf, noteIntent } from '../store/kennel/intents.ts';
import {
  activeWorkspace,
  forgetWorkspace,
  listWorkspaces,
  recordWorkspaces,
  saveWorkspace,
  selectIfNone,
  selectWorkspace,
  tasksIn,
  workspacesOf,
} from '../store/kennel/workspaces.ts';
import { publishNew } from './github.ts';
import {
  AUTHOR,
  confirmArgument,
  findWorkspace,
  inWorkspace,
  kindOf,
  type Opened,
  onSite,
  operate,
  profileOf,
  provide,
  type Site,
  text,
  WITH_IMAGE_MS,
  workspaceArgument,
} from './in-workspace.ts';
import { defineTool, type Tool, type ToolContext, type ToolOutcome } from './tool.ts';

/** The `workspace_*` tools of the contract, but for those that speak to GitHub. */

const common = { effect: 'idempotent', place: 'kennel', timeoutMs: WITH_IMAGE_MS } as const;
/** A list looks into at most so many workspaces that have changed since they were looked into last, so many at a time. */
const FRESH = 12;
const AT_ONCE = 3;

const nameArgument = text(100).describe('Workspace name');
const newName = text(100).superRefine((name, issue) => {
  const problem = nameProblem(name);
  if (problem) issue.addIssue({ code: 'custom', message: problem });
});

export const workspaceTools: Tool[] = [
  defineTool({
    ...common,
    anyHost: true,
    name: 'workspace_list',
    description: 'List all workspaces (projects) with language, branch and which one is active.',
    danger: 'SAFE',
    schema: z.strictObject({}),
    run: (_args, context) => onSite(context, (site) => list(context, site)),
  }),
  defineTool({
    ...common,
    anyHost: true,
    name: 'workspace_select',
    description: 'Make a workspace the active one of this chat: the one that tools and tasks work in when none is named.',
    danger: 'SAFE',
    schema: z.strictObject({ name: nameArgument }),
    run: ({ name }, context) => onSite(context, (site) => select(context, site, name)),
  }),
  defineTool({
    ...common,
    name: 'workspace_status',
    description: 'Show what a workspace is and the state of its git repository.',
    danger: 'SAFE',
    schema: z.strictObject({ name: workspaceArgument }),
    run: ({ name }, context) => inWorkspace(context, name, (at) => status(context, at)),
  }),
  defineTool({
    ...common,
    name: 'workspace_create',
    description:
      'Make a new workspace from a template. Where GH_TOKEN is configured, a private GitHub repository is made for it and the first commit is pushed.',
    danger: 'MODERATE',
    schema: z.strictObject({
      name: newName.describe('Letters, digits, - and _, at most 64'),
      template: z.enum(TEMPLATES).default('empty'),
      description: text(256).default('').describe('What the project is, in a sentence'),
      initGit: z.boolean().default(true).describe('Make a git repository with a first commit'),
    }),
    summarise: (args) => args.template,
    run: (args, context) => onSite(context, (site) => create(context, site, args)),
  }),
  defineTool({
    ...common,
    name: 'workspace_delete',
    description: `Delete a workspace; never the active one. Its folder is kept for ${TRASH_DAYS} days. The system asks the person for consent where that is wanted.`,
    danger: 'DANGEROUS',
    schema: z.strictObject({ name: nameArgument, confirm: confirmArgument }),
    preview: ({ name }, context) => onSite(context, (site) => whatIsLost(context, site, name)).then(({ output }) => output || null),
    run: ({ name }, context) => onSite(context, (site) => remove(context, site, name)),
  }),
];

const countOf = (count: number, one: string): string => `${count} ${one}${count === 1 ? '' : 's'}`;

async function list(context: ToolContext, site: Site): Promise<ToolOutcome> {
  const { db, chatId } = context;
  const { workspaces, leftOut } = await findWorkspaces(site.folder);
  await recordWorkspaces(db, site.host, workspaces);
  const [known, active] = await Promise.all([workspacesOf(db, site.host), activeWorkspace(db, chatId)]);
  const seen = new Map(known.map((row) => [row.name, row]));
  const changed: Opened[] = [];
  for (const each of workspaces) if ((await changedAt(each.path)) > seen.get(each.name)!.seen_at.getTime()) changed.push({ ...site, ...each });
  const trouble = changed.length > 0 ? await refresh(context, changed.slice(0, FRESH)) : null;
  const rows = await listWorkspaces(db);
  const views = rows.map((row) => ({
    name: row.name,
    host: row.host,
    active: active?.name === row.name && active.host === row.host,
    ...(row.profile && { language: row.profile.language, framework: row.profile.framework, packageManager: row.profile.packageManager, git: row.profile.git }),
  }));
  const many = new Set(rows.map((row) => row.host)).size > 1;
  const shown = rows.map((row, at) => {
    const about = [
      ...(views[at]!.active ? ['active'] : []),
      ...(row.profile?.language ? [row.profile.language] : []),
      ...(row.profile?.git?.branch ? [row.profile.git.branch] : []),
      ...(many ? [`on ${row.host}`] : []),
    ];
    return about.length > 0 ? `${row.name} (${about.join(', ')})` : row.name;
  });
  const lines = [
    rows.length === 0 ? 'There are no workspaces yet. workspace_create makes one.' : `${countOf(rows.length, 'workspace')}: ${shown.join(', ')}`,
    ...leftOut.map(({ name, why }) => `Left out: ${JSON.stringify(name)}: ${why}.`),
    ...(trouble ? [trouble] : []),
  ];
  return { ok: true, output: lines.join('\n'), metadata: { workspaces: views, active: active?.name ?? null } };
}

/** Looks into workspaces; a sentence when that could not be done, for a list is worth having without it. */
async function refresh(context: ToolContext, changed: readonly Opened[]): Promise<string | null> {
  try {
    await provide(context, changed[0]!.kennel);
    const queue = [...changed];
    const lane = async () => {
      for (let at = queue.shift(); at; at = queue.shift()) await look(context, at);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, lane));
    return null;
  } catch (error) {
    if (context.signal.aborted) throw error;
    return `Languages and branches may be out of date: ${(error as Error).message}`;
  }
}

/** Takes the profile of a workspace and keeps it. */
async function look(context: ToolContext, at: Opened): Promise<Profile | null> {
  const { profile } = await profileOf(at, context);
  if (profile) await saveWorkspace(context.db, { host: at.host, name: at.name, path: at.path, profile });
  return profile;
}

const about = (name: string, profile: Profile | null, extra: string[] = []): string => {
  const parts = [...kindOf(profile), ...extra];
  return parts.length > 0 ? `${name} (${parts.join(', ')})` : name;
};

const dataOf = ({ name, host, path }: Pick<Opened, 'name' | 'host' | 'path'>, profile: Profile | null): Record<string, unknown> => ({
  id: name,
  name,
  host,
  path,
  profile,
});

async function select(context: ToolContext, site: Site, wanted: string): Promise<ToolOutcome> {
  const { db, chatId } = context;
  const found = await findWorkspace(context, site, wanted);
  if ('ok' in found) {
    // on another host nothing has to run to choose it
    const rows = (await listWorkspaces(db)).filter((row) => row.host !== site.host);
    const other = rows.find((row) => row.name === findName(wanted, new Set(rows.map((each) => each.name))));
    if (!other) return found;
    await selectWorkspace(db, chatId, other);
    return { ok: true, output: `Switched to ${about(other.name, other.profile, [`on the host ${other.host}`])}`, metadata: dataOf(other, other.profile) };
  }
  await selectWorkspace(db, chatId, { host: site.host, name: found.name });
  const at = { ...site, ...found };
  // choosing must work while no engine does
  const trouble = await refresh(context, [at]);
  const profile = (await workspacesOf(db, site.host)).find((row) => row.name === at.name)?.profile ?? null;
  const branch = profile?.git?.branch;
  return {
    ok: true,
    output: [`Switched to ${about(at.name, profile, branch ? [`on ${branch}`] : [])}`, ...(trouble ? [trouble] : [])].join('\n'),
    metadata: dataOf(at, profile),
  };
}

async function status(context: ToolContext, at: Opened): Promise<ToolOutcome> {
  const { profile, why } = await profileOf(at, context);
  if (!profile) return { ok: false, output: why };
  await saveWorkspace(context.db, { host: at.host, name: at.name, path: at.path, profile });
  const { git } = profile;
  const tasks = await tasksIn(context.db, at);
  const changes = git
    ? [...(git.modified > 0 ? [`${git.modified} modified`] : []), ...(git.untracked > 0 ? [`${git.untracked} untracked`] : [])].join(', ')
    : '';
  const parts = [
    about(at.name, profile),
    ...(git
      ? [
          git.branch ? `on ${git.branch}` : git.head ? `detached at ${git.head.slice(0, 7)}` : 'no commit yet',
          changes || 'clean',
          ...(git.ahead > 0 ? [`${git.ahead} ahead`] : []),
          ...(git.behind > 0 ? [`${git.behind} behind`] : []),
        ]
      : ['no git repository']),
    ...tasks.map((task) => `task ${task.id} ${task.state}`),
  ];
  return { ok: true, output: parts.join(' - '), metadata: { ...dataOf(at, profile), tasks } };
}

interface NewWorkspace {
  name: string;
  template: (typeof TEMPLATES)[number];
  description: string;
  initGit: boolean;
}

/** Made beside its place and moved there when it is complete: what is in the folder is never half of a workspace. */
async function create(context: ToolContext, site: Site, { name, template, description, initGit }: NewWorkspace): Promise<ToolOutcome> {
  const { db, callId, chatId } = context;
  const { workspaces, leftOut } = await findWorkspaces(site.folder);
  const taken = [...workspaces, ...leftOut].find((each) => sameName(each.name, name));
  const intent = await intentOf(db, callId);
  let path = workspaces.find((each) => each.name === name)?.path;
  const mine = path !== undefined && intent?.placed !== undefined && intent.placed === (await folderId(path));
  if (taken && !mine)
    return {
      ok: false,
      output: `There is ${taken.name === name ? 'already something called' : 'already'} ${taken.name} among the workspaces. Choose another name.`,
    };
  if (!mine || path === undefined) {
    await provide(context, site.kennel);
    const staged = await stageWorkspace(site.folder, callId);
    const made = await operate({ kennel: site.kennel, path: staged }, { op: 'create', template, name, description, git: initGit, author: AUTHOR }, context);
    if (!made.ok) {
      await unstage(staged);
      return { ok: false, output: made.output };
    }
    await noteIntent(db, callId, { placed: await folderId(staged) });
    path = await placeWorkspace(site.folder, staged, name);
  }
  const at: Opened = { ...site, name, path };
  const profile = await look(context, at);
  const active = await selectIfNone(db, chatId, { host: site.host, name });
  const published = initGit && context.config.GH_TOKEN ? await publishNew(context, at, description) : null;
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

/** Why a workspace cannot be deleted now. */
async function undeletable({ db, chatId }: ToolContext, at: { host: string; name: string }): Promise<ToolOutcome | null> {
  const active = await activeWorkspace(db, chatId);
  if (active?.host === at.host && active.name === at.name)
    return { ok: false, output: `${at.name} is the active workspace and cannot be deleted. Select a different workspace first.` };
  const [task] = await tasksIn(db, at);
  return task ? { ok: false, output: `The task ${task.id} in ${at.name} is not over (${task.state}). Cancel it first.` } : null;
}

async function whatIsLost(context: ToolContext, site: Site, wanted: string): Promise<ToolOutcome> {
  const found = await findWorkspace(context, site, wanted);
  if ('ok' in found) return found;
  const refused = await undeletable(context, { ...site, ...found });
  if (refused) return refused;
  await provide(context, site.kennel);
  const { output } = await status(context, { ...site, ...found });
  return { ok: true, output: `Delete the workspace ${output}\nIt is kept for ${TRASH_DAYS} days.` };
}

async function remove(context: ToolContext, site: Site, wanted: string): Promise<ToolOutcome> {
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
  const kept = await trashWorkspace(site.folder, name, callId);
  await forgetWorkspace(db, site.host, name);
  if (!kept) return { ok: false, output: `The workspace ${name} is not there any more.` };
  return {
    ok: true,
    output: `Deleted workspace ${name}. Until ${TRASH_DAYS} days from now it can be had back by moving ${kept} to its place again.`,
    metadata: { name, kept },
  };
}

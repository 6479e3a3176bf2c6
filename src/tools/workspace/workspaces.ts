import { z } from 'zod';
import { changedAt, findWorkspaces, identified, TRASH_DAYS } from '../../adapters/workspaces.ts';
import { TEMPLATES } from '../../contracts/workspace-ops.ts';
import { findName, nameProblem } from '../../domain/tasks/workspace-names.ts';
import { reachOf } from '../../store/chats/shares.ts';
import {
  activeWorkspace,
  listWorkspaces,
  recordWorkspaces,
  selectWorkspace,
  workspacesOf,
} from '../../store/kennel/workspaces/workspaces.ts';
import { defineTool, named, type Tool, type ToolContext, type ToolOutcome } from '../tool.ts';
import { create, remove, whatIsLost } from '../workspace-changes.ts';
import {
  confirmArgument,
  findWorkspace,
  inWorkspace,
  type Opened,
  onSite,
  provide,
  type Site,
  text,
  WITH_IMAGE_MS,
  workspaceArgument,
} from './in-workspace.ts';
import { asOwn } from './own-content.ts';
import { about, dataOf, look, status } from './view.ts';

/** The `workspace_*` tools of the contract, except those that use GitHub. */

const common = { effect: 'idempotent', runsIn: 'kennel', timeoutMs: WITH_IMAGE_MS } as const;
/** How many changed workspaces a list reads again, and how many at a time. */
const FRESH = 12;
const AT_ONCE = 3;

const nameArgument = text(100);
const newName = text(100).superRefine((name, issue) => {
  const problem = nameProblem(name);
  if (problem) issue.addIssue({ code: 'custom', message: problem });
});

export const workspaceTools: Tool[] = [
  defineTool({
    ...common,
    anyHost: true,
    name: 'workspace_list',
    family: 'core',
    reads: ['command'],
    sends: [],
    description: 'List the workspaces (projects) with language and branch, and which one is active.',
    danger: 'SAFE',
    schema: z.strictObject({}),
    run: (_args, context) => onSite(context, (site) => list(context, site)),
  }),
  defineTool({
    ...common,
    anyHost: true,
    name: 'workspace_select',
    family: 'core',
    reads: ['command'],
    sends: [],
    description: 'Make a workspace the active one of this chat.',
    danger: 'SAFE',
    schema: z.strictObject({ name: nameArgument }),
    run: ({ name }, context) => onSite(context, (site) => select(context, site, name)),
  }),
  defineTool({
    ...common,
    name: 'workspace_status',
    family: 'workspaces',
    reads: ['command'],
    sends: [],
    description:
      'Show what a workspace is, its git state, and the hosts that tasks there may reach. Only the person changes those: "egress remove HOST" takes one back.',
    danger: 'SAFE',
    schema: z.strictObject({ name: workspaceArgument }),
    run: ({ name }, context) => inWorkspace(context, name, (at) => status(context, at), {}),
  }),
  defineTool({
    ...common,
    name: 'workspace_create',
    family: 'workspaces',
    reads: [],
    // when GH_TOKEN is set, a repository is created there
    sends: ['publish'],
    sent: (args) => ({ texts: [args.name, args.description] }),
    description:
      'Make a new workspace from a template. With GH_TOKEN configured it gets a private GitHub repository with the first commit.',
    danger: 'MODERATE',
    schema: z.strictObject({
      name: newName.describe('Letters, digits, - and _, at most 64'),
      template: z.enum(TEMPLATES).default('empty'),
      description: text(256).default(''),
      initGit: z.boolean().default(true),
    }),
    summarise: (args) => args.template,
    workspaceOf: (args) => args.name,
    inQuestion: ['name'],
    asks: (args, _, say) => say('ask.makeWorkspace', { name: named(args.name) }),
    run: (args, context) => onSite(context, (site) => create(context, site, args)),
  }),
  defineTool({
    ...common,
    name: 'workspace_delete',
    family: 'workspaces',
    reads: [],
    sends: ['delete'],
    description: `Delete a workspace, but not the active one. Its folder is kept for ${TRASH_DAYS} days.`,
    danger: 'DANGEROUS',
    schema: z.strictObject({ name: nameArgument, confirm: confirmArgument }),
    preview: ({ name }, context) =>
      onSite(context, (site) => whatIsLost(context, site, name)).then(({ output }) => output || null),
    workspaceOf: (args) => args.name,
    asks: (args, _, say) => say('ask.deleteWorkspace', { name: named(args.name) }),
    run: ({ name }, context) => onSite(context, (site) => remove(context, site, name)),
  }),
];

const countOf = (count: number, one: string): string => `${count} ${one}${count === 1 ? '' : 's'}`;

async function list(context: ToolContext, site: Site): Promise<ToolOutcome> {
  const { db, chatId } = context;
  const { workspaces, leftOut } = await findWorkspaces(site.folder);
  await recordWorkspaces(db, site.host, await identified(workspaces));
  const [known, active] = await Promise.all([workspacesOf(db, site.host), activeWorkspace(db, chatId)]);
  const seen = new Map(known.map((row) => [row.name, row]));
  const changed: Opened[] = [];
  for (const each of workspaces)
    if ((await changedAt(each.path)) > seen.get(each.name)!.seen_at.getTime()) changed.push({ ...site, ...each });
  const trouble = changed.length > 0 ? await refresh(context, changed.slice(0, FRESH)) : null;
  const reach = await reachOf(db, context);
  const rows = (await listWorkspaces(db)).filter(({ name }) => reach === null || reach.has(name));
  const views = rows.map((row) => ({
    name: row.name,
    host: row.host,
    active: active?.name === row.name && active.host === row.host,
    ...(row.profile && {
      language: row.profile.language,
      framework: row.profile.framework,
      packageManager: row.profile.packageManager,
      git: row.profile.git,
    }),
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
    rows.length === 0
      ? 'There are no workspaces yet. workspace_create makes one.'
      : `${countOf(rows.length, 'workspace')}: ${shown.join(', ')}`,
    ...(reach === null ? leftOut : []).map(({ name, why }) => `Left out: ${JSON.stringify(name)}: ${why}.`),
    ...(trouble ? [trouble] : []),
  ];
  return {
    ok: true,
    output: lines.join('\n'),
    metadata: { workspaces: views, active: rows.some(({ name }) => name === active?.name) ? active!.name : null },
  };
}

/** Reads the profiles of workspaces again. Returns a sentence when that failed, because a list is useful without it. */
async function refresh(context: ToolContext, changed: readonly Opened[]): Promise<string | null> {
  try {
    // a list must not wait for an engine
    await changed[0]!.kennel.ready();
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

async function select(context: ToolContext, site: Site, wanted: string): Promise<ToolOutcome> {
  const { db, chatId } = context;
  const found = await findWorkspace(context, site, wanted);
  if ('ok' in found) {
    // nothing has to run on another host to select its workspace
    const reach = await reachOf(db, context);
    const rows = (await listWorkspaces(db)).filter(
      (row) => row.host !== site.host && (reach === null || reach.has(row.name)),
    );
    const other = rows.find((row) => row.name === findName(wanted, new Set(rows.map((each) => each.name))));
    if (!other) return found;
    await selectWorkspace(db, chatId, other);
    return {
      ok: true,
      output: `Switched to ${about(other.name, other.profile, [`on the host ${other.host}`])}`,
      metadata: dataOf(other, other.profile),
    };
  }
  await selectWorkspace(db, chatId, { host: site.host, name: found.name });
  const at = { ...site, ...found };
  // selecting must work without an engine
  const trouble = await refresh(context, [at]);
  return trouble === null
    ? await asOwn(at, context, {}, () => selected(context, at, null))
    : await selected(context, at, trouble);
}

/** The result of selecting a workspace. `trouble`: why that may be out of date. */
async function selected({ db }: ToolContext, at: Opened, trouble: string | null): Promise<ToolOutcome> {
  const profile = (await workspacesOf(db, at.host)).find((row) => row.name === at.name)?.profile ?? null;
  const branch = profile?.git?.branch;
  return {
    ok: true,
    output: [
      `Switched to ${about(at.name, profile, branch ? [`on ${branch}`] : [])}`,
      ...(trouble ? [trouble] : []),
    ].join('\n'),
    metadata: dataOf(at, profile),
  };
}

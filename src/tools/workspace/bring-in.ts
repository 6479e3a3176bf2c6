import { homedir } from 'node:os';
import { z } from 'zod';
import { cloneInto, fetchableAddress, isFolder } from '../../adapters/github/clone.ts';
import { nameFrom, pastedPath } from '../../domain/chat/words/bring-in.ts';
import { nameProblem } from '../../domain/tasks/workspace-names.ts';
import { visibleLine } from '../../domain/text/evidence.ts';
import { reachOf } from '../../store/chats/shares.ts';
import { selectWorkspace } from '../../store/kennel/workspaces/workspaces.ts';
import { defineTool, type Tool, type ToolContext, type ToolOutcome } from '../tool.ts';
import { placeOnce } from '../workspace-changes.ts';
import { printed } from './command-text.ts';
import { onSite, type Site, text, WITH_IMAGE_MS } from './in-workspace.ts';
import { about, dataOf, look } from './view.ts';

/** `workspace_clone`: brings in a project that exists already, from a server or from a folder of the host. */

const no = (output: string): ToolOutcome => ({ ok: false, output });
const OWNERS_ONLY = 'Only the owner brings in projects.';
const isPath = (from: string): boolean => pastedPath(from) !== null;

export const bringInTools: Tool[] = [
  defineTool({
    name: 'workspace_clone',
    family: 'workspaces',
    effect: 'idempotent',
    runsIn: 'kennel',
    timeoutMs: WITH_IMAGE_MS,
    anyHost: true,
    reads: ['command'],
    sends: ['fetch'],
    sent: ({ from }) => ({ urls: [from] }),
    // what is in the folder can be read in containers from then on
    asksAlways: ({ from }) => isPath(from),
    ownersOnly: OWNERS_ONLY,
    notARoutineStep: true,
    description: 'Make a workspace from an existing git repository or folder, which itself is not changed.',
    danger: 'MODERATE',
    schema: z.strictObject({
      from: text(1_000).trim().min(1).describe('https address, or absolute path of a folder on this machine'),
      name: text(100).optional().describe('Of the workspace; made from the address when left out'),
    }),
    workspaceOf: ({ from, name }) => name ?? nameFrom(from) ?? undefined,
    asks: ({ from }) =>
      isPath(from)
        ? `Copy the repository ${visibleLine(from)} into a workspace, where tasks can read all of it?`
        : `Clone ${visibleLine(from)} into a workspace?`,
    run: (args, context) => onSite(context, (site) => bringIn(context, site, args)),
  }),
];

async function bringIn(
  context: ToolContext,
  site: Site,
  { from: wanted, name: named }: { from: string; name?: string },
): Promise<ToolOutcome> {
  const { config, db, chatId, signal } = context;
  if ((await reachOf(db, context)) !== null) return no(OWNERS_ONLY);
  const path = pastedPath(wanted);
  const from = path ? path.replace(/^~(?=\/)/, homedir()) : fetchableAddress(wanted, config.GITHUB_API_URL);
  if (from === null)
    return no(
      `${visibleLine(wanted)} cannot be cloned from here: give the https address, without a password in it. What only ssh reaches, clone yourself; then say: open FOLDER.`,
    );
  if (isFolder(from) && `${from}/`.startsWith(`${site.folder}/`))
    return no(`${from} is among the workspaces already: select it by its name.`);
  const name = named ?? nameFrom(from);
  const problem = name === null ? 'No name can be made from it.' : nameProblem(name);
  if (name === null || problem) return no(`${problem} Give one: clone … as NAME, or open … as NAME.`);
  const placed = await placeOnce(context, site, name, async (staged) => {
    const cloned = await cloneInto({
      from,
      into: staged,
      token: config.GH_TOKEN,
      apiUrl: config.GITHUB_API_URL,
      signal,
    });
    return cloned.ok ? await checkOut(site, staged, signal) : { ok: false, output: cloned.why };
  });
  if ('ok' in placed) return placed;
  const profile = await look(context, placed);
  await selectWorkspace(db, chatId, { host: site.host, name });
  const branch = profile?.git?.branch;
  const copy = `It is a copy: ${from} is not changed. What is not committed there is not in it. "git pull ${placed.path}" there brings in what is done here.`;
  const lines = [
    `Brought in ${about(name, profile, branch ? [`on ${branch}`] : [])}; it is the active workspace. Folder: ${placed.path}`,
    ...(isFolder(from) ? [copy] : []),
  ];
  return { ok: true, output: lines.join('\n'), metadata: { ...dataOf(placed, profile), from } };
}

/** Writes the files of a new clone, in a container. A repository without a commit has none. */
async function checkOut({ kennel }: Site, path: string, signal: AbortSignal): Promise<{ ok: boolean; output: string }> {
  const script = 'if "$@" rev-parse --quiet --verify HEAD >/dev/null; then "$@" checkout --quiet; fi';
  const result = await kennel.command({
    workspace: path,
    argv: [
      'bash',
      '-ec',
      script,
      'checkout',
      'git',
      '-c',
      'safe.directory=*',
      '-c',
      'core.hooksPath=/dev/null',
      '-c',
      'core.fsmonitor=false',
    ],
    timeoutMs: WITH_IMAGE_MS / 2,
    maxOutput: 4096,
    label: 'git-checkout',
    signal,
  });
  if (result.code === 0) return { ok: true, output: '' };
  return { ok: false, output: `Its files could not be checked out: ${printed(result.stderr).trim().slice(-500)}` };
}

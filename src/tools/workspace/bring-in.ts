import { homedir } from 'node:os';
import { z } from 'zod';
import { cloneInto, fetchableAddress, folderProblem, isFolder } from '../../adapters/github/clone.ts';
import { parseRemote, webHost } from '../../adapters/github/remote.ts';
import { findRepository } from '../../adapters/github/repositories.ts';
import { startBaseline } from '../../adapters/workflows.ts';
import type { Profile } from '../../contracts/workspace-ops.ts';
import { nameFrom, pastedPath } from '../../domain/chat/words/bring-in.ts';
import { nameProblem } from '../../domain/tasks/workspace-names.ts';
import { visibleLine } from '../../domain/text/evidence.ts';
import { inline } from '../../domain/text/foreign-text.ts';
import { english } from '../../domain/texts/say.ts';
import { MINUTE } from '../../domain/time.ts';
import { reachOf } from '../../store/chats/shares.ts';
import { channelOfChat } from '../../store/chats/threads/threads.ts';
import { beginProfile } from '../../store/kennel/workspaces/project-profiles.ts';
import { selectWorkspace } from '../../store/kennel/workspaces/workspaces.ts';
import { defineTool, type Tool, type ToolContext, type ToolOutcome } from '../tool.ts';
import { placeOnce } from '../workspace-changes.ts';
import { printed } from './command-text.ts';
import { type Opened, onSite, type Site, text, WITH_IMAGE_MS } from './in-workspace.ts';
import { about, dataOf, look } from './view.ts';

/** `workspace_clone`: brings in a project that exists already, from a server or from a folder of the host. */

/** How long GitHub may take to say whether a repository is archived. */
const ARCHIVED_MS = 5_000;

const no = (output: string): ToolOutcome => ({ ok: false, output });
const OWNERS_ONLY = 'Only the owner brings in projects.';
const atHome = (path: string): string => path.replace(/^~(?=\/)/, homedir());
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
    asks: ({ from }, _, say) => say(isPath(from) ? 'ask.copy' : 'ask.clone', { from: visibleLine(from) }),
    inQuestion: ['from'],
    // before a yes, not after it
    preview: async ({ from }) => {
      const path = pastedPath(from);
      return path ? await folderProblem(atHome(path)) : null;
    },
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
  const from = path ? atHome(path) : fetchableAddress(wanted, config.GITHUB_API_URL);
  if (from === null)
    return no(
      `${visibleLine(wanted)} cannot be cloned from here: give the https address, without a password in it. What only ssh reaches, clone yourself; then say: open FOLDER.`,
    );
  if (isFolder(from) && `${from}/`.startsWith(`${site.folder}/`))
    return no(`${from} is among the workspaces already: select it by its name.`);
  const name = named ?? nameFrom(from);
  const problem = name === null ? 'No name can be made from it.' : nameProblem(name);
  if (name === null || problem) return no(`${problem} ${english('name.bringAs')}`);
  // of the first attempt: a later one finds the workspace made
  let lacks: string[] = [];
  const placed = await placeOnce(context, site, name, async (staged) => {
    const cloned = await cloneInto({
      from,
      into: staged,
      token: config.GH_TOKEN,
      apiUrl: config.GITHUB_API_URL,
      signal,
    });
    if (!cloned.ok) return { ok: false, output: cloned.why };
    const checkedOut = await checkOut(site, staged, signal);
    lacks = checkedOut.lacks;
    return checkedOut;
  });
  if ('ok' in placed) return placed;
  const profile = await look(context, placed);
  await selectWorkspace(db, chatId, { host: site.host, name });
  const isChecked = await beginCheck(context, placed, profile);
  const branch = profile?.git?.branch;
  const copy = `It is a copy: ${from} is not changed. "git pull ${placed.path}" there brings in what is done here.`;
  const more = isFolder(from) ? [copy, await uncommittedIn(site, from, signal)] : [await archivedNote(context, from)];
  const lines = [
    `Brought in ${about(name, profile, branch ? [`on ${branch}`] : [])}; it is the active workspace. Folder: ${placed.path}`,
    ...more.filter(Boolean),
    ...lacks,
    ...(isChecked ? ['Next I find out, on a copy, what of it is green.'] : []),
  ];
  return { ok: true, output: lines.join('\n'), metadata: { ...dataOf(placed, profile), from } };
}

/**
 * Has it installed and tested once, before anything is changed in it. False where its files name nothing to do, and
 * where no check can begin now: then one is made beside a task.
 */
async function beginCheck(
  { db, temporal, config, chatId, callId }: ToolContext,
  { host, name }: Opened,
  profile: Profile | null,
): Promise<boolean> {
  await beginProfile(db, { host, workspace: name });
  if (!profile?.install && !profile?.build && !profile?.test) return false;
  const channel = await channelOfChat(db, chatId);
  return await startBaseline(temporal, config, { host, workspace: name, chatId, channel, asks: true, by: callId }).then(
    () => true,
    () => false,
  );
}

/** For git in a container, where the folder may belong to another user. */
const GIT = ['git', '-c', 'safe.directory=*', '-c', 'core.hooksPath=/dev/null', '-c', 'core.fsmonitor=false'];
const NAMES_SHOWN = 5;
/** Prints how many names end in NUL on standard input, and the first of them. */
const LISTED = `listed() { cat >/tmp/listed; tr -dc '\\0' </tmp/listed | wc -c | tr '\\n' '\\0'; head -z -n ${NAMES_SHOWN} /tmp/listed; }`;
const CHECK_OUT = [
  'if "$@" rev-parse --quiet --verify HEAD >/dev/null; then "$@" checkout --quiet >&2; fi',
  LISTED,
  `"$@" ls-files --stage -z | sed -z -n 's/^160000 [^\\t]*\\t//p' | listed`,
  `{ "$@" grep -Ilz --cached -e '^version https://git-lfs.github.com/spec/v1$' -- ':(attr:filter=lfs)' || :; } | listed`,
].join('\n');
const UNCOMMITTED = [
  'set -o pipefail',
  LISTED,
  '"$@" --no-optional-locks status --porcelain -z --no-renames | sed -z "s/^...//" | listed',
].join('\n');

interface Listed {
  count: number;
  /** "a.txt, b.txt and 3 more" */
  names: string;
}

/** Reads what `listed` has printed, once or several times. */
function listedIn(output: string): Listed[] {
  const fields = output.split('\0').slice(0, -1);
  const lists: Listed[] = [];
  for (let at = 0; at < fields.length; ) {
    const count = Number(fields[at]) || 0;
    const shown = fields.slice(at + 1, at + 1 + Math.min(count, NAMES_SHOWN)).map((name) => inline(name, 100));
    at += 1 + shown.length;
    lists.push({ count, names: shown.join(', ') + (count > shown.length ? ` and ${count - shown.length} more` : '') });
  }
  return lists;
}

/** Writes the files of a new clone, in a container. A repository without a commit has none. */
async function checkOut(
  { kennel }: Site,
  path: string,
  signal: AbortSignal,
): Promise<{ ok: boolean; output: string; lacks: string[] }> {
  const result = await kennel.command({
    workspace: path,
    argv: ['bash', '-ec', CHECK_OUT, 'checkout', ...GIT],
    timeoutMs: WITH_IMAGE_MS / 2,
    maxOutput: 64 * 1024,
    label: 'git-checkout',
    signal,
  });
  if (result.code !== 0) {
    const why = printed(result.stderr).trim().slice(-500);
    return { ok: false, output: `Its files could not be checked out: ${why}`, lacks: [] };
  }
  const [modules, large] = listedIn(result.stdout);
  return {
    ok: true,
    output: '',
    lacks: [
      ...(modules?.count
        ? [
            `Its submodules are empty: ${modules.names}. A task can fetch them with git submodule update --init, once you allow their hosts.`,
          ]
        : []),
      ...(large?.count
        ? [
            `The content of files in Git LFS is not in it, only what points to it: ${large.names}. Copy the files into the workspace from a clone of your own.`,
          ]
        : []),
    ],
  };
}

/**
 * What a folder has that its copy does not. Git looks at it in a container, because settings of a repository can run
 * programs.
 */
async function uncommittedIn({ kennel }: Site, folder: string, signal: AbortSignal): Promise<string> {
  const looked = await kennel
    .command({
      workspace: folder,
      readOnly: true,
      argv: ['bash', '-ec', UNCOMMITTED, 'status', ...GIT],
      timeoutMs: MINUTE,
      maxOutput: 64 * 1024,
      label: 'git-status',
      signal,
    })
    .catch(() => null);
  signal.throwIfAborted();
  const [work] = looked?.code === 0 && looked.stderr === '' ? listedIn(looked.stdout) : [];
  if (!work) return 'What is not committed there is not in it.';
  if (work.count === 0) return '';
  return `Work that is not committed there is not in it: ${work.names}. Commit it there and open the folder again to bring it in.`;
}

/** GitHub takes no push to an archived repository. Says nothing where GitHub cannot be asked. */
async function archivedNote({ config, signal }: ToolContext, from: string): Promise<string> {
  const name = parseRemote(from, webHost(config.GITHUB_API_URL));
  if (!name) return '';
  const access = { token: config.GH_TOKEN, apiUrl: config.GITHUB_API_URL };
  const found = await findRepository(
    { ...access, signal: AbortSignal.any([signal, AbortSignal.timeout(ARCHIVED_MS)]) },
    name,
  ).catch(() => null);
  signal.throwIfAborted();
  return found?.archived ? 'It is archived on GitHub: nothing can be pushed to it.' : '';
}

import { HANDED_OVER, type SessionBundle } from '../../adapters/sessions/bundle.ts';
import { findWorkspaces } from '../../adapters/workspaces.ts';
import { nameFrom } from '../../domain/chat/words/bring-in.ts';
import { nameProblem } from '../../domain/tasks/workspace-names.ts';
import { visibleLine } from '../../domain/text/evidence.ts';
import { inline } from '../../domain/text/foreign-text.ts';
import { COMMIT_MARK, SecretScan } from '../../domain/text/secrets.ts';
import { MINUTE } from '../../domain/time.ts';
import { reachOf } from '../../store/chats/shares.ts';
import type { Task } from '../../store/kennel/tasks/tasks.ts';
import { activeWorkspace, selectIfNone } from '../../store/kennel/workspaces/workspaces.ts';
import { GIT, WITHOUT_FILTERS } from '../github/bundle.ts';
import type { ToolContext, ToolOutcome } from '../tool.ts';
import { printed } from '../workspace/command-text.ts';
import { findWorkspace, type Opened, provide, type Site } from '../workspace/in-workspace.ts';
import { look } from '../workspace/view.ts';
import { placeOnce } from '../workspace-changes.ts';

/** The commits of a session that moves: to the workspace that has those before them, and out of it. */

const LIMIT_MS = 5 * MINUTE;
/** In base64. */
const MOST_WORK = 64 * 1024 * 1024;

const no = (output: string): ToolOutcome => ({ ok: false, output });

/** Exits with 0 when all of the commits are there. */
const HAS =
  'commits=$1; shift; for commit in $commits; do "$@" cat-file -e "$commit^{commit}" 2>/dev/null || exit 31; done';

/**
 * The workspace with the commits that a session began on: the named one, the active one, or any other. A repository
 * that comes whole, because it has no remote, becomes a workspace of its own.
 */
export async function workspaceFor(
  context: ToolContext,
  site: Site,
  bundle: SessionBundle,
  wanted: string | undefined,
): Promise<Opened | ToolOutcome> {
  const { db, chatId } = context;
  const project = inline(bundle.project, 100);
  await provide(context, site.kennel);
  if (wanted !== undefined) {
    const named = await findWorkspace(context, site, wanted);
    if ('ok' in named) return named;
    if (await hasCommits(context, { ...site, ...named }, bundle)) return { ...site, ...named };
    return no(`${named.name} is another project, or older: it does not have the commits that this session began on.`);
  }
  const [{ workspaces }, active, reach] = await Promise.all([
    findWorkspaces(site.folder),
    activeWorkspace(db, chatId),
    reachOf(db, context),
  ]);
  const name = nameFrom(bundle.project);
  const rank = (each: string) => (each === active?.name ? 0 : each === name ? 1 : 2);
  const within = workspaces.filter((each) => reach === null || reach.has(each.name));
  for (const found of within.sort((one, other) => rank(one.name) - rank(other.name)))
    if (bundle.needs.length > 0 && (await hasCommits(context, { ...site, ...found }, bundle)))
      return { ...site, ...found };
  if (bundle.needs.length > 0)
    return no(
      `No project here has the commits that this session of ${project} began on. ${bundle.remote ? `Say \`clone ${visibleLine(bundle.remote)}\`` : 'Bring it in'}, then \`take\` again.`,
    );
  if (bundle.work === null || name === null || nameProblem(name))
    return no('It comes from a folder whose name cannot be that of a project. Give the folder another one.');
  const placed = await placeOnce(context, site, name, (staged) => makeRepository(context, site, staged, bundle));
  if ('ok' in placed) return placed;
  await look(context, placed);
  await selectIfNone(db, chatId, { host: site.host, name });
  return placed;
}

async function hasCommits({ signal }: ToolContext, at: Opened, { needs }: SessionBundle): Promise<boolean> {
  const { code } = await at.kennel.command({
    workspace: at.path,
    readOnly: true,
    argv: ['bash', '-c', HAS, 'has', needs.join(' '), ...GIT],
    timeoutMs: LIMIT_MS,
    maxOutput: 4096,
    label: 'git-has',
    signal,
  });
  return code === 0;
}

/** `$1` a branch to make, `$2` its commit; the bundle comes in base64. What is fetched is checked object by object. */
const FETCH = `
branch=$1 tip=$2; shift 2
base64 -d >/tmp/handed-over
if [ -s /tmp/handed-over ]; then
  heads=$("$@" bundle list-heads /tmp/handed-over) || exit 32
  [ "$heads" = "$tip ${HANDED_OVER}" ] || exit 33
  "$@" -c transfer.fsckObjects=true fetch --quiet --no-tags --no-write-fetch-head --no-auto-maintenance --no-recurse-submodules /tmp/handed-over "${HANDED_OVER}:refs/heads/$branch"
else
  "$@" update-ref "refs/heads/$branch" "$tip"
fi
`.trim();

/** The same for a folder that is no repository yet: its files are written as well. */
const MAKE = `
"$@" init --quiet --template= .
branch=$FETCH_BRANCH tip=$FETCH_TIP
set -- fetch-work "$tip" "$@"
${FETCH}
${WITHOUT_FILTERS}
from=$tip
if [ -n "$FETCH_UNFINISHED" ]; then from=$("$@" rev-parse --verify "$tip^") || from=$tip; fi
"$@" symbolic-ref HEAD "refs/heads/$FETCH_BRANCH"
"$@" reset --quiet --hard "$from"
"$@" branch --quiet -D fetch-work
`.trim();

/** Prints every line that the work adds. */
const SHOW = `
tip=$1 needs=$2; shift 2
"$@" log "--format=${COMMIT_MARK}%H" -p -c -U0 --text --no-renames --no-color --no-ext-diff --no-textconv "$tip" --not $needs
`.trim();

async function makeRepository(
  { signal }: ToolContext,
  { kennel }: Site,
  staged: string,
  { branch, tip, unfinished, work }: SessionBundle,
): Promise<{ ok: boolean; output: string }> {
  const made = await kennel.command({
    workspace: staged,
    argv: ['bash', '-ec', MAKE, 'make', ...GIT],
    env: { FETCH_BRANCH: branch ?? 'main', FETCH_TIP: tip, FETCH_UNFINISHED: unfinished ? 'yes' : '' },
    stdin: work ?? '',
    timeoutMs: LIMIT_MS,
    maxOutput: 64 * 1024,
    label: 'git-make',
    signal,
  });
  return made.code === 0 ? { ok: true, output: '' } : broken(made);
}

const broken = ({ code, stderr }: { code: number | null; stderr: string }): ToolOutcome =>
  no(
    code === 33
      ? 'This is no session to go on with: its work is another one than it says.'
      : `Its work could not be brought in: ${inline(printed(stderr).trim().slice(-300)) || 'it is damaged'}.`,
  );

/** Makes a branch of the work in a workspace. A second call finds it made. */
export async function bringWork(
  { signal }: ToolContext,
  { kennel, path }: Opened,
  { tip, needs, work }: SessionBundle,
  branch: string,
): Promise<ToolOutcome> {
  const common = { workspace: path, timeoutMs: LIMIT_MS, signal };
  const fetched = await kennel.command({
    ...common,
    argv: ['bash', '-ec', FETCH, 'fetch', branch, tip, ...GIT],
    stdin: work ?? '',
    maxOutput: 64 * 1024,
    label: 'git-fetch-session',
  });
  if (fetched.code !== 0) return broken(fetched);
  const scan = new SecretScan([]);
  const shown = await kennel.command({
    ...common,
    readOnly: true,
    argv: ['bash', '-ec', SHOW, 'show', tip, needs.join(' '), ...GIT],
    maxOutput: 4096,
    label: 'git-scan-session',
    onOutput: (stream, text) => {
      if (stream === 'stdout') scan.push(text);
    },
  });
  const [found] = scan.end();
  if (shown.code === 0 && !found) return { ok: true, output: '' };
  await kennel.command({
    ...common,
    argv: ['bash', '-c', 'branch=$1; shift; "$@" branch --quiet -D -- "$branch"', 'drop', branch, ...GIT],
    maxOutput: 4096,
    label: 'git-drop-session',
  });
  return no(
    found
      ? `This looks like a secret, so the session was not taken: ${inline(found.file, 200)}:${found.line}: ${found.kind}. Take it out there, and hand over again.`
      : `Its work could not be searched for secrets, so it was not taken: ${inline(printed(shown.stderr).trim().slice(-300))}.`,
  );
}

/**
 * Prints the commit, the commits that the other side must have, a line `-`, and the bundle in base64. `$1`: commits and
 * branches, of which the first that exists is meant.
 */
const PACK = String.raw`
set -o pipefail
names=$1; shift
for name in $names; do
  tip=$("$@" rev-parse --verify --quiet "$name^{commit}") && break
done
"$@" update-ref ${HANDED_OVER} "$tip"
trap '"$@" update-ref -d ${HANDED_OVER}' EXIT
printf '%s\n' "$tip"
"$@" rev-list --boundary "$tip" --not --remotes | sed -n 's/^-//p'
echo -
if [ -n "$("$@" rev-list --max-count=1 "$tip" --not --remotes)" ]; then
  "$@" bundle create --quiet - ${HANDED_OVER} --not --remotes | base64 -w 65536
fi
`.trim();

/** The work of a task that has ended: its newest commit, with what no remote has. */
export async function workOf(
  { signal }: ToolContext,
  { kennel, path }: Opened,
  { id, worktree, result }: Pick<Task, 'id' | 'worktree' | 'result'>,
): Promise<Pick<SessionBundle, 'branch' | 'tip' | 'needs' | 'remote' | 'work'> | ToolOutcome> {
  const { commit = null, branch = null, keptOn = null } = result?.changes ?? {};
  const own = keptOn ?? (worktree ? `fetch/${id}` : null);
  const names = [keptOn && `refs/heads/${keptOn}`, commit, own && `refs/heads/${own}`, 'HEAD'].filter(Boolean);
  const packed = await kennel.command({
    workspace: path,
    argv: ['bash', '-ec', PACK, 'pack', names.join(' '), ...GIT],
    timeoutMs: LIMIT_MS,
    maxOutput: MOST_WORK,
    label: 'git-pack-session',
    signal,
  });
  const [head = '', work = ''] = packed.stdout.split('\n-\n');
  const [tip, ...needs] = head.split('\n');
  if (packed.code !== 0 || !tip)
    return no(`Its commits could not be packed: ${inline(printed(packed.stderr).trim().slice(-300))}`);
  if (packed.cut)
    return no('Its commits are more than a message takes. Push the branch first: what the remote has is left out.');
  const bare = work.replace(/\s+/g, '');
  return { branch: own ?? branch, tip, needs: bare === '' ? [tip] : needs, remote: null, work: bare || null };
}

import type { Ahead } from '../../adapters/github/push.ts';
import type { Author } from '../../contracts/workspace-ops.ts';
import { MOVED_ON } from '../../domain/shipping/next.ts';
import { inline } from '../../domain/text/foreign-text.ts';
import { english } from '../../domain/texts/say.ts';
import { MINUTE } from '../../domain/time.ts';
import { conflictBranch, ownBranch, type Shipment } from '../../store/kennel/shipments/shipments.ts';
import { GIT } from '../../tools/github/bundle.ts';
import type { KennelDeps } from '../activity-deps.ts';
import { AUTHOR, workspaceOf } from '../task/task-workspace.ts';

/**
 * What git does for a shipment in its workspace. It works on objects and on branches of its own alone, so that files,
 * index and branches of the owner stay as they are, whatever is checked out. Every script may run again.
 */

const LIMIT_MS = 5 * MINUTE;

/** Where the scripts end that could not do their work; the exit code says why. */
const LOST = 20;
const CONFLICT = 22;
const MARKERS = 24;

interface Script {
  name: string;
  script: string;
  args: readonly string[];
  stdin?: string;
  maxOutput?: number;
  author?: Author;
}

async function runGit(
  { config, kennel }: Pick<KennelDeps, 'config' | 'kennel'>,
  shipment: Shipment,
  signal: AbortSignal,
  { name, script, args, stdin, maxOutput = 8192, author = AUTHOR }: Script,
): Promise<{ code: number | null; out: string; said: string; cut: boolean }> {
  const result = await kennel.command({
    workspace: workspaceOf(config, shipment),
    argv: ['bash', '-eo', 'pipefail', '-c', script, name, ...args, ...GIT],
    env: {
      GIT_COMMITTER_NAME: author.name,
      GIT_COMMITTER_EMAIL: author.email,
      GIT_AUTHOR_NAME: author.name,
      GIT_AUTHOR_EMAIL: author.email,
    },
    ...(stdin !== undefined && { stdin }),
    timeoutMs: LIMIT_MS,
    maxOutput,
    label: `${shipment.id} ${name}`,
    signal,
  });
  return { code: result.code, out: result.stdout, said: inline(result.stderr.slice(-500)), cut: result.cut === true };
}

const BEGIN = `
branch=$1 commit=$2; shift 2
"$@" cat-file -e "$commit^{commit}" || exit ${LOST}
"$@" show-ref --verify --quiet "refs/heads/$branch" || "$@" update-ref "refs/heads/$branch" "$commit"
`;

/** Makes the shipment's own branch. */
export async function beginBranch(deps: KennelDeps, shipment: Shipment, signal: AbortSignal): Promise<string | null> {
  const { code, said } = await runGit(deps, shipment, signal, {
    name: 'ship-begin',
    script: BEGIN,
    args: [ownBranch(shipment), shipment.commit],
  });
  if (code === 0) return null;
  return code === LOST ? english('github.gone') : said || english('github.slow');
}

/**
 * Repeats the commits on top of the base. Where one of them conflicts, the whole change is merged; where that conflicts,
 * too, a commit with the conflict markers is prepared, for an agent to begin from.
 */
const REBASE = String.raw`
branch=$1 conflict=$2 base=$3 theirs=$4 title=$5; shift 5
bundle=$(mktemp); base64 -d >"$bundle"
if [ -s "$bundle" ]; then "$@" fetch --quiet --no-tags --no-write-fetch-head --no-auto-gc "$bundle" "refs/there/$base"; fi
ours=$("$@" rev-parse "refs/heads/$branch")
if "$@" merge-base --is-ancestor "$theirs" "$ours"; then exit 0; fi
"$@" merge-base "$ours" "$theirs" >/dev/null || exit ${LOST}
tip=$theirs
for commit in $("$@" rev-list --reverse --no-merges --right-only --cherry-pick "$theirs...$ours"); do
  parent=$("$@" rev-parse "$commit^")
  left=$("$@" commit-tree "$tip^{tree}" -p "$parent" -m left)
  right=$("$@" commit-tree "$commit^{tree}" -p "$parent" -m right)
  merged=$("$@" merge-tree --write-tree --name-only --no-messages "$left" "$right") || { tip=; break; }
  if [ "$merged" = "$("$@" rev-parse "$tip^{tree}")" ]; then continue; fi
  tip=$(GIT_AUTHOR_NAME=$("$@" show -s --format=%an "$commit") GIT_AUTHOR_EMAIL=$("$@" show -s --format=%ae "$commit") GIT_AUTHOR_DATE=$("$@" show -s --format=%aD "$commit") \
    "$@" commit-tree "$merged" -p "$tip" -F <("$@" show -s --format=%B "$commit"))
done
if [ -z "$tip" ]; then
  merged=$("$@" merge-tree --write-tree --name-only --no-messages "$theirs" "$ours") || {
    tree=$(echo "$merged" | head -n 1)
    "$@" update-ref "refs/heads/$conflict" "$("$@" commit-tree "$tree" -p "$theirs" -m "$title" -m "Of: $ours")"
    exit ${CONFLICT}
  }
  tip=$("$@" commit-tree "$merged" -p "$theirs" -m "$title")
fi
"$@" update-ref "refs/heads/$branch" "$tip"
`;

/** `conflict`: an agent has to solve it. A sentence says why it could not be done at all. */
export async function rebaseBranch(
  deps: KennelDeps,
  shipment: Shipment,
  { head, bundle }: { head: string; bundle: Ahead['bundle'] | null },
  { signal, author }: { signal: AbortSignal; author: Author },
): Promise<'done' | 'conflict' | { problem: string }> {
  const { code, said } = await runGit(deps, shipment, signal, {
    name: 'ship-rebase',
    script: REBASE,
    args: [ownBranch(shipment), conflictBranch(shipment), shipment.base, head, shipment.title],
    stdin: bundle?.toString('base64') ?? '',
    author,
  });
  if (code === 0) return 'done';
  if (code === CONFLICT) return 'conflict';
  return {
    problem: code === LOST ? english('github.unrelated', { base: shipment.base }) : said || english('github.slow'),
  };
}

const HEAD = `branch=$1; shift; "$@" rev-parse "refs/heads/$branch"`;

/** The newest commit of the shipment's own branch. */
export async function headOfOwn(deps: KennelDeps, shipment: Shipment, signal: AbortSignal): Promise<string> {
  const args = [ownBranch(shipment)];
  const { code, out, said } = await runGit(deps, shipment, signal, { name: 'ship-head', script: HEAD, args });
  if (code !== 0) throw new Error(`The branch of ${shipment.id} cannot be read: ${said}`);
  return out.trim();
}

const DIFF = `
from=$1 task=$2; shift 2
"$@" diff --no-color --no-ext-diff --no-textconv --no-renames "refs/heads/$from" "refs/heads/fetch/$task"
`;
/** A person reads it on a phone, page by page; more is shown on the page of the pull request. */
const DIFF_BYTES = 200_000;

/** What the task of a pass has changed, as a diff. */
export async function changesOfPass(
  deps: KennelDeps,
  shipment: Shipment,
  task: { id: string; from_branch: string | null },
  signal: AbortSignal,
): Promise<string> {
  const { code, out, said, cut } = await runGit(deps, shipment, signal, {
    name: 'ship-diff',
    script: DIFF,
    args: [task.from_branch ?? ownBranch(shipment), task.id],
    maxOutput: DIFF_BYTES,
  });
  if (code !== 0) throw new Error(`The changes of ${task.id} cannot be read: ${said}`);
  return cut ? `${out}\n[more than ${DIFF_BYTES} bytes were changed; the middle is not shown]` : out;
}

/**
 * Moves the shipment's branch to what a task has made. The commit that solves a conflict stands on top of the base, and
 * has its time from the task, so that a second attempt makes the same one. It takes the place of the commit that the
 * conflict was prepared of, and of no other: a person may have pushed since.
 */
const TAKE = `
branch=$1 task=$2 conflict=$3 title=$4; shift 4
made=$("$@" rev-parse "refs/heads/fetch/$task")
if [ -n "$conflict" ]; then
  if "$@" grep -q -E '^(<<<<<<<|>>>>>>>) ' "$made"; then exit ${MARKERS}; fi
  at=$("$@" show -s --format=%ct "$made")
  begun=$("$@" rev-parse "refs/heads/$conflict^")
  made=$(GIT_AUTHOR_DATE="@$at +0000" GIT_COMMITTER_DATE="@$at +0000" "$@" commit-tree "$made^{tree}" -p "$begun" -m "$title")
  of=$("$@" show -s --format=%B "refs/heads/$conflict" | sed -n 's/^Of: //p' | tail -n 1)
  now=$("$@" rev-parse "refs/heads/$branch")
  case "$now" in "$made"|"\${of:-$now}") ;; *) exit ${LOST};; esac
else
  "$@" merge-base --is-ancestor "refs/heads/$branch" "$made" || exit ${LOST}
fi
"$@" update-ref "refs/heads/$branch" "$made"
`;

/** Null: the branch has what the task has made. Otherwise why not. */
export async function takePass(
  deps: KennelDeps,
  shipment: Shipment,
  task: { id: string; from_branch: string | null },
  { signal, author }: { signal: AbortSignal; author: Author },
): Promise<string | null> {
  const solves = task.from_branch === conflictBranch(shipment);
  const { code, said } = await runGit(deps, shipment, signal, {
    name: 'ship-take',
    script: TAKE,
    args: [ownBranch(shipment), task.id, solves ? conflictBranch(shipment) : '', shipment.title],
    author,
  });
  if (code === 0) return null;
  if (code === MARKERS) return english('github.markers');
  return code === LOST ? MOVED_ON : said || english('github.slow');
}

/** A commit that solves a conflict is made anew for the server, with the same files. */
const TIDY = `
kept=$1 conflict=$2 names=$3; shift 3
for name in $names; do
  tip=$("$@" rev-parse --verify --quiet "refs/heads/$name") || continue
  if [ -n "$kept" ] && [ "$name" != "$conflict" ] && ! "$@" merge-base --is-ancestor "$tip" "$kept"; then
    "$@" log --format=%T "$kept" | grep -c -x -F "$("$@" rev-parse "$tip^{tree}")" >/dev/null || continue
  fi
  "$@" update-ref -d "refs/heads/$name"
done
`;

/** Removes branches that are of no more use. `kept`: those stay that hold more than this commit; null: none. */
export async function removeBranches(
  deps: KennelDeps,
  shipment: Shipment,
  { tasks, kept }: { tasks: readonly string[]; kept: string | null },
  signal: AbortSignal,
): Promise<void> {
  const names = [ownBranch(shipment), conflictBranch(shipment), ...tasks.map((id) => `fetch/${id}`)];
  await runGit(deps, shipment, signal, {
    name: 'ship-tidy',
    script: TIDY,
    args: [kept ?? '', conflictBranch(shipment), names.join(' ')],
  });
}

const ADOPT = `
branch=$1 name=$2 theirs=$3; shift 3
bundle=$(mktemp); base64 -d >"$bundle"
if [ -s "$bundle" ]; then "$@" fetch --quiet --no-tags --no-write-fetch-head --no-auto-gc "$bundle" "refs/there/$name"; fi
"$@" update-ref "refs/heads/$branch" "$theirs"
`;

/** Goes on from a commit of the server. */
export async function adoptCommit(
  deps: KennelDeps,
  shipment: Shipment,
  { head, bundle }: { head: string; bundle: Buffer | null },
  signal: AbortSignal,
): Promise<string | null> {
  const { code, said } = await runGit(deps, shipment, signal, {
    name: 'ship-adopt',
    script: ADOPT,
    args: [ownBranch(shipment), shipment.branch, head],
    stdin: bundle?.toString('base64') ?? '',
  });
  return code === 0 ? null : said || english('github.slow');
}

import type { Ahead } from '../../adapters/github/push.ts';
import { inline } from '../../domain/text/foreign-text.ts';
import { MINUTE } from '../../domain/time.ts';
import type { ToolContext } from '../tool.ts';
import { printed } from '../workspace/command-text.ts';
import { AUTHOR, atWork, type Opened } from '../workspace/in-workspace.ts';
import { GIT, WITHOUT_FILTERS } from './bundle.ts';

const LIMIT_MS = 5 * MINUTE;
const NOT_BROUGHT = 'GitHub has commits on this branch that the workspace does not have';

/**
 * Repeats the commits of a branch on top of those that GitHub has. They are made as objects, and the files change in
 * one step at the end: a conflict, or a kill before that step, leaves the workspace as it was. The exit code says why
 * it did not come to it.
 */
const SCRIPT = String.raw`
branch=$1 theirs=$2; shift 2
${WITHOUT_FILTERS}
bundle=$(mktemp); base64 -d >"$bundle"
remote=$("$@" config "branch.$branch.remote" || echo origin)
"$@" fetch --quiet --no-tags --no-write-fetch-head --no-auto-gc "$bundle" "refs/there/$branch"
seen=$("$@" rev-parse --quiet --verify "refs/remotes/$remote/$branch" || true)
if [ -n "$seen" ] && ! "$@" merge-base --is-ancestor "$seen" "$theirs"; then exit 20; fi
"$@" merge-base HEAD "$theirs" >/dev/null || exit 20
if [ -n "$("$@" rev-list --merges -n 1 "$theirs..HEAD")" ]; then exit 21; fi
tip=$theirs
for commit in $("$@" rev-list --reverse --right-only --cherry-pick "$theirs...HEAD"); do
  parent=$("$@" rev-parse "$commit^")
  ours=$("$@" commit-tree "$tip^{tree}" -p "$parent" -m ours)
  mine=$("$@" commit-tree "$commit^{tree}" -p "$parent" -m mine)
  merged=$("$@" merge-tree --write-tree --name-only --no-messages "$ours" "$mine") || { echo "$merged" | tail -n +2 | sort -u; exit 22; }
  if [ "$merged" = "$("$@" rev-parse "$tip^{tree}")" ]; then continue; fi
  export GIT_AUTHOR_NAME=$("$@" show -s --format=%an "$commit") GIT_AUTHOR_EMAIL=$("$@" show -s --format=%ae "$commit") GIT_AUTHOR_DATE=$("$@" show -s --format=%aD "$commit")
  tip=$("$@" show -s --format=%B "$commit" | "$@" commit-tree "$merged" -p "$tip")
done
"$@" diff --name-only --no-renames --diff-filter=A -z HEAD "$tip" | while IFS= read -r -d '' file; do
  if [ -e "$file" ] || [ -L "$file" ]; then printf '%s\n' "$file"; exit 23; fi
done
"$@" reset --quiet --keep "$tip"
`;

const REASONS: Record<number, (details: string) => string> = {
  20: () => `${NOT_BROUGHT}, and its history there was rewritten. Bring the two together by hand.`,
  21: () => `${NOT_BROUGHT}, and ours have merges, which are not repeated. Merge by hand, or push to another branch.`,
  22: (details) =>
    `${NOT_BROUGHT}, and they conflict with ours in ${details}. The workspace is as it was. Push to another branch with github_branch_create, or solve it by hand.`,
  23: (details) =>
    `${NOT_BROUGHT}. They bring ${details}, which is here already and not committed. Move it away, then try again.`,
};

/** Null: done. Otherwise why not, with the workspace as it was. */
export async function rebaseOnto(
  context: ToolContext,
  at: Opened,
  branch: string,
  { head, bundle }: Ahead,
): Promise<string | null> {
  const busy = await atWork(context, at);
  if (busy) return `${NOT_BROUGHT}. ${busy.output}`;
  const { name, email } = AUTHOR;
  const result = await at.kennel.command({
    workspace: at.path,
    argv: ['bash', '-eo', 'pipefail', '-c', SCRIPT, 'rebase', branch, head, ...GIT],
    // the author is of commits that only help to find the common base
    env: { GIT_COMMITTER_NAME: name, GIT_COMMITTER_EMAIL: email, GIT_AUTHOR_NAME: name, GIT_AUTHOR_EMAIL: email },
    stdin: bundle.toString('base64'),
    timeoutMs: LIMIT_MS,
    maxOutput: 8192,
    label: 'git-rebase',
    signal: context.signal,
  });
  if (result.code === 0) return null;
  const details = inline(printed(result.stdout).trim().split('\n').join(', '), 500);
  const known = REASONS[result.code ?? -1]?.(details);
  return (
    known ??
    `${NOT_BROUGHT}, and they could not be brought in: ${inline(printed(result.stderr).slice(-500)) || 'it took too long'}`
  );
}

import type { Profile, RepositoryMap } from '../../../contracts/workspace-ops.ts';
import { inline } from '../../text/foreign-text.ts';

/** Stored facts about the work in a chat. */
export interface ChatWork {
  workspace: string | null;
  host: string | null;
  profile: Profile | null;
  /** when the profile was taken, RFC 3339 */
  seenAt: string | null;
  tasks: Array<{
    id: string;
    state: string;
    harness: string;
    workspace: string;
    /** null: it may hold words of others */
    goal: string | null;
    endedAt: string | null;
  }>;
}

/** Characters of all of it. */
const LONGEST = 1_200;

/**
 * What the model is told of the active workspace and the latest tasks; null when there is neither. Names in a
 * repository are chosen by others, and this is in every turn without a question: so a name that could be a sentence is
 * left out.
 */
export function workspaceContext({ workspace, host, profile, seenAt, tasks }: ChatWork): string | null {
  const lines = [
    ...(workspace === null
      ? []
      : [`Active workspace: ${plain(workspace)} on the host ${plain(host ?? '')}${kindOf(profile)}`]),
    ...(workspace === null ? [] : stateLines(profile, seenAt)),
    ...tasks.map(
      ({ id, state, harness, workspace: where, goal, endedAt }) =>
        `Task ${id}: ${state}${endedAt ? ` on ${minute(endedAt)}` : ''}, ${harness} in ${plain(where)}${goal === null ? '' : `: ${inline(goal, 100)}`}`,
    ),
  ];
  return lines.length === 0 ? null : lines.join('\n').slice(0, LONGEST);
}

function kindOf(profile: Profile | null): string {
  const parts = [profile?.language, profile?.framework, profile?.packageManager].flatMap((part) =>
    part ? [plain(part)] : [],
  );
  return parts.length > 0 ? ` (${parts.join(', ')})` : '';
}

function stateLines(profile: Profile | null, seenAt: string | null): string[] {
  if (!profile) return ['Its state is not known yet; workspace_status looks.'];
  const { git } = profile;
  const when = seenAt ? `As seen on ${minute(seenAt)}; workspace_status looks again.` : '';
  if (!git) return [`No git repository. ${when}`.trim()];
  const at = git.branch === null ? 'no branch' : `branch ${plain(git.branch)}`;
  const dirty = git.modified + git.untracked === 0 ? 'clean' : `${git.modified} modified, ${git.untracked} untracked`;
  const apart = git.ahead + git.behind === 0 ? '' : `, ${git.ahead} ahead, ${git.behind} behind`;
  return [
    `${at} at ${git.head?.slice(0, 7).replace(/[^\da-f]/g, '') || 'no commit'}, ${dirty}${apart}. ${when}`.trim(),
  ];
}

const minute = (at: string): string => at.slice(0, 16).replace('T', ' ');

/** Most words in a name. More of them could be an instruction. */
const WORDS = 5;

/** A name that cannot be a sentence. */
const plain = (name: string): string =>
  /^[\w.#+/ -]{1,50}$/.test(name) && name.split(/[^A-Za-z0-9]+/).length <= WORDS
    ? name
    : '(a long name, which workspace_status shows)';

/** Characters of all lines. */
const MAP_CHARS = 2_000;

/** `src/main.ts: start, stop`, of plain letters alone. */
const MAP_LINE = /^[\w.@/+-]{1,120}(?:: [\w$]{1,60}(?:, [\w$]{1,60}){0,40})?(?:, …)?$/;

/**
 * The map of a repository, as the model reads it. Its names were written by others. Each is one plain word, but many
 * words in a row can be a sentence. So it belongs only into a context that counts as tainted already. The container
 * that made it is not trusted either: a line of another form is left out.
 */
export function repositoryMapText({ files, lines }: Pick<RepositoryMap, 'files' | 'lines'>): string | null {
  const kept: string[] = [];
  let chars = 0;
  for (const line of lines) {
    chars += line.length + 1;
    if (chars > MAP_CHARS) break;
    if (MAP_LINE.test(line)) kept.push(line);
  }
  if (kept.length === 0) return null;
  return [
    `${kept.length} of ${files} source files, those that others import most or that were changed lately:`,
    ...kept,
  ].join('\n');
}

import { execFileSync } from 'node:child_process';

/**
 * What a GitHub keeps of a repository besides its commits, in the shapes of its REST API, and the few routes that read
 * and write it.
 */
export interface Records {
  pulls: Array<
    Record<string, unknown> & {
      number: number;
      state: string;
      head: { ref: string; label: string };
      base: { ref: string };
    }
  >;
  reviews: Record<number, unknown[]>;
  comments: Record<number, unknown[]>;
  codeComments: Record<number, unknown[]>;
  issues: Array<Record<string, unknown> & { number: number; state: string }>;
  runs: Array<Record<string, unknown> & { head_branch: string }>;
  /** of commits */
  checkRuns: Record<string, unknown[]>;
  statuses: Record<string, unknown[]>;
  /** of jobs, by their ids */
  logs: Record<string, string>;
  annotations: Record<string, unknown[]>;
  /** ways of merging that the repository refuses */
  noMerge: string[];
}

export const emptyRecords = (): Records => ({
  pulls: [],
  reviews: {},
  comments: {},
  codeComments: {},
  issues: [],
  runs: [],
  checkRuns: {},
  statuses: {},
  logs: {},
  annotations: {},
  noMerge: [],
});

export interface Asked {
  method: string;
  /** after `/repos/owner/name/` */
  path: string;
  query: URLSearchParams;
  body: Record<string, unknown>;
  owner: string;
  name: string;
  base: string;
  folder: string;
}

type Answer = { status: number; body: unknown };
const ok = (body: unknown): Answer => ({ status: 200, body });
const notFound: Answer = { status: 404, body: { message: 'Not Found' } };
const invalid = (...errors: unknown[]): Answer => ({ status: 422, body: { message: 'Validation Failed', errors } });
const AT = '2026-11-20T10:00:00Z';

export function answerOf(records: Records, asked: Asked): Answer {
  const { method, path, query } = asked;
  const [kind, id, part] = path.split('/');
  const number = Number(id);
  const limited = <T>(list: T[]): Answer => ok(list.slice(0, Number(query.get('per_page') ?? 30)));
  const pageOf = <T>(list: T[]): T[] => {
    const size = Number(query.get('per_page') ?? 30);
    return list.slice((Number(query.get('page') ?? 1) - 1) * size).slice(0, size);
  };
  const paged = <T>(list: T[]): Answer => ok(pageOf(list));
  const inState = <T extends { state: string }>(list: T[]): T[] => {
    const state = query.get('state') ?? 'open';
    return list.filter((each) => state === 'all' || each.state === state);
  };
  if (kind === 'branches' && id) {
    const head = headOf(asked.folder, decodeURIComponent(path.slice('branches/'.length)));
    return head ? ok({ name: id, commit: { sha: head } }) : notFound;
  }
  if (kind === 'pulls' && !id && method === 'POST') return makePull(records, asked);
  if (kind === 'pulls' && !id) {
    const head = query.get('head');
    return limited(
      inState(records.pulls)
        .filter((each) => head === null || each.head.label === head)
        .map((each) => withHead(each, asked)),
    );
  }
  if (kind === 'pulls' && part === 'merge' && method === 'PUT') return mergePull(records, asked, number);
  if (kind === 'pulls') {
    const pull = records.pulls.find((each) => each.number === number);
    if (!pull) return notFound;
    if (part === 'reviews') return paged(records.reviews[number] ?? []);
    if (part === 'comments') return paged(records.codeComments[number] ?? []);
    const counts = {
      comments: records.comments[number]?.length ?? 0,
      review_comments: records.codeComments[number]?.length ?? 0,
    };
    const sizes = { additions: 10, deletions: 2, changed_files: 3, commits: 1 };
    return ok({ ...sizes, mergeable: merges(asked.folder, pull), ...counts, ...withHead(pull, asked) });
  }
  if (kind === 'issues' && part === 'comments' && method === 'POST') {
    const made = {
      id: 1_000 + Object.values(records.comments).flat().length,
      user: { login: owner(asked), type: 'User' },
      author_association: 'OWNER',
      body: asked.body.body,
      created_at: AT,
    };
    records.comments[number] = [...(records.comments[number] ?? []), made];
    return { status: 201, body: made };
  }
  if (kind === 'issues' && part === 'comments') return paged(records.comments[number] ?? []);
  if (kind === 'commits' && part === 'check-runs') {
    const runs = records.checkRuns[id!] ?? [];
    return ok({ total_count: runs.length, check_runs: pageOf(runs) });
  }
  if (kind === 'commits' && part === 'status')
    return ok({ state: 'pending', statuses: pageOf(records.statuses[id!] ?? []) });
  if (kind === 'check-runs' && part === 'annotations') return paged(records.annotations[id!] ?? []);
  const job = /^actions\/jobs\/(\d+)\/logs$/.exec(path)?.[1];
  if (job) return records.logs[job] === undefined ? notFound : ok(records.logs[job]);
  if (kind === 'issues' && method === 'POST') return makeIssue(records, asked);
  if (kind === 'issues')
    return limited(
      inState(records.issues).filter(
        (each) => query.get('assignee') === null || each.assignee === query.get('assignee'),
      ),
    );
  if (path === 'actions/runs') {
    const branch = query.get('branch');
    const commit = query.get('head_sha');
    const runs = records.runs.filter(
      (each) => (branch === null || each.head_branch === branch) && (commit === null || each.head_sha === commit),
    );
    return ok({ total_count: runs.length, workflow_runs: pageOf(runs) });
  }
  return notFound;
}

function makePull(records: Records, asked: Asked): Answer {
  const { body, owner, name, base, folder } = asked;
  const [head, into] = [String(body.head), String(body.base)];
  if (!headOf(folder, into)) return invalid({ resource: 'PullRequest', field: 'base', code: 'invalid' });
  if (!headOf(folder, head)) return invalid({ resource: 'PullRequest', field: 'head', code: 'invalid' });
  const taken = records.pulls.some((each) => each.state === 'open' && each.head.ref === head);
  if (taken)
    return invalid({
      resource: 'PullRequest',
      code: 'custom',
      message: `A pull request already exists for ${owner}:${head}.`,
    });
  const count = execFileSync('git', ['-C', folder, 'rev-list', '--count', `${into}..${head}`], {
    encoding: 'utf8',
  }).trim();
  if (count === '0')
    return invalid({ resource: 'PullRequest', code: 'custom', message: `No commits between ${into} and ${head}` });
  const made = pull(records.pulls.length + 1, `${base}/${owner}/${name}`, {
    ...body,
    head: { ref: head, label: `${owner}:${head}` },
    base: { ref: into },
  });
  records.pulls.unshift(made);
  return { status: 201, body: withHead(made, asked) };
}

const owner = ({ owner: login }: Asked): string => login;

/** The head of an open pull request is that of its branch; a merged one keeps what it had. */
const withHead = (each: Records['pulls'][number], { folder }: Asked) => ({
  ...each,
  head: { sha: (each.state === 'open' && headOf(folder, each.head.ref)) || '0'.repeat(40), ...each.head },
});

function merges(folder: string, { head, base, state }: Records['pulls'][number]): boolean | null {
  if (state !== 'open' || !headOf(folder, head.ref) || !headOf(folder, base.ref)) return null;
  try {
    execFileSync('git', ['-C', folder, 'merge-tree', '--write-tree', base.ref, head.ref], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

function mergePull(records: Records, { body, folder }: Asked, number: number): Answer {
  const found = records.pulls.find((each) => each.number === number);
  if (!found) return notFound;
  const method = String(body.merge_method ?? 'merge');
  const refused = (status: number, message: string): Answer => ({ status, body: { message } });
  if (found.state !== 'open') return refused(405, 'Pull Request is not mergeable');
  if (records.noMerge.includes(method)) return refused(405, `${method} merges are not allowed on this repository.`);
  const head = headOf(folder, found.head.ref)!;
  if (body.sha !== head) return refused(409, 'Head branch was modified. Review and try the merge again.');
  if (merges(folder, found) !== true) return refused(405, 'Pull Request is not mergeable');
  const git = (...args: string[]): string =>
    execFileSync('git', ['-C', folder, '-c', 'user.name=hub', '-c', 'user.email=hub@example.com', ...args], {
      encoding: 'utf8',
    }).trim();
  const tree = git('merge-tree', '--write-tree', found.base.ref, head);
  const parents = ['-p', found.base.ref, ...(method === 'merge' ? ['-p', head] : [])];
  git('update-ref', `refs/heads/${found.base.ref}`, git('commit-tree', tree, ...parents, '-m', 'merged'));
  Object.assign(found, { state: 'closed', merged_at: AT, head: { ...found.head, sha: head } });
  return ok({ merged: true, sha: head, message: 'Pull Request successfully merged' });
}

/** A pull request as the API shows it. */
export const pull = (number: number, page: string, more: Record<string, unknown> = {}): Records['pulls'][number] =>
  ({
    number,
    title: `Change ${number}`,
    body: '',
    state: 'open',
    draft: false,
    merged_at: null,
    user: { login: 'ann' },
    head: { ref: `branch-${number}`, label: `ann:branch-${number}` },
    base: { ref: 'main' },
    html_url: `${page}/pull/${number}`,
    updated_at: AT,
    ...more,
  }) as Records['pulls'][number];

/** An issue as the API shows it. */
export const issue = (number: number, page: string, more: Record<string, unknown> = {}): Records['issues'][number] => ({
  number,
  title: `Problem ${number}`,
  state: 'open',
  user: { login: 'ann' },
  assignees: [],
  labels: [],
  comments: 0,
  html_url: `${page}/issues/${number}`,
  updated_at: AT,
  ...more,
});

function makeIssue(records: Records, { body, owner, name, base }: Asked): Answer {
  const labels = (body.labels as string[]).map((each) => ({ name: each }));
  const made = issue(records.issues.length + 1, `${base}/${owner}/${name}`, {
    title: body.title,
    body: body.body,
    labels,
  });
  records.issues.unshift(made);
  return { status: 201, body: made };
}

function headOf(folder: string, branch: string): string | null {
  try {
    return execFileSync('git', ['-C', folder, 'rev-parse', '--verify', '--quiet', `refs/heads/${branch}`], {
      encoding: 'utf8',
    }).trim();
  } catch {
    return null;
  }
}

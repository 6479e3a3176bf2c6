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
}

export const emptyRecords = (): Records => ({
  pulls: [],
  reviews: {},
  comments: {},
  codeComments: {},
  issues: [],
  runs: [],
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
    return limited(inState(records.pulls).filter((each) => head === null || each.head.label === head));
  }
  if (kind === 'pulls') {
    const pull = records.pulls.find((each) => each.number === number);
    if (!pull) return notFound;
    if (part === 'reviews') return limited(records.reviews[number] ?? []);
    if (part === 'comments') return limited(records.codeComments[number] ?? []);
    const counts = {
      comments: records.comments[number]?.length ?? 0,
      review_comments: records.codeComments[number]?.length ?? 0,
    };
    return ok({ additions: 10, deletions: 2, changed_files: 3, commits: 1, mergeable: true, ...counts, ...pull });
  }
  if (kind === 'issues' && part === 'comments') {
    const [all, size] = [records.comments[number] ?? [], Number(query.get('per_page') ?? 30)];
    return ok(all.slice((Number(query.get('page') ?? 1) - 1) * size).slice(0, size));
  }
  if (kind === 'issues' && method === 'POST') return makeIssue(records, asked);
  if (kind === 'issues')
    return limited(
      inState(records.issues).filter(
        (each) => query.get('assignee') === null || each.assignee === query.get('assignee'),
      ),
    );
  if (path === 'actions/runs') {
    const branch = query.get('branch');
    const runs = records.runs.filter((each) => branch === null || each.head_branch === branch);
    return ok({ total_count: runs.length, workflow_runs: runs.slice(0, Number(query.get('per_page') ?? 30)) });
  }
  return notFound;
}

function makePull(records: Records, { body, owner, name, base, folder }: Asked): Answer {
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
  return { status: 201, body: made };
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

import { createHash } from 'node:crypto';
import { z } from 'zod';
import { type Check, stateOf } from '../../domain/shipping/checks.ts';
import { isOurs } from '../../domain/shipping/texts.ts';
import { storableText, suffix } from '../../domain/text/storable.ts';
import { english } from '../../domain/texts/say.ts';
import type { Forge, ForgePull, ForgeRemark } from '../forge.ts';
import { ask, type GitHubAccess } from './client.ts';
import { GitHubRefusal, hasStatus } from './errors.ts';
import { author } from './pull-requests.ts';
import type { RepositoryName } from './remote.ts';
import { inRepository } from './repositories.ts';

/**
 * Pull requests of one repository on GitHub. A list that is longer than a page is read to its end; of one that is longer
 * than these pages, only the newest are, so that nobody can use up the requests of an hour by writing comments.
 */

const PER_PAGE = 100;
const MOST_PAGES = 20;
/** The end of a log has the failure. */
const OUTPUT_CHARS = 20_000;
const MOST_ANNOTATIONS = 50;

const pull = z.object({
  number: z.int(),
  html_url: z.url(),
  state: z.enum(['open', 'closed']),
  merged_at: z.string().nullish(),
  head: z.object({ ref: z.string(), sha: z.string(), label: z.string().nullish() }),
  mergeable: z.boolean().nullish(),
  comments: z.int().nullish(),
  review_comments: z.int().nullish(),
});
const pullOf = ({
  number,
  html_url,
  state,
  merged_at,
  head,
  mergeable,
  ...more
}: z.output<typeof pull>): ForgePull => ({
  number,
  url: html_url,
  state: merged_at ? 'merged' : state,
  head: head.sha,
  mergeable: mergeable ?? null,
  written: { about: more.comments ?? 0, inCode: more.review_comments ?? 0 },
});

const words = z
  .string()
  .nullish()
  .transform((text) => storableText(text ?? ''));
const remark = z.object({
  id: z.number(),
  user: z.object({ login: z.string(), type: z.string().nullish() }).nullish(),
  author_association: z.string().nullish(),
  body: words,
});
const codeRemark = remark.extend({ path: words, line: z.int().nullish() });
const review = remark.extend({ state: z.string() });
const INSIDE = new Set(['OWNER', 'MEMBER', 'COLLABORATOR']);

const run = z.object({
  id: z.number(),
  name: z.string().nullish(),
  head_sha: z.string(),
  event: z.string().nullish(),
  status: z.string().nullish(),
  conclusion: z.string().nullish(),
  html_url: z.string().nullish(),
});
const job = run.extend({
  app: z.object({ slug: z.string().nullish() }).nullish(),
  output: z
    .object({ title: z.string().nullish(), summary: z.string().nullish(), text: z.string().nullish() })
    .nullish(),
});
const status = z.object({
  id: z.number(),
  context: z.string(),
  state: z.string(),
  description: z.string().nullish(),
  target_url: z.string().nullish(),
});
const annotation = z.object({
  path: words,
  start_line: z.int().nullish(),
  message: words,
});

export function githubForge(access: GitHubAccess, name: RepositoryName): Forge {
  const at = inRepository(name);
  const get = <T>(route: string, parameters: Record<string, unknown>, schema: z.ZodType<T>): Promise<T> =>
    ask(access, `GET /repos/{owner}/{repo}/${route}`, { ...at, ...parameters }, schema);
  /** All pages of a list. `rows`: where they are in an answer. `count`: how long it is at least, where that is known. */
  const all = async <T>(
    route: string,
    parameters: Record<string, unknown>,
    schema: z.ZodType<T>,
    { rows, count = 0 }: { rows?: string; count?: number } = {},
  ): Promise<T[]> => {
    const found: T[] = [];
    const first = Math.max(1, Math.ceil(count / PER_PAGE) - MOST_PAGES + 1);
    for (let page = first; page <= first + MOST_PAGES; page += 1) {
      const asked = { ...parameters, per_page: PER_PAGE, page };
      const part = rows
        ? ((await get(route, asked, z.object({ [rows]: z.array(schema) }))) as Record<string, T[]>)[rows]!
        : await get(route, asked, z.array(schema));
      found.push(...part);
      if (part.length < PER_PAGE) break;
    }
    return found;
  };
  const comments = (number: number, count: number) => all('issues/{number}/comments', { number }, remark, { count });

  return {
    async find(branch) {
      const head = `${name.owner}:${branch}`;
      const found = await get('pulls', { state: 'open', head, per_page: 10 }, z.array(pull));
      // a server that does not know the filter answers with all of them
      const own = found.find((each) => each.head.ref === branch && (each.head.label ?? head) === head);
      return own ? pullOf(own) : null;
    },
    make: async ({ branch, ...wanted }) =>
      pullOf(await ask(access, 'POST /repos/{owner}/{repo}/pulls', { ...at, ...wanted, head: branch }, pull)),
    look: async (number) => pullOf(await get('pulls/{number}', { number }, pull)),
    async checks(commit) {
      const [runs, jobs, statuses] = await Promise.all([
        all('actions/runs', { head_sha: commit }, run, { rows: 'workflow_runs' }).catch(noneAt(404)),
        all('commits/{ref}/check-runs', { ref: commit, filter: 'latest' }, job, { rows: 'check_runs' }),
        all('commits/{ref}/status', { ref: commit }, status, { rows: 'statuses' }),
      ]);
      return [...newestRuns(runs, commit), ...jobs.map(jobOf), ...statuses.map(statusOf)];
    },
    async output({ kind, id, said }) {
      if (kind !== 'job') return said;
      const [log, notes] = await Promise.all([
        // a job of Actions has the id of its check
        get('actions/jobs/{id}/logs', { id }, z.union([z.string(), z.instanceof(ArrayBuffer)])).catch(noneAt(404, 410)),
        get('check-runs/{id}/annotations', { id, per_page: MOST_ANNOTATIONS }, z.array(annotation)).catch(noneAt(404)),
      ]);
      const text = typeof log === 'string' ? log : log instanceof ArrayBuffer ? Buffer.from(log).toString() : '';
      const lines = notes.map(({ path, start_line, message }) => `${path}:${start_line ?? 1}: ${message}`);
      return [said, ...lines, suffix(text, OUTPUT_CHARS)].filter(Boolean).join('\n');
    },
    async remarks({ number, written }) {
      const [reviews, inCode, about] = await Promise.all([
        all('pulls/{number}/reviews', { number }, review),
        all('pulls/{number}/comments', { number }, codeRemark, { count: written.inCode }),
        comments(number, written.about),
      ]);
      const found = [
        ...reviews.map((each) => remarkOf('review', each, '')),
        ...inCode.map((each) => remarkOf('code', each, each.line ? `${each.path}:${each.line}` : each.path)),
        // programs write tables of coverage there, which nobody waits for an answer to
        ...about.filter(({ user }) => user?.type !== 'Bot').map((each) => remarkOf('comment', each, '')),
      ];
      return {
        remarks: found.filter(({ body }) => body.trim() !== '' && !isOurs(body)),
        review: decisionOf(reviews),
      };
    },
    async comment(number, text, mark) {
      const { about } = pullOf(await get('pulls/{number}', { number }, pull)).written;
      if ((await comments(number, about)).some(({ body }) => body.includes(mark))) return;
      await ask(
        access,
        'POST /repos/{owner}/{repo}/issues/{number}/comments',
        { ...at, number, body: text },
        z.object({ id: z.number() }),
      );
    },
    async merge(number, commit) {
      for (const merge_method of ['merge', 'squash', 'rebase']) {
        try {
          const parameters = { ...at, number, sha: commit, merge_method };
          await ask(
            access,
            'PUT /repos/{owner}/{repo}/pulls/{number}/merge',
            parameters,
            z.object({ merged: z.literal(true) }),
          );
          return { merged: true };
        } catch (error) {
          // the repository allows another way of merging
          if (hasStatus(error, 405) && /not allowed/i.test(error.reason) && merge_method !== 'rebase') continue;
          if (
            error instanceof GitHubRefusal &&
            error.status !== null &&
            error.status !== 401 &&
            error.opensAt === undefined
          )
            return { merged: false, why: error.message };
          throw error;
        }
      }
      return { merged: false, why: english('github.noWay') };
    },
  };
}

const noneAt =
  (...statuses: number[]) =>
  (error: unknown): never[] => {
    if (hasStatus(error, ...statuses)) return [];
    throw error;
  };

/** Of each pipeline the newest run: an earlier one was run again. */
function newestRuns(runs: readonly z.output<typeof run>[], commit: string): Check[] {
  const newest = new Map<string, z.output<typeof run>>();
  for (const each of runs.filter(({ head_sha }) => head_sha === commit)) {
    const key = `${each.name ?? ''}\n${each.event ?? ''}`;
    const known = newest.get(key);
    if (!known || known.id < each.id) newest.set(key, each);
  }
  return [...newest.values()].map((each) => ({
    kind: 'run' as const,
    id: String(each.id),
    name: each.name ?? 'workflow',
    state: stateOf(each.status ?? '', each.conclusion ?? null),
    url: each.html_url ?? '',
    said: '',
  }));
}

const jobOf = (each: z.output<typeof job>): Check => ({
  kind: 'job',
  id: String(each.id),
  name: each.name ?? 'check',
  state: stateOf(each.status ?? '', each.conclusion ?? null),
  url: each.html_url ?? '',
  said: [each.output?.title, each.output?.summary, each.output?.text].filter(Boolean).join('\n'),
});

const STATUSES: Record<string, Check['state']> = {
  success: 'passed',
  pending: 'pending',
  failure: 'failed',
  error: 'failed',
};

const statusOf = (each: z.output<typeof status>): Check => ({
  kind: 'status',
  id: String(each.id),
  name: each.context,
  state: STATUSES[each.state] ?? 'held',
  url: each.target_url ?? '',
  said: each.description ?? '',
});

/** A text that was changed is another remark. */
const remarkOf = (
  kind: string,
  { id, body, user, author_association }: z.output<typeof remark>,
  place: string,
): ForgeRemark => ({
  key: `${kind}_${id}_${createHash('sha256').update(body).digest('hex').slice(0, 8)}`,
  author: author.parse(user),
  inside: INSIDE.has(author_association ?? ''),
  body,
  place,
});

/** What the newest review of each person decides; one word against it outweighs every approval. */
function decisionOf(reviews: readonly z.output<typeof review>[]): 'none' | 'approved' | 'changes requested' {
  const newest = new Map<string, string>();
  for (const { user, state, author_association } of reviews) {
    if (!INSIDE.has(author_association ?? '')) continue;
    if (['APPROVED', 'CHANGES_REQUESTED', 'DISMISSED'].includes(state)) newest.set(user?.login ?? 'ghost', state);
  }
  const decided = [...newest.values()];
  if (decided.includes('CHANGES_REQUESTED')) return 'changes requested';
  return decided.includes('APPROVED') ? 'approved' : 'none';
}

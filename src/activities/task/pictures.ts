import { randomUUID } from 'node:crypto';
import { cancellationSignal } from '@temporalio/activity';
import type { Browsers } from '../../adapters/kennel/browser/browsers.ts';
import { pictureFor } from '../../adapters/pictures.ts';
import { worktreeOf } from '../../contracts/kennel.ts';
import type { ConcludedChanges, Profile } from '../../contracts/workspace-ops.ts';
import { argvFor } from '../../domain/tasks/checks/project-profile.ts';
import { pagesOfApp, pagesOfSite, type TouchedPage } from '../../domain/tasks/pages.ts';
import type { PagePicture } from '../../domain/tasks/report.ts';
import { conversationOf } from '../../store/chats/conversation-start.ts';
import { attachmentId, saveAttachment } from '../../store/chats/messages/attachments.ts';
import { latestThread } from '../../store/chats/threads/threads.ts';
import { rulesOfWorkspaces } from '../../store/kennel/egress-rules.ts';
import type { Task } from '../../store/kennel/tasks/tasks.ts';
import { projectProfile } from '../../store/kennel/workspaces/project-profiles.ts';
import type { KennelDeps } from '../activity-deps.ts';
import { workspaceOf, worktreeOption } from './task-workspace.ts';

/**
 * Pictures of the pages that a task has changed, before and after, for its report. The pages are served from copies of
 * the workspace by a container that no agent has been in, and looked at by a browser of their own.
 */

/** So long a report waits for its pictures at most. */
const ALL_MS = 90_000;
/** How long the project may take until it listens. */
const LISTEN_MS = 20_000;
/** How much of a project is looked through for its pages. */
const DEPTH = 4;
const MOST_ENTRIES = 2_000;

/** In the environment of a repository, its own `node` may be too old for our program. */
const STATIC = [
  'sh',
  '-c',
  'exec "$(command -v /opt/fetch/bin/node || command -v node)" /opt/fetch/kennel/app/static.ts',
];

/** One way to show a project. */
interface Show {
  argv: string[];
  pages: TouchedPage[];
}
type Side = 'before' | 'after';
type Taken = Map<string, Buffer>;

/** The report goes out without pictures when they cannot be taken, or not in time. */
export async function picturesOf(deps: KennelDeps, task: Task, changes: ConcludedChanges): Promise<PagePicture[]> {
  const { browsers, config, log } = deps;
  if (!browsers || config.FETCH_BROWSER_SLOTS === 0 || changes.files.length === 0) return [];
  const late = AbortSignal.timeout(ALL_MS);
  const signal = AbortSignal.any([cancellationSignal(), late]);
  const over = new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  over.catch(() => {});
  try {
    return await Promise.race([taken(deps, browsers, task, changes, signal), over]);
  } catch (error) {
    // another attempt takes them again
    if (cancellationSignal().aborted) throw error;
    log?.warn({ task: task.id, error: (error as Error).message }, 'no pictures of the pages of a task');
    return [];
  }
}

async function taken(
  deps: KennelDeps,
  browsers: Browsers,
  task: Task,
  changes: ConcludedChanges,
  signal: AbortSignal,
): Promise<PagePicture[]> {
  for (const { argv, pages } of await showsOf(deps, task, changes, signal)) {
    if (pages.length === 0 || !(await browsers.isBuilt())) continue;
    const shoot = (side: Side) => picturesOn(deps, browsers, task, { argv, pages, side, signal });
    const after = await shoot('after');
    const before =
      pages.some((page) => page.before !== null) && (after.size > 0 || isGone(pages))
        ? await shoot('before')
        : new Map();
    if (after.size + before.size > 0) return await stored(deps, task, pages, { before, after });
  }
  return [];
}

const isGone = (pages: readonly TouchedPage[]): boolean => pages.every(({ after }) => after === null);

/** How the project is shown: as it is started, and else as files. */
async function showsOf(
  { kennel, config, db }: KennelDeps,
  task: Task,
  { files }: ConcludedChanges,
  signal: AbortSignal,
): Promise<Show[]> {
  const app = pagesOfApp(files);
  // most work is no part of any page, and each look is a container
  if (app.length === 0 && pagesOfSite(files, ['index.html']).length === 0) return [];
  const ask = (op: Parameters<typeof kennel.workspaceOp>[1]) =>
    kennel.workspaceOp(workspaceOf(config, task), { ...op, ...worktreeOption(task) }, { signal });
  const listed = await ask({ op: 'list', path: '.', depth: DEPTH, limit: MOST_ENTRIES });
  const site = pagesOfSite(files, (listed.data?.entries ?? []) as string[]);
  if (app.length + site.length === 0) return [];
  const [found, { said }] = await Promise.all([ask({ op: 'profile' }), projectProfile(db, task)]);
  const run = argvFor('run', (found.data as Partial<Profile> | undefined) ?? null, said);
  return [...(run ? [{ argv: run, pages: app }] : []), { argv: STATIC, pages: site }];
}

/** Pictures of one side by page, from a copy of the workspace. */
async function picturesOn(
  { kennel, config, db }: KennelDeps,
  browsers: Browsers,
  task: Task,
  { argv, pages, side, signal }: Show & { side: Side; signal: AbortSignal },
): Promise<Taken> {
  const folder = workspaceOf(config, task);
  const op = { ...worktreeOption(task), op: 'base', key: task.id } as const;
  const shown = pages.filter((page) => page[side] !== null);
  const pictures: Taken = new Map();
  let id: string | null = null;
  try {
    const made = await kennel.workspaceOp(folder, { ...op, action: side === 'before' ? 'make' : 'copy' }, { signal });
    if (!made.ok || shown.length === 0) return pictures;
    id = await kennel.apps.start({
      callId: `${task.id}/${side}/${randomUUID()}`,
      workspace: folder,
      base: task.id,
      ...(task.worktree && { cwd: worktreeOf(task.id) }),
      argv,
      command: argv.join(' '),
      env: {},
    });
    const app = await kennel.apps.settled(id, LISTEN_MS, signal);
    if (!app?.appPort || app.state === 'exited') return pictures;
    const owner = {
      key: `${task.id}/pictures`,
      // one that is over would be ended in the middle
      conversation: await conversationOf(db, task.thread_id),
      rules: async () => (await rulesOfWorkspaces(db, task.host, [task.workspace])).filter(({ taskId }) => !taskId),
      apps: (workspace: string) => ({
        workspace,
        connect: (port: number) => kennel.apps.connect(workspace, port),
        missing: async () => 'Nothing listens there.',
      }),
    };
    const urls = shown.map((page) => ({ url: `http://localhost:${app.appPort}${page[side]}` }));
    const found = await browsers.picturesOf(owner, { workspace: app.workspace }, urls, signal);
    for (const [at, picture] of found.entries()) if (picture) pictures.set(shown[at]!.page, picture);
    return pictures;
  } finally {
    if (id) await kennel.apps.stop(id).catch(() => {});
    await kennel.workspaceOp(folder, { ...op, action: 'remove' }).catch(() => {});
  }
}

async function stored(
  { db }: KennelDeps,
  task: Task,
  pages: readonly TouchedPage[],
  sides: Record<Side, Taken>,
): Promise<PagePicture[]> {
  const threadId = (await latestThread(db, task.chat_id))?.id ?? task.thread_id;
  const keep = async (page: string, side: Side): Promise<string | null> => {
    const data = sides[side].get(page);
    if (!data) return null;
    const id = attachmentId(task.id, 'picture', side, page);
    await saveAttachment(db, {
      ...{ id, threadId, kind: 'image', mime: 'image/png', name: `${side}.png`, data, text: null },
      preview: await pictureFor(data),
    });
    return id;
  };
  return await Promise.all(
    pages.map(async ({ page }) => {
      const [was, is] = [sides.before.get(page), sides.after.get(page)];
      const after = await keep(page, 'after');
      const before = was && is?.equals(was) ? after : await keep(page, 'before');
      return { page, ...(before && { before }), ...(after && { after }) };
    }),
  );
}

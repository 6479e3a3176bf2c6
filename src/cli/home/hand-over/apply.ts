import { readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { HANDED_OVER, readSession, type SessionBundle } from '../../../adapters/sessions/bundle.ts';
import { placeSession } from '../../../adapters/sessions/places.ts';
import { UserError } from '../../../contracts/user-error.ts';
import { movedSession } from '../../../domain/tasks/session-text.ts';
import { gitText, ownGit, rootOf } from './own-git.ts';
import { snapshotOf } from './working-tree.ts';

/** `fetch hand-over --apply`: the session of a task goes on in a folder of this machine, with its work. */

/** Returns what to tell: the command that goes on. @throws UserError */
export async function apply(file: string, named: string, home = homedir()): Promise<string> {
  const root = realpathSync(await rootOf(resolve(named)));
  const bundle = await readSession(read(file));
  await requireCommits(root, bundle);
  await requireNothingLost(root, bundle);
  if (bundle.work !== null) await fetchWork(root, Buffer.from(bundle.work, 'base64'), bundle.tip);
  const branch = await freeBranch(root, bundle);
  await gitText(root, ['checkout', '--quiet', '--force', '-B', branch, bundle.tip]);
  const { text } = movedSession(bundle.session, { from: bundle.root, to: root });
  await placeSession(home, bundle.agent, bundle.sessionId, { root, text });
  const command = bundle.agent === 'claude' ? 'claude --resume' : 'codex resume';
  return `${root} is on the branch ${branch} now.\nTo go on:\n\n  cd ${quoted(root)} && ${command} ${bundle.sessionId}\n`;
}

const quoted = (path: string): string => (/^[\w./~-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`);

function read(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new UserError(`${file} cannot be read: ${(error as Error).message}`);
  }
}

async function requireCommits(root: string, { needs, project }: SessionBundle): Promise<void> {
  for (const commit of needs)
    if (!(await ownGit(root, ['cat-file', '-e', `${commit}^{commit}`])).ok)
      throw new UserError(
        `${root} does not have the commits that this session of ${project} began on. Run git fetch there, or name the folder of the project.`,
      );
}

/** Work of this folder stays: what is not committed must be what was handed over from here. */
async function requireNothingLost(root: string, { tip, work }: SessionBundle): Promise<void> {
  const { tree, leftOut } = await snapshotOf(root);
  const head = await gitText(root, ['rev-parse', 'HEAD^{tree}']);
  if (tree === head && leftOut.length === 0) return;
  if (work !== null) await fetchWork(root, Buffer.from(work, 'base64'), tip);
  const brought = await gitText(root, ['log', '--format=%T', tip]);
  const overwritten = await gitText(root, ['ls-tree', '-r', '--name-only', '-z', tip]);
  const names = new Set(overwritten.split('\0'));
  if ((tree === head || brought.split('\n').includes(tree)) && !leftOut.some((file) => names.has(file))) return;
  throw new UserError(`${root} has changes that are not committed. Commit or stash them, and try again.`);
}

async function fetchWork(root: string, work: Buffer, tip: string): Promise<void> {
  const place = await mkdtemp(join(tmpdir(), 'fetch-hand-over-'));
  try {
    const file = join(place, 'bundle');
    writeFileSync(file, work);
    const heads = await gitText(root, ['bundle', 'list-heads', file]);
    if (heads !== `${tip} ${HANDED_OVER}`) throw new UserError('The work in this file is another one than it says.');
    await gitText(root, [
      '-c',
      'transfer.fsckObjects=true',
      'fetch',
      '--quiet',
      '--no-tags',
      '--no-write-fetch-head',
      file,
      HANDED_OVER,
    ]);
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

/** The branch of the work, unless it has something else here that is not in it. */
async function freeBranch(root: string, { branch, project, tip }: SessionBundle): Promise<string> {
  const wanted = branch ?? `fetch/${project}`;
  for (let count = 1; ; count++) {
    const name = count === 1 ? wanted : `${wanted}-${count}`;
    const exists = (await ownGit(root, ['rev-parse', '--verify', '--quiet', `refs/heads/${name}`])).ok;
    if (!exists || (await ownGit(root, ['merge-base', '--is-ancestor', `refs/heads/${name}`, tip])).ok) return name;
  }
}

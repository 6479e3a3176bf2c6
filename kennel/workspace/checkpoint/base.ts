import { createHash } from 'node:crypto';
import { lstatSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { BaseLook, HeadLook, WorkspaceAnswer, WorkspaceOp } from '../../../src/contracts/workspace-ops.ts';
import { applyChanges } from '../files/apply.ts';
import { environment, type Repository, tryGit } from '../git/git.ts';
import { run } from '../git/process.ts';
import { headOf, isFolder, needRepository, type Place } from '../git/repository.ts';
import { diffTrees, emptyTree, entriesOf, treeOf } from '../git/trees.ts';
import { LIMITS } from '../limits.ts';
import { projectOf, testCommand } from '../project/profile.ts';
import { Refusal } from '../refusal.ts';
import { checkKey, repositoryOf } from './checkpoint.ts';
import { snapshotAfter } from './conclude.ts';
import { readState } from './record.ts';
import { testEdits } from './test-edits.ts';

type Asked = Omit<Extract<WorkspaceOp, { op: 'base' }>, 'op' | 'worktree'>;

/**
 * The state before a task that has ended, to compare with: what became of its tests, and a copy of the workspace in
 * which the files are as they were. The copy has the packages that are there now, and lies where no agent sees it.
 */
export function base(place: Place, { action, key, now, line }: Asked): WorkspaceAnswer {
  checkKey(key);
  const folder = join(place.side, `base-${key}`);
  if (action === 'remove') {
    removeCopy(folder);
    return { ok: true, output: 'Removed the copy.' };
  }
  if (action === 'give') {
    givePackages(place, folder);
    return { ok: true, output: 'Moved the packages.' };
  }
  const { repository, before } = repositoryOf(place, key);
  const ended = readState(repository, key, 'after');
  if (!ended && !now) throw new Refusal(`${key} has not ended yet.`);
  const after = ended?.tree ?? snapshotAfter(repository, before).tree;
  const changes = diffTrees(repository, before.tree, after);
  if (action === 'look') {
    const data: BaseLook = {
      before: before.tree,
      after,
      edits: testEdits(repository, changes, { before, ended, line }),
      ...(now && { test: testCommand(place.root) }),
    };
    return { ok: true, output: 'Compared the tests.', data: { ...data } };
  }
  removeCopy(folder);
  copyFolder(place.workspace, folder);
  const root = join(folder, relative(place.workspace, place.root));
  if (action === 'copy') return { ok: true, output: 'Made the copy.', data: { test: testCommand(root) } };
  const back = changes.map(({ path, from, to }) => ({ path, from: to, to: from }));
  const { refused } = applyChanges({ ...repository, root }, back, false);
  if (refused.length > 0) throw new Refusal('The files have changed since the task ended.');
  return { ok: true, output: 'Made the copy.', data: { test: testCommand(root) } };
}

/** Folders of installed packages, which a workspace may have at its top. */
const PACKAGES = ['node_modules', '.venv'];
/** `check-ignore` takes no literal names. */
const NOT_LITERAL = { env: { GIT_LITERAL_PATHSPECS: '0' } };

/** Gives the workspace the packages of a copy, where git ignores them and the workspace has none. */
function givePackages(place: Place, copy: string): void {
  const git = join(place.workspace, '.git');
  if (!isFolder(git)) return;
  const repository = needRepository(place);
  for (const name of PACKAGES) {
    const [from, to] = [join(copy, name), join(place.workspace, name)];
    const isIgnored = tryGit(repository, ['check-ignore', '-q', '--', `./${name}/`], NOT_LITERAL).code === 0;
    if (!isIgnored || !isFolder(from) || lstatSync(to, { throwIfNoEntry: false })) continue;
    // all of it or nothing, also when this process is killed
    const part = join(git, `fetch-part-${name}`);
    removeCopy(part);
    copyFolder(from, part);
    renameSync(part, to);
  }
}

/** The files of the commit that is checked out, as a person gets them who has only the repository. */
export function head(
  place: Place,
  { action, key, since }: Omit<Extract<WorkspaceOp, { op: 'head' }>, 'op' | 'worktree'>,
): WorkspaceAnswer {
  checkKey(key);
  const repository = needRepository(place);
  const { commit } = headOf(repository);
  if (commit === null) throw new Refusal('This repository has no commit yet.');
  const tree = treeOf(repository, commit);
  let { root } = place;
  if (action === 'copy') {
    root = join(place.side, `base-${key}`);
    removeCopy(root);
    mkdirSync(root, { recursive: true });
    // versions and hooks are asked of git
    if (isFolder(join(place.workspace, '.git'))) copyFolder(join(place.workspace, '.git'), join(root, '.git'));
    const changes = diffTrees(repository, emptyTree(repository), tree);
    applyChanges({ ...repository, root }, changes, false);
  }
  const counted = since === undefined ? null : tryGit(repository, ['rev-list', '--count', `${since}..${commit}`, '--']);
  const data: HeadLook = {
    commit,
    tree,
    dependencies: dependenciesOf(repository, tree),
    ahead: counted?.code === 0 ? Number(counted.stdout) : null,
    project: projectOf(root),
  };
  return { ok: true, output: 'Looked at the commit.', data: { ...data } };
}

/** Names of files that say what has to be installed. */
const DEPENDENCIES = new Set(
  `package.json package-lock.json npm-shrinkwrap.json pnpm-lock.yaml pnpm-workspace.yaml yarn.lock bun.lock bun.lockb
  requirements.txt requirements-dev.txt pyproject.toml poetry.lock uv.lock pdm.lock Pipfile Pipfile.lock setup.py
  go.mod go.sum Cargo.toml Cargo.lock pom.xml build.gradle build.gradle.kts settings.gradle settings.gradle.kts
  composer.json composer.lock Gemfile Gemfile.lock mix.exs mix.lock .tool-versions .nvmrc .node-version .python-version
  .ruby-version rust-toolchain rust-toolchain.toml devcontainer.json .devcontainer.json`.split(/\s+/),
);

function dependenciesOf(repository: Repository, tree: string): string {
  const lines = [...entriesOf(repository, tree)].flatMap(([path, { oid }]) =>
    DEPENDENCIES.has(path.slice(path.lastIndexOf('/') + 1)) ? [`${oid} ${path}`] : [],
  );
  return createHash('sha256').update(lines.sort().join('\n'), 'latin1').digest('hex').slice(0, 24);
}

function copyFolder(from: string, to: string): void {
  const size = Number(program('du', ['-sb', from]).split('\t')[0]);
  if (!(size <= LIMITS.copiedBytes)) throw new Refusal('The workspace is too large to be copied.');
  program('cp', ['-a', '--reflink=auto', '--', from, to]);
}

/** Packages may be in folders that nobody may write to. */
function removeCopy(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch {
    program('chmod', ['-R', 'u+rwX', folder]);
    rmSync(folder, { recursive: true, force: true });
  }
}

function program(name: string, args: string[]): string {
  const ran = run(name, args, { env: { ...environment } });
  if (ran.code !== 0) throw new Refusal(`The workspace could not be copied: ${ran.stderr.trim().slice(-300)}`);
  return ran.stdout;
}

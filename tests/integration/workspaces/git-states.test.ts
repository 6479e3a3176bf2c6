import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { WorkspaceAnswer, WorkspaceOp } from '../../../src/contracts/workspace-ops.ts';
import { withinOneSecond } from '../../support/until.ts';
import { author, Workspace } from './program.ts';

/** States of a repository before a task, and what an agent does in them: undo brings each back exactly. */

let w: Workspace;
afterEach(() => w.remove());

const EDIT = 'sed -i s/line.5/five/ a.txt';
/** Two branches that changed the same line, with `main` checked out. */
const APART = `git checkout -qb f; ${EDIT}; git commit -qam f; git checkout -q main; sed -i s/line.5/cinq/ a.txt; git commit -qam m`;
const SPARSE = 'mkdir f; echo f > f/f; git add f; git commit -qm f; git sparse-checkout set --cone d';
const FORGET = 'git reflog expire --expire=now --all; git gc -q --prune=now';

/** Name, what the person did, what the agent did. */
const STATES: Array<[string, string, string]> = [
  ['a sparse checkout, and a file outside of it is written', SPARSE, 'mkdir f; echo n > f/f; echo g > f/g'],
  [
    'a sparse checkout that is widened and committed to',
    SPARSE,
    'git sparse-checkout add f; echo n >> f/f; git commit -qam n',
  ],
  ['a sparse checkout that is given up', SPARSE, `git sparse-checkout disable; ${EDIT}`],
  [
    'a file that git was told to overlook, and another edit of it',
    'git update-index --skip-worktree a.txt; echo mine >> a.txt',
    EDIT,
  ],
  ['a file taken for unchanged', 'git update-index --assume-unchanged a.txt', EDIT],
  ['a file that is removed and hidden from git', 'true', 'git update-index --skip-worktree a.txt; rm a.txt'],
  [
    'a file that is announced, and committed by the agent',
    'echo n > n.txt; git add -N n.txt',
    'echo m > m.txt; git add -A; git commit -qm all',
  ],
  [
    'names that differ in case alone, in a repository of another system',
    'git config core.ignorecase true; mv a.txt A.txt',
    'echo x >> A.txt; echo y > D.TXT',
  ],
  [
    'a rebase that the agent ends',
    `${APART}; git checkout -q f; git rebase -q main || true`,
    'git checkout -q --theirs a.txt; git add a.txt; GIT_EDITOR=true git rebase --continue',
  ],
  [
    'a bisect that the agent ends',
    'for i in 1 2 3 4; do echo $i >> z; git add z; git commit -qm $i; done; git bisect start; git bisect bad HEAD; git bisect good HEAD~4',
    `git bisect reset; ${EDIT}`,
  ],
  [
    'conflicts of a stash, which the agent throws away',
    `${EDIT}; git stash -q; sed -i s/line.5/cinq/ a.txt; git commit -qam m; git stash pop || true`,
    `git reset -q --hard; git stash drop -q; ${FORGET}`,
  ],
  [
    'conflicts of a picked commit with nothing in progress, resolved by the agent',
    `${APART}; git cherry-pick -n f || true`,
    'echo ok > a.txt; git add a.txt',
  ],
  [
    'a squashed merge that the agent commits',
    `${APART}; git checkout -q f~1; git merge -q --squash f`,
    'git commit -qm merged',
  ],
  [
    'an older stash that the agent drops',
    `${EDIT}; git stash -q; echo 2 >> a.txt; git stash -q; echo 3 >> a.txt`,
    `git stash drop -q stash@{1}; ${FORGET}`,
  ],
  ['work that the agent stashes', `${EDIT}; echo u > u.txt`, 'git stash -qu'],
  [
    'another branch that the agent commits to',
    'git branch dev',
    `git checkout -q dev; ${EDIT}; git commit -qam x; echo y >> d/b.txt; git branch -f main dev`,
  ],
  [
    'a history that the agent replaces and annotates',
    `${EDIT}; git commit -qam x`,
    'git replace --graft HEAD; git notes add -m agent',
  ],
  [
    'worktrees elsewhere, which the agent prunes',
    'git worktree add -q ../gone -b g; mv ../gone ../away',
    `git worktree prune; ${EDIT}`,
  ],
  ['a worktree that the agent makes', 'git branch o', 'git worktree add -q wt o; echo x >> wt/a.txt'],
  [
    'a branch without a parent that the agent makes, and one after it',
    EDIT,
    'git checkout -q --orphan made-o; git commit -qam o; git checkout -q --orphan made-p; git rm -rqf .; echo p > p.txt',
  ],
  [
    'a branch without a commit, and the agent commits to it',
    'git checkout -q --orphan o; git rm -qf a.txt; echo n > n.txt',
    'git add -A; git commit -qm o; echo m > m.txt',
  ],
  [
    'a worktree on a branch without a commit',
    'git worktree add -q --detach ../o; cd ../o; git checkout -q --orphan o; echo n > n.txt; git add -A',
    `${EDIT}; git commit -qam x; git worktree prune`,
  ],
  [
    'line endings that the agent changes',
    "printf '*.txt text\\n' > .gitattributes; git add -A; git commit -qm c",
    "printf '*.txt text eol=crlf\\n' > .gitattributes; rm a.txt; git checkout -q a.txt",
  ],
];

test.each(STATES)('%s', (_, before, task) => {
  w = new Workspace();
  w.script(
    'git init -q -b main; seq -f "line %g" 9 > a.txt; mkdir d; echo b > d/b.txt; git add -A; git commit -qm First',
  );
  w.script(before);
  const start = everything();
  w.checkpoint('t1');
  expect(everything()).toEqual(start);
  w.script(task);
  const files = w.files();
  w.conclude('t1');
  expect(w.files()).toEqual(files);
  const after = everything();
  expect(w.undo()).toMatchObject({ ok: true });
  expect(everything()).toEqual(start);
  // where something is in progress again, git has to end it first
  const again: WorkspaceAnswer = w.undo('redo');
  if (again.ok) expect(everything()).toEqual(after);
  else expect(again.output).toMatch(/in progress|unresolved conflicts/);
});

/** Everything of a repository that a person can see, but branches that Fetch or the agent (`made-`) made. */
function everything() {
  const ask = (...args: string[]) => w.script(`${args.join(' ')} || true`);
  const refs = ask('git for-each-ref')
    .split('\n')
    .filter((line) => !/refs\/heads\/(fetch\/|made-)/.test(line));
  return {
    ...w.state(),
    flags: ask('git ls-files -v'),
    status: ask('git status --porcelain=v2 --ignored'),
    staged: ask('git diff --cached --raw'),
    refs,
    stashes: ask('git stash list'),
    log: ask('git log --format=%H%s%N'),
    folder: gitFolder(),
  };
}

const CHANGE_ALWAYS = /^(objects|refs|logs|index|packed-refs|fetch|COMMIT_EDITMSG|ORIG_HEAD|gc\.log)$|^sharedindex/;
const INSIDE = /^worktrees\/[^/]+\/(logs|index|ORIG_HEAD|refs)|^info\/refs$/;

/** Files of git itself. */
function gitFolder(folder = join(w.root, '.git'), prefix = ''): Record<string, string> {
  if (!existsSync(folder)) return {};
  return Object.assign(
    {},
    ...readdirSync(folder).map((name) => {
      const [at, path] = [join(folder, name), prefix + name];
      if ((prefix === '' && CHANGE_ALWAYS.test(name)) || INSIDE.test(path)) return {};
      return lstatSync(at).isDirectory() ? gitFolder(at, `${path}/`) : { [path]: readFileSync(at, 'latin1') };
    }),
  );
}

test('an undo after the person told git something else about files leaves that, and says so', () => {
  w = new Workspace();
  w.script('git init -q -b main; echo a > a.txt; echo b > b.txt; git add -A; git commit -qm First');
  w.script('git update-index --assume-unchanged a.txt');
  w.checkpoint('t1');
  w.script('git update-index --no-assume-unchanged a.txt; echo n > n.txt');
  w.conclude('t1');
  w.script('git update-index --assume-unchanged b.txt');
  const undone = w.ask({ op: 'undo', what: 'one', author });
  expect(undone.output).toContain('stays as it is, because the index was changed since');
  expect(w.git('ls-files', '-v')).toBe('H a.txt\nh b.txt');
});

test('a task in a worktree that ends on a branch without a parent is undone exactly', () => {
  w = Workspace.repository();
  w.ok({ op: 'worktree', action: 'add', key: 'k1', author });
  w.checkpoint('k1', 'k1');
  const inside = (lines: string) => w.script(`cd .git/fetch-worktrees/k1; ${lines}`);
  const start = inside('git status; git rev-parse HEAD; ls');
  inside('git checkout -q --orphan o; echo n > n.txt; git add -A; git commit -qm o');
  inside('git checkout -q --orphan p; git rm -rqf .; echo p > p.txt');
  w.conclude('k1', { worktree: 'k1' });
  expect(w.ask({ op: 'undo', what: 'one', author, worktree: 'k1' })).toMatchObject({ ok: true });
  expect(inside('git status; git rev-parse HEAD; ls')).toBe(start);
});

test.each([
  ['refStorage', 'git refs migrate --ref-format=files'],
  ['relativeWorktrees', 'Only a newer git can read it'],
])('a repository with %s, of a later git, is refused with the reason', (extension, how) => {
  w = Workspace.repository();
  w.script(`git config core.repositoryformatversion 1; git config extensions.${extension} x`);
  const ops: WorkspaceOp[] = [
    { op: 'profile' },
    { op: 'git-status' },
    { op: 'checkpoint', key: 't1', author },
    { op: 'worktree', action: 'add', key: 'k1', author },
  ];
  for (const op of ops) expect(w.ask(op), op.op).toMatchObject({ ok: false, output: expect.stringContaining(how) });
});

test('a task in a worktree of a repository elsewhere is not committed, and its report says why', () => {
  w = new Workspace();
  w.script(
    'git init -q ../m; cd ../m; echo a > a.txt; git add -A; git commit -qm First; rmdir ../w; git worktree add -q ../w',
  );
  w.checkpoint('t1');
  w.write({ 'a.txt': 'b' });
  expect(w.conclude('t1').output).toContain('The git folder of this workspace is elsewhere: nothing was committed');
  expect(w.undo()).toMatchObject({ ok: true });
  expect(w.git('status', '--porcelain')).toBe('');
});

describe.each([
  ['removes', 'rm .git'],
  ['leads nowhere', 'echo gitdir: /nowhere > .git'],
  ['makes a link', 'rm .git; ln -s /nowhere .git'],
  ['makes a repository', 'rm .git; git init -q; echo z > z.txt; git add -A; git commit -qm z'],
])('a .git file that a task %s', (_, how) => {
  const inside = (folder: string, lines: string) => w.script(`cd ${folder}; ${lines}`);
  const linkIn = (folder: string) => readFileSync(join(w.root, folder, '.git'), 'utf8');
  /** A folder as git sees it, with what the file says. */
  const seen = (folder: string) => [
    linkIn(folder),
    inside(folder, 'git status --porcelain --ignored; git rev-parse HEAD; git branch'),
    w.files(),
  ];

  test.each([
    ['a worktree inside', 'sub', 'git worktree add -q sub -b side'],
    [
      'a submodule',
      'sub',
      'git init -q ../s; git -C ../s commit -q --allow-empty -m s; git -c protocol.file.allow=always submodule --quiet add ../s sub; git commit -qm sub',
    ],
  ])('is as before after the undo, in %s', (_, folder, before) => {
    w = Workspace.repository();
    w.script(before);
    const start = [seen(folder), w.git('status', '--porcelain')];
    w.checkpoint('t1');
    inside(folder, `echo n > n.txt; ${how}`);
    const concluded = w.conclude('t1');
    expect(concluded.files.filter(({ path }) => path === 'sub/n.txt')).toHaveLength(1);
    expect(concluded.note).toContain('Repositories inside of the workspace were changed, and are not committed: sub/');
    expect(w.undo()).toMatchObject({ ok: true });
    expect([seen(folder), w.git('status', '--porcelain')]).toEqual(start);
  });

  test('is restored before the end, in the worktree of a task', () => {
    w = Workspace.repository();
    w.ok({ op: 'worktree', action: 'add', key: 'k1', author });
    w.checkpoint('k1', 'k1');
    const folder = '.git/fetch-worktrees/k1';
    const start = seen(folder);
    inside(folder, `echo n > n.txt; ${how}`);
    const concluded = w.conclude('k1', { worktree: 'k1' });
    expect(concluded.note).toMatch(/its worktree/);
    expect(w.git('show', 'fetch/k1:n.txt')).toBe('n');
    expect(inside(folder, 'git log -1 --format=%H; git status --porcelain')).toBe(concluded.commit);
    expect(w.ask({ op: 'undo', what: 'one', author, worktree: 'k1' })).toMatchObject({ ok: true });
    expect(seen(folder)).toEqual(start);
    // so that the next run can use git, if this one was killed
    inside(folder, how);
    w.ok({ op: 'worktree', action: 'add', key: 'k1', author });
    expect(linkIn(folder)).toBe(start[0]);
  });

  test('is as before after the undo, in a worktree of a repository elsewhere', () => {
    w = new Workspace();
    w.script(
      'git init -q ../m; git -C ../m commit -q --allow-empty -m First; rmdir ../w; git -C ../m worktree add -q ../w',
    );
    w.write({ 'a.txt': 'a\n' });
    const start = seen('.');
    w.checkpoint('t1');
    inside('.', `echo n > n.txt; ${how}`);
    expect(w.conclude('t1').note).toContain('the .git file, which leads to a repository elsewhere');
    if (how.includes('git init -q;')) {
      expect(w.undo()).toMatchObject({ ok: false, output: expect.stringContaining('Move the folder .git away first') });
      expect(w.read('n.txt')).toBe('n\n');
      w.script('mv .git ../own');
    }
    expect(w.undo()).toMatchObject({ ok: true });
    expect(seen('.')).toEqual(start);
  });
});

describe('a change that keeps the size of a file, in the second in which git looked at it, is seen', () => {
  /** Stages a file and changes it in the same second. Git knows that it has to look again by the time of its index. */
  const changedAtOnce = (folder = '.'): Promise<void> =>
    withinOneSecond(() => {
      w.write({ [`${folder}/quick.txt`]: 'one\n' });
      w.git('-C', folder, 'add', 'quick.txt');
      w.write({ [`${folder}/quick.txt`]: 'two\n' });
    });
  const status = (folder = '.') => w.script(`GIT_OPTIONAL_LOCKS=0 git -C ${folder} status --porcelain quick.txt`);

  test('by a diff that shows new files', async () => {
    w = Workspace.repository();
    await changedAtOnce();
    w.write({ 'new.txt': 'new\n' });
    expect(w.ok({ op: 'git-diff', staged: false }).output).toContain('+two');
  });

  test.each([
    [
      'after the conflicts of a picked commit came back',
      `${APART}; git cherry-pick -n f || true`,
      'echo ok > a.txt; git add a.txt',
    ],
    ['after the git folder was made again', 'true', 'rm -r .git'],
  ])('%s', async (_, before, task) => {
    w = new Workspace();
    w.script('git init -q -b main; seq -f "line %g" 9 > a.txt; git add -A; git commit -qm First');
    w.script(before);
    await changedAtOnce();
    w.checkpoint('t1');
    w.script(task);
    w.conclude('t1');
    expect(w.undo()).toMatchObject({ ok: true });
    expect(status()).toBe('AM quick.txt');
  });

  test('after a repository inside of the workspace came back', async () => {
    w = Workspace.repository();
    w.script('git init -q inner');
    await changedAtOnce('inner');
    w.checkpoint('t1');
    w.script('rm -r inner/.git');
    w.conclude('t1');
    expect(w.undo()).toMatchObject({ ok: true });
    expect(status('inner')).toBe('AM quick.txt');
  });
});

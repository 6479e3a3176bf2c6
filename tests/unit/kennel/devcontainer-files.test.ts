import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { MOST } from '../../../kennel/workspace/environment/build-files.ts';
import { readDevcontainer } from '../../../kennel/workspace/environment/devcontainer.ts';
import { readDockerfile } from '../../../kennel/workspace/environment/dockerfile.ts';
import { removeScratch } from '../../../kennel/workspace/git/git.ts';

const made: string[] = [];
afterEach(() => {
  removeScratch();
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/**
 * A repository whose devcontainer has these instructions after its FROM. All files are committed, except those that git
 * ignores.
 */
function repository(instructions: string, files: Record<string, string> = {}, context = '..') {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'fetch-devcontainer-')));
  made.push(root);
  const own = {
    '.devcontainer/devcontainer.json': JSON.stringify({ build: { dockerfile: 'Dockerfile', context } }),
    '.devcontainer/Dockerfile': `FROM debian\n${instructions}\n`,
  };
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  for (const [path, text] of Object.entries({ ...own, ...files })) write(path, text);
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { cwd: root, stdio: 'pipe' });
  git('init', '-q');
  git('add', '.');
  git('commit', '-qm', 'files');
  const place = { root, workspace: root, worktree: null, side: join(root, 'none') };
  const read = () => readDevcontainer(place)!;
  return {
    root,
    write,
    read,
    copied: () => read().own?.copied.map(({ path }) => path),
    refused: () => read().refused.map(({ line, why }) => `${line}: ${why}`),
  };
}

describe('what a Dockerfile copies of the repository', () => {
  it.each([
    ['COPY requirements.txt /tmp/', ['requirements.txt']],
    ['COPY --chown=1000:1000 a b/ /srv/', ['a', 'b']],
    ['COPY ["a file", "/srv/"]', ['a file']],
    ['ADD /package*.json ./', ['package*.json']],
    ['COPY . /app', ['.']],
    ['COPY ./a/../b \\\n  # why\n  c /app/', ['b', 'c']],
    ['copy --from=0 /x /y', []],
  ])('%s', (instruction, paths) => {
    const { refused, sources } = readDockerfile(`FROM debian\n${instruction}\n`);
    expect(refused).toEqual([]);
    expect(sources.map(({ path, line }) => [path, line])).toEqual(paths.map((path) => [path, 2]));
  });

  it.each([
    ['COPY ../secret /', 'leads out'],
    ['COPY a/../../secret /', 'leads out'],
    ['COPY ["a", "../../etc/passwd", "/"]', 'leads out'],
    ['ADD https://evil.example/x.tar /', 'elsewhere'],
    ['ADD git@evil.example:x /', 'elsewhere'],
    ['COPY <<EOF /etc/x', 'into a file'],
    ['COPY $HOME/.ssh /', 'plainly'],
    ['COPY "a /', 'plainly'],
    ['COPY [a-z] /', 'plainly'],
    ['COPY --link a /', 'only --chown and --from'],
    ['COPY --chmod=777 a /', 'only --chown and --from'],
    ['ADD --checksum=x a /', 'only --chown can'],
    ['ADD --from=evil a /', 'only --chown can'],
    ['COPY --from=evil:latest /etc/shadow /', 'another image'],
    ['COPY --from= /etc/shadow /', 'another image'],
    ['COPY --chown=a --from=evil /etc/shadow /', 'another image'],
    ['COPY only', 'needs a file'],
    ['COPY', 'needs a file'],
    ['ONBUILD COPY . /', 'not used here'],
  ])('%s is refused', (instruction, why) => {
    const { refused, sources } = readDockerfile(`FROM debian\n${instruction}\n`);
    expect(refused).toEqual([{ line: 2, text: instruction, why: expect.stringContaining(why) }]);
    expect(sources).toEqual([]);
  });

  it('are files that git knows or would take, with what is in them and whether they can be run', () => {
    const { root, write, copied, read } = repository('COPY tools new.txt /srv/', {
      'tools/a.sh': 'a',
      'tools/deep/b': 'b',
      'other.txt': 'o',
      '.gitignore': '*.secret\n',
    });
    chmodSync(join(root, 'tools/a.sh'), 0o755);
    write('tools/key.secret', 'key');
    write('new.txt', 'not added yet');
    expect(copied()).toEqual(['new.txt', 'tools/a.sh', 'tools/deep/b']);
    expect(read().own!.copied[1]).toEqual({
      path: 'tools/a.sh',
      executable: true,
      bytes: 1,
      sha256: createHash('sha256').update('a').digest('hex'),
    });
    expect(read().contents()).toContainEqual({
      path: 'new.txt',
      executable: false,
      base64: Buffer.from('not added yet').toString('base64'),
    });
    expect(read().files).toEqual(
      expect.arrayContaining(['tools', 'tools/deep', 'tools/a.sh', '.gitignore', '.dockerignore']),
    );
  });

  it('are everything for a whole folder, but never the files of git', () => {
    const { copied } = repository('COPY . /app', { 'a/b': '1', 'src/c': '2' });
    expect(copied()).toEqual(['.devcontainer/Dockerfile', '.devcontainer/devcontainer.json', 'a/b', 'src/c']);
    expect(repository('COPY .git /git').refused()).toEqual([expect.stringContaining('No file of the repository')]);
  });

  it('begin at the folder that the devcontainer names, or at its own', () => {
    expect(repository('COPY a /', { a: '1', 'sub/a': '2' }, '../sub').read().own!.copied[0]!.bytes).toBe(1);
    expect(repository('COPY a /', { a: '1' }, '.').refused()).toEqual([
      expect.stringMatching(/^2: No file of the repository/),
    ]);
    expect(repository('COPY a /', { '.devcontainer/a': '1' }, '.').copied()).toEqual(['a']);
    expect(repository('COPY a /', { a: '1' }, '../..').refused()).toEqual([
      expect.stringMatching(/leads out of the repository/),
      expect.anything(),
    ]);
  });

  it('leave out what .dockerignore names, as Docker reads it', () => {
    const files = {
      '.dockerignore': '# comment\ndocs\n*.log\n**/*.tmp\n!docs/keep.md\n',
      'docs/a.md': '',
      'docs/keep.md': '',
      'x.log': '',
      'deep/x.log': '',
      'deep/y.tmp': '',
    };
    expect(repository('COPY . /', files).copied()).toEqual([
      '.devcontainer/Dockerfile',
      '.devcontainer/devcontainer.json',
      'deep/x.log',
      'docs/keep.md',
    ]);
    expect(repository('COPY docs/a.md /', files).refused()).toEqual([
      expect.stringContaining('.dockerignore leaves it out'),
    ]);
  });

  it('follow a symbolic link inside of the repository, and no other', () => {
    const { root, copied, refused } = repository('COPY link /', {
      target: 'text',
      '.gitignore': 'ignored\n',
      ignored: 'key',
    });
    const to = (target: string) => {
      rmSync(join(root, 'link'), { force: true });
      symlinkSync(target, join(root, 'link'));
    };
    to('target');
    expect(copied()).toEqual(['link']);
    to('/etc/passwd');
    expect(refused()).toEqual([expect.stringMatching(/^2: .*leads out of the workspace/)]);
    to('ignored');
    expect(refused()).toEqual([expect.stringMatching(/^2: .*something that git does not know/)]);
    to('.git/config');
    expect(refused()).toEqual([expect.stringMatching(/^2: .*git's own files/)]);
    to('.');
    expect(refused()).toEqual([expect.stringMatching(/^2: .*something that git does not know/)]);
    to('nowhere');
    expect(refused()).toEqual([expect.stringMatching(/^2: .*leads nowhere/)]);
  });

  it('have a limit in bytes and in number, whose refusal says what to do', () => {
    const large = repository('COPY a b /', { a: '', b: '' });
    for (const name of ['a', 'b']) truncateSync(join(large.root, name), MOST.bytes / 2 + 1);
    expect(large.refused()).toEqual([
      expect.stringMatching(
        /^2: It would copy too much\. A Dockerfile may copy 2000 files of together 32 MB\..*\.dockerignore/,
      ),
    ]);
    const many = repository(
      'COPY many /',
      Object.fromEntries(Array.from({ length: MOST.files + 1 }, (_, at) => [`many/${at}`, ''])),
    );
    expect(many.refused()).toEqual([expect.stringMatching(/^2: It would copy too many files/)]);
  });

  it('are none without a repository, and a pattern that fits slowly fits at once', () => {
    const { root, refused } = repository(`COPY ${'*a'.repeat(60)}b /`, { ['a'.repeat(200)]: '' });
    expect(refused()).toEqual([expect.stringContaining('No file of the repository')]);
    rmSync(join(root, '.git'), { recursive: true });
    expect(refused()).toEqual([expect.stringContaining('this is no git repository')]);
  });
});

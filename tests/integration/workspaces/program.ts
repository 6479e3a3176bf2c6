import { spawn, spawnSync } from 'node:child_process';
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ConcludedChanges, WorkspaceAnswer, WorkspaceOp } from '../../../src/contracts/workspace-ops.ts';
import { COMPILED } from '../../support/compiled.ts';

const MAIN = fileURLToPath(new URL('../../../kennel/workspace/main.ts', import.meta.url));
export const author = { name: 'Test Person', email: 'test@example.com' };

/** A folder with the workspace program at hand, and real git as a person would use it. */
export class Workspace {
  readonly base = mkdtempSync(join(tmpdir(), 'fetch-workspace-'));
  readonly root = join(this.base, 'w');
  readonly side = join(this.base, 'side');
  env: Record<string, string> = {};

  constructor() {
    mkdirSync(this.root);
    mkdirSync(this.side);
  }

  static repository(files: Record<string, string> = { 'a.txt': 'one\n' }): Workspace {
    const workspace = new Workspace();
    workspace.git('init', '-q', '-b', 'main');
    workspace.write(files);
    workspace.git('add', '-A');
    workspace.git('commit', '-q', '-m', 'First');
    return workspace;
  }

  remove(): void {
    spawnSync('chmod', ['-R', 'u+rwX', this.base]);
    rmSync(this.base, { recursive: true, force: true });
  }

  /** The program's environment: where the workspace is, and PATH. */
  private programEnv(): Record<string, string> {
    return {
      ...COMPILED,
      PATH: process.env.PATH ?? '',
      FETCH_WORKSPACE_ROOT: this.root,
      FETCH_SIDE_GIT: this.side,
      ...this.env,
    };
  }

  ask(op: WorkspaceOp): WorkspaceAnswer {
    const ran = this.run(op);
    if (ran.status !== 0) throw new Error(`${op.op} ended with ${ran.status ?? ran.signal}: ${ran.stderr}`);
    return JSON.parse(ran.stdout) as WorkspaceAnswer;
  }

  run(op: WorkspaceOp) {
    return spawnSync(process.execPath, [MAIN], {
      input: JSON.stringify(op),
      env: this.programEnv(),
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
    });
  }

  /** Several operations of one process. */
  serve(ops: WorkspaceOp[]): WorkspaceAnswer[] {
    const input = ops.map((op) => `${JSON.stringify(op)}\n`).join('');
    const ran = spawnSync(process.execPath, [MAIN, 'serve'], { input, env: this.programEnv(), encoding: 'utf8' });
    if (ran.status !== 0) throw new Error(`it ended with ${ran.status}: ${ran.stderr}`);
    return ran.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as WorkspaceAnswer);
  }

  /** Like `run`, but in a process group of its own, so that the program and its git can be killed together. */
  start(op: WorkspaceOp): Promise<{ code: number | null; stdout: string }> {
    const child = spawn(process.execPath, [MAIN], {
      env: this.programEnv(),
      stdio: ['pipe', 'pipe', 'ignore'],
      detached: true,
    });
    child.stdin.on('error', () => {}).end(JSON.stringify(op));
    let stdout = '';
    child.stdout.on('data', (text) => (stdout += text));
    return new Promise((resolve) => child.on('close', (code) => resolve({ code, stdout })));
  }

  ok(op: WorkspaceOp): WorkspaceAnswer {
    const answer = this.ask(op);
    if (!answer.ok) throw new Error(`${op.op} was refused: ${answer.output}`);
    return answer;
  }

  checkpoint(key: string, worktree?: string): WorkspaceAnswer {
    return this.ok({ op: 'checkpoint', key, author, worktree });
  }

  conclude(
    key: string,
    options: { keepOnBranchOnly?: boolean; worktree?: string; message?: string } = {},
  ): ConcludedChanges & { output: string } {
    const { keepOnBranchOnly = false, worktree, message = `Task ${key}` } = options;
    const answer = this.ok({ op: 'conclude', key, message, author, keepOnBranchOnly, worktree });
    return { ...(answer.data as unknown as ConcludedChanges), output: answer.output };
  }

  undo(what: 'one' | 'all' | 'redo' = 'one', key?: string): WorkspaceAnswer {
    return this.ask({ op: 'undo', what, author, key });
  }

  /** git in the store, where the program keeps its checkpoints. */
  kept(...args: string[]): string {
    return this.git('--git-dir', join(this.side, readFileSync(join(this.side, 'sha1'), 'utf8')), ...args);
  }

  git(...args: string[]): string {
    return this.program('git', args);
  }

  /** Lines of a shell. */
  script(lines: string): string {
    return this.program('bash', ['-ec', lines]);
  }

  private program(name: string, args: string[]): string {
    const ran = spawnSync(name, args, {
      cwd: this.root,
      encoding: 'utf8',
      env: {
        PATH: process.env.PATH,
        HOME: this.base,
        LC_ALL: 'C.UTF-8',
        GIT_CONFIG_NOSYSTEM: '1',
        GIT_AUTHOR_NAME: 'Person',
        GIT_AUTHOR_EMAIL: 'p@example.com',
        GIT_COMMITTER_NAME: 'Person',
        GIT_COMMITTER_EMAIL: 'p@example.com',
      },
    });
    if (ran.status !== 0) throw new Error(`${name} ${args.join(' ')}: ${ran.stderr}${ran.stdout}`);
    return ran.stdout.trimEnd();
  }

  write(files: Record<string, string | Buffer | null>): void {
    for (const [path, text] of Object.entries(files)) {
      const at = join(this.root, path);
      if (text === null) rmSync(at, { recursive: true });
      else {
        mkdirSync(dirname(at), { recursive: true });
        writeFileSync(at, text);
      }
    }
  }

  bytes(path: string): Buffer {
    return readFileSync(join(this.root, path));
  }

  read(path: string): string {
    return readFileSync(join(this.root, path), 'utf8');
  }

  /** Every file and link outside of `.git`, by path: kind, permission to run, and bytes. */
  files(root = this.root): Record<string, string> {
    const found: Record<string, string> = {};
    const visit = (folder: Buffer, prefix: string) => {
      for (const name of readdirSync(folder, { encoding: 'buffer' })) {
        const text = name.toString('latin1');
        if (text === '.git') continue;
        const at = Buffer.concat([folder, Buffer.from('/'), name]);
        const stats = lstatSync(at);
        if (stats.isDirectory()) visit(at, `${prefix}${text}/`);
        else if (stats.isSymbolicLink()) found[prefix + text] = `link ${readlinkSync(at)}`;
        else if (stats.isFile())
          found[prefix + text] = `${stats.mode & 0o100 ? 'x' : '-'} ${readFileSync(at, 'latin1')}`;
      }
    };
    visit(Buffer.from(root), '');
    return found;
  }

  /** All that belongs to the person: files, HEAD, branch, and the index. */
  state(): { files: Record<string, string>; head: string; branch: string; index: string; status: string } {
    const attempt = (...args: string[]) => {
      try {
        return this.git(...args);
      } catch {
        return '';
      }
    };
    return {
      files: this.files(),
      head: attempt('rev-parse', '-q', '--verify', 'HEAD'),
      branch: attempt('symbolic-ref', '-q', 'HEAD'),
      index: attempt('ls-files', '-s'),
      status: attempt('status', '--porcelain'),
    };
  }
}

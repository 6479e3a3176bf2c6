import { spawn } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Kennel, KennelCommand } from '../../src/adapters/kennel/kennel.ts';
import type { WorkspaceAnswer } from '../../src/contracts/workspace-ops.ts';

const PROGRAM = fileURLToPath(new URL('../../kennel/workspace/main.ts', import.meta.url));

/**
 * A kennel whose commands are processes of this machine, for tests of what git does in a workspace: without an engine,
 * and in milliseconds. It runs only scripts of ours.
 */
export const processKennel = (): Pick<Kennel, 'ready' | 'provide' | 'command' | 'workspaceOp'> => ({
  ready: async () => {},
  provide: async () => ({ image: 'none', notes: [] }) as never,
  workspaceOp: (workspace, op, { signal } = {}) =>
    new Promise<WorkspaceAnswer>((resolve, reject) => {
      const env = {
        PATH: process.env.PATH,
        FETCH_WORKSPACE_ROOT: workspace,
        FETCH_SIDE_GIT: mkdtempSync(join(tmpdir(), 'fetch-side-')),
      };
      const child = spawn(process.execPath, [PROGRAM], { env, signal });
      let [out, said] = ['', ''];
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        out += text;
      });
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        said += text;
      });
      child.stdin.end(JSON.stringify(op));
      child.on('error', reject);
      child.on('close', (code) =>
        code === 0 ? resolve(JSON.parse(out) as WorkspaceAnswer) : reject(new Error(said || `it ended with ${code}`)),
      );
    }),
  command: async (command) => {
    const [program, ...args] = command.argv;
    const child = spawn(program!, args, {
      cwd: command.workspace ?? undefined,
      env: { PATH: process.env.PATH, HOME: '/nonexistent', GIT_CONFIG_NOSYSTEM: '1', LC_ALL: 'C', ...command.env },
      signal: command.signal,
    });
    const kept = { stdout: '', stderr: '' };
    for (const stream of ['stdout', 'stderr'] as const)
      child[stream].setEncoding('utf8').on('data', (text: string) => {
        command.onOutput?.(stream, text);
        kept[stream] += text;
      });
    child.stdin.on('error', () => {});
    child.stdin.end(await stdinOf(command));
    const code = await new Promise<number | null>((resolve, reject) => {
      child.on('error', reject);
      child.on('close', resolve);
    });
    const cut = kept.stdout.length > command.maxOutput;
    const part = (text: string) => (text.length > command.maxOutput ? text.slice(-command.maxOutput) : text);
    return { code, stdout: part(kept.stdout), stderr: part(kept.stderr), cut, timedOut: false, outOfMemory: false };
  },
});

const stdinOf = async ({ stdin }: KennelCommand): Promise<string> => (stdin === undefined ? '' : await stdin);

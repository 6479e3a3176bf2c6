import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RunLog } from './log/log.ts';
import type { Sanitiser } from './log/sanitiser.ts';

const SHOWN_CHARS = 2_000;
/** A setup that hangs must not use up the task's time. */
const LIMIT_MS = 15 * 60_000;

export interface Setup {
  /** shell lines of the repository, to which a person agreed */
  lines: readonly string[];
  home: string;
  cwd: string;
  env: Record<string, string>;
  log: RunLog;
  sanitiser: Sanitiser;
  signal: AbortSignal;
}

/**
 * Runs what the repository wants to have run before the work, once in a task: its HOME, where most of it goes, stays
 * from run to run. The agent begins in any case. It can see in the log what failed.
 */
export async function prepareWorkspace({ lines, home, cwd, env, log, sanitiser, signal }: Setup): Promise<void> {
  for (const [at, line] of lines.entries()) {
    const done = join(home, `.fetch-setup-${createHash('sha256').update(line).digest('hex').slice(0, 16)}`);
    if (signal.aborted || existsSync(done)) continue;
    const call = {
      type: 'tool',
      id: `setup-${at + 1}`,
      title: `setup: ${sanitiser.line(line, 200)}`,
      kind: 'execute',
    } as const;
    log.write({ ...call, status: 'in_progress' });
    const { code, output } = await run(line, { cwd, env: { ...env, HOME: home }, signal });
    log.write({ ...call, status: code === 0 ? 'completed' : 'failed', detail: sanitiser.detail(output, SHOWN_CHARS) });
    if (code === 0) writeFileSync(done, '');
  }
}

function run(
  line: string,
  { cwd, env, signal }: Pick<Setup, 'cwd' | 'env' | 'signal'>,
): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve) => {
    // in a group of its own, so that nothing of it is left
    const child = spawn('bash', ['-c', line], { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (data: Buffer) => {
        output = (output + data.toString()).slice(-SHOWN_CHARS);
      });
    const end = () => {
      try {
        process.kill(-child.pid!, 'SIGKILL');
      } catch {
        // it has ended
      }
    };
    const timer = setTimeout(end, LIMIT_MS);
    signal.addEventListener('abort', end, { once: true });
    child.once('error', (error) => resolve({ code: null, output: error.message }));
    child.once('close', (code) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      end();
      resolve({ code, output });
    });
  });
}

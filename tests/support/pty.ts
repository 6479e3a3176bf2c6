import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { until } from './until.ts';

const ENTRY = fileURLToPath(new URL('../../bin/fetch.js', import.meta.url));

/** A terminal with one command of ours in it, lent by the `script` of util-linux. */
export interface Pty {
  /** what it has shown since it was opened */
  shown(): string;
  sees(what: string | RegExp, ms?: number): Promise<unknown>;
  /** keys, as they come */
  press(keys: string): void;
  /** a line, and Enter */
  type(line: string): void;
  /** waits until the command has ended by itself; its exit code */
  ended(): Promise<number>;
  /** closes the window: the kernel sends SIGHUP to what runs in it */
  close(): Promise<void>;
}

/**
 * @param after what the shell does when the command has ended; by default there is no shell any more, so that Ctrl-C
 * and the exit code are the command's own
 */
export function openPty(
  args: string,
  env: Record<string, string>,
  after = '',
  { cols, rows }: { cols: number; rows: number } = { cols: 120, rows: 60 },
): Pty {
  const fetch = `${process.execPath} ${ENTRY} ${args}`;
  const command = `stty cols ${cols} rows ${rows}; ${after ? `${fetch}; ${after}` : `exec ${fetch}`}`;
  const child: ChildProcess = spawn('script', ['-qefc', command, '/dev/null'], {
    env: { ...env, TERM: 'xterm' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let shown = '';
  child.stdout!.setEncoding('utf8').on('data', (chunk: string) => {
    shown += chunk;
  });
  const gone = new Promise<number>((resolve) => child.once('exit', (code) => resolve(code ?? -1)));
  return {
    shown: () => shown,
    sees: (what, ms = 100_000) =>
      until(
        `the terminal shows ${what}`,
        () => (typeof what === 'string' ? shown.includes(what) : what.test(shown)),
        ms,
      ).catch((error) => {
        throw new Error(`${error.message}\nIt shows:\n${shown.slice(-3000)}`);
      }),
    press: (keys) => void child.stdin!.write(keys),
    type: (line) => void child.stdin!.write(`${line}\r`),
    ended: () => gone,
    async close() {
      child.kill('SIGKILL');
      await gone;
    },
  };
}

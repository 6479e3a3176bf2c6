import { spawnSync } from 'node:child_process';

export interface Ran {
  /** null: killed, because of `timeoutMs` or because it wrote more than `maxOutput` */
  code: number | null;
  /** bytes as characters 0 to 255, so that names that are not UTF-8 survive */
  stdout: string;
  stderr: string;
  /** the output was longer than `maxOutput` bytes */
  cut: boolean;
  timedOut: boolean;
}

export interface RunOptions {
  cwd?: string;
  env: Record<string, string>;
  /** bytes as characters 0 to 255 */
  input?: string | Buffer;
  /** bytes */
  maxOutput?: number;
  timeoutMs?: number;
  /** file descriptor that gets the output, in place of `stdout` */
  stdoutTo?: number;
  /** file descriptor to read from, in place of `input` */
  stdinFrom?: number;
}

/** Runs one program to its end. Throws only when it cannot be started. */
export function run(program: string, args: string[], options: RunOptions): Ran {
  const input = typeof options.input === 'string' ? bytesOf(options.input) : options.input;
  const result = spawnSync(program, args, {
    cwd: options.cwd,
    env: options.env,
    ...(options.stdinFrom === undefined && { input: input ?? Buffer.alloc(0) }),
    maxBuffer: options.maxOutput ?? 512 * 1024 * 1024,
    timeout: options.timeoutMs ?? 0,
    killSignal: 'SIGKILL',
    stdio: [options.stdinFrom ?? 'pipe', options.stdoutTo ?? 'pipe', 'pipe'],
  });
  const code = (result.error as NodeJS.ErrnoException | undefined)?.code;
  // EPIPE: the program ended without reading its input; its exit code says more
  if (result.error && code !== 'ENOBUFS' && code !== 'ETIMEDOUT' && code !== 'EPIPE') throw result.error;
  return {
    code: result.status,
    stdout: result.stdout?.toString('latin1') ?? '',
    stderr: result.stderr?.toString('utf8') ?? '',
    cut: code === 'ENOBUFS',
    timedOut: code === 'ETIMEDOUT',
  };
}

/** The bytes of characters 0 to 255. Throws for other text, which would be damaged silently. */
function bytesOf(characters: string): Buffer {
  const bytes = Buffer.from(characters, 'latin1');
  if (bytes.toString('latin1') !== characters) throw new Error('text was given where bytes belong');
  return bytes;
}

/** Text of bytes that are held as characters 0 to 255. */
export const utf8 = (bytes: string): string => Buffer.from(bytes, 'latin1').toString('utf8');

/** The bytes of a text, as characters 0 to 255. */
export const binary = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');

import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve, sep } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { AgentCommand } from '../profile/profile.ts';

/** how much of the end of stderr is kept, in characters */
const STDERR = 8000;

/** The agent's process, in its own process group. */
export class AgentProcess {
  readonly child: ChildProcess;
  /** How it ended, in words. */
  readonly exited: Promise<string>;
  ended: string | null = null;
  private tail = '';

  /** Throws when a file of the profile would be outside HOME. */
  constructor(command: AgentCommand, home: string, cwd: string, env: Record<string, string>) {
    for (const file of command.files) writeUnder(home, file);
    const all: Record<string, string> = { ...env, HOME: home };
    for (const [name, value] of Object.entries(command.env)) {
      if (value === null) delete all[name];
      else all[name] = value;
    }
    const [program, ...args] = command.argv;
    this.child = spawn(program!, args, { cwd, env: all, detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
    this.child.stdin!.on('error', () => undefined);
    this.child.stdout!.on('error', () => undefined);
    // read all of it and keep little: a gigabyte here must not block the agent or fill the memory
    this.child.stderr!.on('data', (data: Buffer) => {
      this.tail = (this.tail + data.subarray(-STDERR).toString()).slice(-STDERR);
    });
    this.exited = new Promise((done) => {
      const end = (how: string) => {
        this.ended ??= how;
        done(this.ended);
      };
      this.child.once('error', (error: NodeJS.ErrnoException) => {
        if (this.child.pid !== undefined) return;
        const why = error.code === 'ENOENT' ? 'it is not installed in this image' : error.message;
        end(`The agent could not be started (${program}): ${why}.`);
      });
      this.child.once('exit', (code, signal) =>
        end(signal ? `The agent was ended by ${signal}` : `The agent ended with code ${code}`),
      );
    });
  }

  /** The last part of its stderr. */
  get stderr(): string {
    return this.tail;
  }

  /**
   * Ends the agent gracefully: first the end of its input (most agents then save their session and exit), then SIGTERM,
   * then SIGKILL to the whole group.
   */
  async stop(patience: { input: number; term: number }): Promise<void> {
    if (!this.ended) this.child.stdin!.end();
    if (!(await this.gone(patience.input))) this.signal('SIGTERM');
    await this.gone(patience.term);
    // even when it has exited: processes of its group may be left
    this.signal('SIGKILL');
    await this.gone(2000);
  }

  /**
   * Freezes every process of the agent, or lets them go on. In a container that is every process, even those that left
   * the agent's group.
   */
  freeze(frozen: boolean, contained: boolean): void {
    // in a container: all but its first process and this one
    this.signal(frozen ? 'SIGSTOP' : 'SIGCONT', contained);
  }

  private async gone(ms: number): Promise<boolean> {
    if (this.ended) return true;
    await Promise.race([this.exited, pause(ms, undefined, { ref: false })]);
    return this.ended !== null;
  }

  private signal(signal: NodeJS.Signals, everything = false): void {
    if (this.child.pid === undefined) return;
    try {
      process.kill(everything ? -1 : -this.child.pid, signal);
    } catch {
      // no process is left
    }
  }
}

function writeUnder(home: string, file: AgentCommand['files'][number]): void {
  const path = resolve(join(home, file.path));
  if (!path.startsWith(resolve(home) + sep)) throw new Error(`${file.path} is outside HOME`);
  if (file.once && existsSync(path)) return;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, file.content, { mode: 0o600 });
}

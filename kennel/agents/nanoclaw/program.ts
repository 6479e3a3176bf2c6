import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { type Output, OutputReader } from './outputs.ts';

/** What the image's program reads on stdin, as one JSON. */
export interface Input {
  prompt: string;
  sessionId?: string;
  groupFolder: string;
  chatJid: string;
  isMain: boolean;
  isScheduledTask?: true;
  assistantName: string;
  /** never a real key: the gate adds it outside */
  secrets: Record<string, string>;
}

export type Event = { what: 'output'; output: Output } | { what: 'exited'; problem: string | null };

/** How much of the end of stderr an error names, in characters. */
const STDERR = 200;

/** The program of NanoClaw's image: started once, then told more through files. */
export class Program {
  /** resolves when it has ended */
  readonly gone: Promise<void>;
  ended = false;
  private readonly child: ChildProcess;
  private readonly events: Event[] = [];
  private wake = () => {};
  private tail = '';

  constructor(argv: readonly string[], cwd: string, env: NodeJS.ProcessEnv, input: Input) {
    const [program, ...args] = argv;
    this.child = spawn(program!, args, { cwd, env, stdio: ['pipe', 'pipe', 'pipe'] });
    const reader = new OutputReader();
    const add = (outputs: Output[]) => {
      for (const output of outputs) this.add({ what: 'output', output });
    };
    // decoded as a stream: a character may be split between two pieces
    this.child.stdout!.setEncoding('utf8').on('data', (piece: string) => add(reader.push(piece)));
    this.child.stderr!.setEncoding('utf8').on('data', (piece: string) => {
      this.tail = (this.tail + piece).slice(-STDERR);
      process.stderr.write(piece);
    });
    this.child.stdin!.on('error', () => {});
    this.child.stdin!.end(JSON.stringify(input));
    this.gone = new Promise((done) => {
      const end = (problem: string | null) => {
        if (this.ended) return;
        this.ended = true;
        add(reader.end());
        this.add({ what: 'exited', problem });
        done();
      };
      this.child.once('error', (error) => end(`Container spawn error: ${error.message}`));
      this.child.once('close', (code, signal) =>
        end(code === 0 ? null : `Container exited with code ${code ?? signal}: ${this.tail.trim()}`),
      );
    });
  }

  /** The next thing that happens; null when nothing does within this time. */
  async next(ms: number): Promise<Event | null> {
    if (this.events.length === 0) {
      const waiting = Promise.withResolvers<void>();
      this.wake = waiting.resolve;
      const timer = setTimeout(waiting.resolve, ms);
      await waiting.promise;
      clearTimeout(timer);
    }
    return this.events.shift() ?? null;
  }

  async kill(): Promise<void> {
    if (this.ended) return;
    this.child.kill('SIGTERM');
    await Promise.race([this.gone, pause(2_000, undefined, { ref: false })]);
    if (!this.ended) this.child.kill('SIGKILL');
    await this.gone;
  }

  private add(event: Event): void {
    this.events.push(event);
    this.wake();
  }
}

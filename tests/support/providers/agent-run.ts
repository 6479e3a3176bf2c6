import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AgentName, Command, LogLine, RunSpec } from '../../../src/contracts/kennel.ts';
import type { TestKennel } from '../docker.ts';
import { until } from '../until.ts';
import { startTestGate, type TestGate } from './gate.ts';
import { type ProviderEntry, type Providers, startProviders } from './server.ts';

let count = 0;

type OfType<T extends LogLine['type']> = Extract<LogLine, { type: T }>;
type CommandBody = Command extends infer C ? (C extends Command ? Omit<C, 'id' | 'step'> : never) : never;

/** What a run has beside its specification. */
export interface RunSettings extends Partial<RunSpec> {
  /** the run folder is a file system of its own, of so many megabytes: only root can mount one */
  diskMb?: number;
}

/** One run of an agent: its folders, a gate, providers of its own, and its containers one after another. */
export class AgentRun {
  readonly taskId = `agents-${process.pid}-${++count}`;
  readonly agent: AgentName;
  readonly root: string;
  readonly folder: string;
  readonly workspace: string;
  readonly providers: Providers;
  private readonly at: TestKennel;
  readonly gate: TestGate;
  private readonly settings: Partial<RunSpec>;
  private readonly mounted: boolean;
  private step = 0;
  private commands = 0;

  private constructor(
    at: TestKennel,
    agent: AgentName,
    root: string,
    providers: Providers,
    gate: TestGate,
    { diskMb, ...settings }: RunSettings,
  ) {
    this.at = at;
    this.agent = agent;
    this.root = root;
    this.folder = join(root, 'run');
    this.workspace = join(root, 'workspace');
    this.providers = providers;
    this.gate = gate;
    this.settings = settings;
    this.mounted = diskMb !== undefined;
  }

  static async open(at: TestKennel, agent: AgentName, settings: RunSettings): Promise<AgentRun> {
    const root = mkdtempSync(join(tmpdir(), 'agent-'));
    if (settings.diskMb !== undefined) {
      mkdirSync(join(root, 'run'));
      execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${settings.diskMb}m`, 'fetch-test', join(root, 'run')]);
    }
    for (const name of ['run/gate', 'run/home', 'workspace']) mkdirSync(join(root, name), { recursive: true });
    const providers = await startProviders();
    const gate = await startTestGate(join(root, 'run/gate'), providers.origin);
    const made = new AgentRun(at, agent, root, providers, gate, settings);
    made.give('workspace', 'run', 'run/home', 'run/gate', 'run/gate/model.sock', 'run/gate/egress.sock');
    return made;
  }

  /** Starts the container of the next step. */
  async begin(prompt: string, more: Partial<RunSpec> = {}): Promise<void> {
    this.step += 1;
    const spec: RunSpec = {
      version: 1,
      taskId: this.taskId,
      step: this.step,
      harness: this.agent,
      prompt,
      sessionId: null,
      model: null,
      permissions: 'run',
      holdMs: 600_000,
      ...this.settings,
      ...more,
    };
    writeFileSync(join(this.folder, 'spec.json'), JSON.stringify(spec));
    this.give('run/spec.json');
    await this.at.kennel.start({
      spec,
      runFolder: this.folder,
      workspace: this.workspace,
      env: { FETCH_MODEL_RETRIES: '1' },
    });
  }

  command(body: CommandBody): void {
    this.commands += 1;
    const path = join(this.folder, 'commands.ndjson');
    appendFileSync(path, `${JSON.stringify({ id: `c${this.commands}`, step: this.step, ...body })}\n`);
    this.give('run/commands.ndjson');
  }

  /** Lines of the present step. */
  lines(): LogLine[] {
    const path = join(this.folder, 'log.ndjson');
    if (!existsSync(path)) return [];
    const text = readFileSync(path, 'utf8');
    return text
      .slice(0, text.lastIndexOf('\n') + 1)
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as LogLine)
      .filter((line) => line.step === this.step);
  }

  /** The first line of a type that fits; waits for it, and gives up when the step has ended without one. */
  async line<T extends LogLine['type']>(
    type: T,
    fits: (line: OfType<T>) => boolean = () => true,
    ms = 60_000,
  ): Promise<OfType<T>> {
    return await until(
      `${this.agent}: a line of type ${type}`,
      () => {
        const lines = this.lines();
        const found = lines.find((line): line is OfType<T> => line.type === type && fits(line as OfType<T>));
        if (!found && lines.at(-1)?.type === 'ended')
          throw new Error(`the step ended before: ${JSON.stringify(lines.slice(-4))}`);
        return found;
      },
      ms,
    );
  }

  async ended(ms?: number): Promise<OfType<'ended'>> {
    return await this.line('ended', undefined, ms);
  }

  /** What the agent said in this step. */
  said(): string {
    return this.lines()
      .flatMap((line) => (line.type === 'text' ? line.text : []))
      .join('');
  }

  /** Requests of the script, without side questions. */
  asked(): ProviderEntry[] {
    return this.providers.requests().filter((entry) => entry.step !== null);
  }

  files(): string[] {
    return readdirSync(this.workspace).sort();
  }

  read(name: string): string {
    return readFileSync(join(this.workspace, name), 'utf8');
  }

  /** A command inside the container of this step, as its user; what it printed. */
  async inside(...argv: string[]): Promise<string> {
    return (await this.at.inside(this.taskId, this.step, argv)).output;
  }

  /** Command lines of the processes in the container; none when it does not run. */
  async processes(): Promise<string[]> {
    const container = await this.at.kennel.inspect(this.taskId, this.step);
    if (container?.state !== 'running') return [];
    const top = await this.at.kennel.engine.docker
      .getContainer(container.id)
      .top({ ps_args: '-eo pid,args' })
      .catch(() => ({ Processes: [] }));
    return (top.Processes as string[][]).map((columns) => columns.slice(1).join(' '));
  }

  /** Waits until the container of this step does not run any more. */
  async stopped(ms?: number): Promise<void> {
    await until(
      `${this.agent}: the container stops`,
      async () => (await this.at.kennel.inspect(this.taskId, this.step))?.state === 'exited',
      ms,
    );
  }

  async close(): Promise<void> {
    await this.at.kennel.remove(this.taskId);
    await this.gate.close();
    await this.providers.close();
    if (this.mounted) execFileSync('umount', ['--lazy', this.folder]);
    rmSync(this.root, { recursive: true, force: true });
  }

  /** Files that root makes for a container belong to the container's user. */
  private give(...paths: string[]): void {
    if (process.getuid?.() === 0) for (const path of paths) chownSync(join(this.root, path), 1000, 1000);
  }
}

import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { RunOutcome, RunSpec } from '../../src/contracts/kennel.ts';
import { copyLogin } from './agent/login.ts';
import { AgentProcess } from './agent/process.ts';
import type { AgentTurn } from './agent/turn.ts';
import { Updates } from './agent/updates.ts';
import { followCommands } from './log/commands.ts';
import type { RunLog } from './log/log.ts';
import { Sanitiser } from './log/sanitiser.ts';
import { profileOf } from './profile/find.ts';
import type { Profile, ProfileContext } from './profile/profile.ts';
import { MCP_SERVER, serveAskHuman } from './questions/ask-human.ts';
import { PendingQuestions } from './questions/pending-questions.ts';
import type { Settings } from './settings.ts';
import { DiskWatch } from './watch/disk-watch.ts';
import { HostWatch } from './watch/host-watch.ts';
import { MemoryWatch } from './watch/memory-watch.ts';
import { forwardSocket } from './watch/socket-forwarder.ts';

/** how long a cancelled agent may take to confirm, in ms */
const CANCEL = 5000;
/** how long an agent with a parked question may take to finish other work, in ms */
const PARK = 60_000;

export interface Ended {
  outcome: RunOutcome;
  reason: string;
}

/** One run of a task: one container, from `started` to its end. The caller writes `ended`. */
export class Run {
  private readonly spec: RunSpec;
  private readonly settings: Settings;
  private readonly log: RunLog;
  private readonly earlier: Map<string, string>;
  private readonly decided = Promise.withResolvers<Ended>();
  private readonly begun = Promise.withResolvers<void>();
  /** this container was told to begin, so it may write the log */
  private ownsLog: boolean;
  private readonly closers: Array<() => void> = [];
  private turn: AgentTurn | null = null;
  private agent: AgentProcess | null = null;
  private updates: Updates | null = null;
  private pending: PendingQuestions | null = null;
  private profile: Profile | null = null;
  private watch: HostWatch | null = null;
  private parked = false;
  private cancelled: string | null = null;
  private readonly dummyKey = `sk-fetch-${randomBytes(24).toString('hex')}`;
  private sanitiser: Sanitiser;

  constructor(spec: RunSpec, settings: Settings, log: RunLog, earlier: Map<string, string>) {
    this.spec = spec;
    this.ownsLog = !spec.waits;
    this.settings = settings;
    this.log = log;
    this.earlier = earlier;
    this.sanitiser = new Sanitiser([this.dummyKey], settings.env);
    log.onFull = (reason) => this.end('failed', reason);
  }

  async untilEnded(): Promise<Ended> {
    void this.begin().catch((error: Error) => this.end('failed', `The runner failed: ${this.sanitiser.line(error.message, 500)}.`));
    const ended = await this.decided.promise;
    await this.watch?.answered();
    this.watch?.close();
    await this.finish(ended);
    return { ...ended, reason: this.sanitiser.line(ended.reason, 1000) };
  }

  /** Only the first end counts. */
  end(outcome: RunOutcome, reason: string): void {
    this.decided.resolve({ outcome, reason });
  }

  /** Ends the turn gracefully, or forcibly after `patience`. */
  async cancel(reason: string, patience = CANCEL): Promise<void> {
    if (this.cancelled) return;
    // nothing has begun that must be ended, and another container of this run may be writing the log
    if (!this.ownsLog) process.exit(0);
    this.cancelled = reason;
    this.pending?.close();
    await this.turn?.cancel();
    if (this.turn) await pause(this.profile?.afterCancel === 'wait' ? patience : 0);
    this.end('cancelled', reason);
  }

  private async begin(): Promise<void> {
    const { spec, settings, log } = this;
    const profile = await profileOf(spec.harness);
    this.profile = profile;
    mkdirSync(settings.home, { recursive: true });
    const hidden = spec.login ? copyLogin(settings.login, join(settings.home, profile.login)) : [];
    const [model, egress] = await Promise.all([
      forwardSocket(settings.modelPort, settings.modelSocket),
      forwardSocket(settings.egressPort, settings.egressSocket),
    ]);
    const pending = new PendingQuestions({
      write: (event) => {
        this.updates?.flush();
        return log.write(event);
      },
      nextSeq: () => log.nextSeq,
      holdMs: spec.holdMs,
      earlier: this.earlier,
      onParked: () => void this.park(),
    });
    this.pending = pending;
    const mcp = await serveAskHuman(pending, () => this.sanitiser);
    this.sanitiser = new Sanitiser([this.dummyKey, mcp.token, ...hidden], settings.env);
    // commands from before this container started were meant for an earlier one
    let upToDate = false;
    const commands = followCommands(
      settings.commands,
      spec.step,
      (command) => {
        if (command.type === 'cancel') void this.cancel('Cancelled.');
        else if (command.type === 'begin') {
          if (!spec.waits || this.ownsLog) return;
          if (command.token === settings.token) {
            this.ownsLog = true;
            this.begun.resolve();
            // an engine that died while it started this container left it behind
          } else if (upToDate) process.exit(1);
        } else pending.take(command);
      },
      () => process.exit(1),
    );
    this.closers.push(model.close, egress.close, mcp.close, () => commands.close());
    // decisions from the time without a container
    await commands.settle();
    upToDate = true;
    // the protocol's library takes as long to load as an agent to start, so both happen in parallel
    const library = import('./agent/turn.ts');
    if (!this.ownsLog) await this.begun.promise;
    log.write({ type: 'started', harness: spec.harness, version: versionOf(profile) });
    if (this.cancelled) return;

    const proxy = `http://127.0.0.1:${egress.port}`;
    const workspace = spec.worktree ? join(settings.workspace, spec.worktree) : settings.workspace;
    const context: ProfileContext = {
      home: settings.home,
      workspace,
      model: spec.model,
      login: spec.login === true,
      dummyKey: this.dummyKey,
      modelBase: `http://127.0.0.1:${model.port}`,
      egressProxy: proxy,
      mcp: { name: MCP_SERVER, url: mcp.url, token: mcp.token },
      permissions: spec.permissions,
      resuming: spec.sessionId !== null,
      root: process.getuid?.() === 0,
      env: settings.env,
    };
    if (spec.sessionId) await profile.beforeResume?.(context, spec.sessionId);
    if (this.cancelled) return;
    const updates = new Updates(log, this.sanitiser, profile, workspace);
    this.updates = updates;
    const memory = new MemoryWatch(() => updates.note('warn', 'The container ran out of memory, and a process in it was ended.'));
    const disk = new DiskWatch(settings.run, (reason) => this.end('failed', reason));
    this.closers.push(
      () => memory.close(),
      () => disk.close(),
    );
    const agent = new AgentProcess(profile.command(context), settings.home, workspace, { ...settings.env, ...proxies(proxy) });
    this.agent = agent;
    if (spec.freezeAfterMs !== undefined)
      this.watch = new HostWatch({
        socket: settings.modelSocket,
        freezeAfterMs: spec.freezeAfterMs,
        freeze: (frozen) => agent.freeze(frozen, settings.contained),
      });
    const { AgentTurn } = await library;
    const turn = new AgentTurn({ spec, profile, context, agent, pending, updates, sanitiser: this.sanitiser });
    this.turn = turn;
    // when tools of a dead agent hold its output open, the stream never closes by itself
    void agent.exited.then(() => pause(500)).then(() => turn.close());
    const failure = await turn.run();
    if (this.cancelled) this.end('cancelled', this.cancelled);
    else if (this.parked) this.end('parked', 'A question waits for its answer.');
    else if (failure) this.end('failed', disk.explain(memory.explain(failure)));
    else this.end('completed', 'The agent ended its turn.');
  }

  /** A question has waited long enough: the agent may finish what does not need the answer. */
  private async park(): Promise<void> {
    this.parked = true;
    await pause(PARK, undefined, { ref: false });
    await this.turn?.cancel();
    await pause(CANCEL, undefined, { ref: false });
    this.end('parked', 'A question waits for its answer.');
  }

  private async finish(ended: Ended): Promise<void> {
    this.pending?.close();
    // when `ended` is read, no process of the group may still write into the workspace; an agent that ended its turn gets time to save its session
    const inOrder = ended.outcome === 'completed' || ended.outcome === 'parked';
    await this.agent?.stop(inOrder ? { input: 4000, term: 2000 } : { input: 700, term: 500 });
    this.turn?.close();
    this.updates?.flush();
    const stderr = this.agent?.stderr.trim();
    if (ended.outcome === 'failed' && stderr) this.updates?.note('warn', `Last on stderr:\n${stderr}`);
    for (const close of this.closers) close();
  }
}

function proxies(proxy: string): Record<string, string> {
  const none = '127.0.0.1,localhost,::1';
  return { HTTP_PROXY: proxy, HTTPS_PROXY: proxy, http_proxy: proxy, https_proxy: proxy, NO_PROXY: none, no_proxy: none };
}

function versionOf(profile: Profile): string | null {
  if (!profile.versionFile) return profile.version ?? null;
  try {
    const version = (JSON.parse(readFileSync(profile.versionFile, 'utf8')) as { version?: unknown }).version;
    return typeof version === 'string' ? version.slice(0, 50) : null;
  } catch {
    return null;
  }
}

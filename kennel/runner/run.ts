import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type RunOutcome, type RunSpec, SETUP_PRESENT } from '../../src/contracts/kennel.ts';
import { AgentProcess } from './agent/process.ts';
import type { AgentTurn } from './agent/turn.ts';
import { Updates } from './agent/updates.ts';
import { WordsToAgent } from './agent/words.ts';
import { followCommands, StartToken } from './log/commands.ts';
import type { RunLog } from './log/log.ts';
import { Sanitiser } from './log/sanitiser.ts';
import { baseEnvironment, copyLogin, type Endpoints, profileContext } from './profile/context.ts';
import { type Profile, type ProfileContext, profileOf } from './profile/profile.ts';
import { serveAskHuman } from './questions/ask-human.ts';
import { PendingQuestions } from './questions/pending-questions.ts';
import { SetupProposals, serveProposals } from './questions/setup-proposals.ts';
import type { Settings } from './settings.ts';
import { prepareWorkspace } from './setup.ts';
import { HostWatch } from './watch/host-watch.ts';
import { DiskWatch, MemoryWatch } from './watch/resource-watch.ts';
import { forwardSocket } from './watch/socket-forwarder.ts';

/** how long a cancelled agent may take to confirm, in ms */
const CANCEL = 5000;
/** how long an agent with a parked question may take to finish other work, in ms */
const PARK = 60_000;

const WAITS = 'A question waits for its answer.';

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
  private readonly start: StartToken;
  private readonly closers: Array<() => void> = [];
  private readonly words: WordsToAgent;
  private turn: AgentTurn | null = null;
  private agent: AgentProcess | null = null;
  private updates: Updates | null = null;
  private pending: PendingQuestions | null = null;
  private proposals: SetupProposals | null = null;
  private profile: Profile | null = null;
  private watch: HostWatch | null = null;
  private parked = false;
  private cancelled: string | null = null;
  private readonly dummyKey = `sk-fetch-${randomBytes(24).toString('hex')}`;
  private sanitiser: Sanitiser;

  constructor(spec: RunSpec, settings: Settings, log: RunLog, earlier: Map<string, string>) {
    this.spec = spec;
    this.settings = settings;
    this.start = new StartToken(settings.token, spec.waits === true);
    this.log = log;
    this.earlier = earlier;
    this.words = new WordsToAgent(spec.words);
    this.sanitiser = new Sanitiser([this.dummyKey], settings.env);
    log.onFull = (reason) => this.end('failed', reason);
  }

  async untilEnded(): Promise<Ended> {
    void this.begin().catch((error: Error) =>
      this.end('failed', `The runner failed: ${this.sanitiser.line(error.message, 500)}.`),
    );
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
    if (!this.start.confirmed) process.exit(0);
    this.cancelled = reason;
    this.pending?.close();
    await this.turn?.cancel();
    if (this.turn) await pause(this.profile?.afterCancel === 'wait' ? patience : 0);
    this.end('cancelled', reason);
  }

  private async begin(): Promise<void> {
    const { spec, settings } = this;
    const profile = await profileOf(spec.harness);
    this.profile = profile;
    const endpoints = await this.openEndpoints(profile);
    await this.followCommands(endpoints.pending);
    // the protocol's library takes as long to load as an agent to start, so both happen in parallel
    const library = import('./agent/turn.ts');
    await this.start.untilConfirmed();
    this.log.write({ type: 'started', harness: spec.harness, version: versionOf(profile) });
    if (this.cancelled) return;

    const context = profileContext(spec, settings, endpoints, this.dummyKey);
    // while it plans the workspace cannot be written
    if (spec.setup && !spec.plan) await this.prepare(spec.setup, context);
    if (spec.sessionId) await profile.beforeResume?.(context, spec.sessionId);
    if (this.cancelled) return;
    const { agent, updates, explain } = this.startAgent(profile, context);
    const { AgentTurn } = await library;
    const turn = new AgentTurn({
      spec,
      profile,
      context,
      agent,
      pending: endpoints.pending,
      updates,
      sanitiser: this.sanitiser,
      words: this.words,
      goesOn: () => !this.cancelled && !this.parked && !this.proposals?.waits,
    });
    this.turn = turn;
    // when tools of a dead agent hold its output open, the stream never closes by itself
    void agent.exited.then(() => pause(500)).then(() => turn.close());
    const failure = await turn.run();
    if (this.cancelled) this.end('cancelled', this.cancelled);
    else if (this.parked) this.end('parked', WAITS);
    else if (failure) this.end('failed', explain(failure));
    else if (this.proposals?.waits) this.end('parked', WAITS);
    else this.end('completed', 'The agent ended its turn.');
  }

  private async prepare(lines: readonly string[], context: ProfileContext): Promise<void> {
    const over = new AbortController();
    this.closers.push(() => over.abort());
    const { log, sanitiser, settings } = this;
    await prepareWorkspace({
      lines,
      home: settings.home,
      cwd: context.workspace,
      env: baseEnvironment(context),
      log,
      sanitiser,
      signal: over.signal,
    });
  }

  /** Opens what the agent connects to, and learns which secrets must never be in the log. */
  private async openEndpoints(profile: Profile): Promise<Endpoints & { pending: PendingQuestions }> {
    const { spec, settings } = this;
    mkdirSync(settings.home, { recursive: true });
    const hidden = spec.login ? copyLogin(settings.login, join(settings.home, profile.login)) : [];
    const [model, egress, mcp] = await Promise.all([
      forwardSocket(settings.modelPort, settings.modelSocket),
      forwardSocket(settings.egressPort, settings.egressSocket),
      spec.mcp?.length ? forwardSocket(0, settings.mcpSocket) : null,
    ]);
    const pending = this.openQuestions();
    const askHuman = await serveAskHuman(pending, () => this.sanitiser);
    this.sanitiser = new Sanitiser([this.dummyKey, askHuman.token, ...hidden], settings.env);
    this.proposals = new SetupProposals({
      spec,
      pending,
      sanitiser: () => this.sanitiser,
      present: settings.env[SETUP_PRESENT],
    });
    const setup = await serveProposals(settings.setupSocket, this.proposals);
    this.closers.push(model.close, egress.close, askHuman.close, setup.close);
    if (mcp) this.closers.push(mcp.close);
    return { model, egress, mcp, askHuman, pending };
  }

  private openQuestions(): PendingQuestions {
    const { log, spec } = this;
    this.pending = new PendingQuestions({
      write: (event) => {
        this.updates?.flush();
        return log.write(event);
      },
      nextSeq: () => log.nextSeq,
      holdMs: spec.holdMs,
      earlier: this.earlier,
      onParked: () => void this.park(),
    });
    return this.pending;
  }

  /**
   * Returns when the commands from before this container are read: decisions from the time without a container are
   * among them.
   */
  private async followCommands(pending: PendingQuestions): Promise<void> {
    const commands = followCommands(
      this.settings.commands,
      this.spec.step,
      (command) => {
        if (command.type === 'cancel') void this.cancel('Cancelled.');
        else if (command.type === 'begin') this.start.take(command.token);
        else if (command.type === 'tell') this.words.add(command.wordsId, command.text);
        else pending.take(command);
      },
      () => process.exit(1),
    );
    this.closers.push(() => commands.close());
    await commands.settle();
    this.start.caughtUp();
  }

  /**
   * Starts the agent, and the watches over what may end or freeze it. `explain` adds the cause that a watch has seen to
   * a failure.
   */
  private startAgent(profile: Profile, context: ProfileContext) {
    const { spec, settings } = this;
    const updates = new Updates(this.log, this.sanitiser, profile, context.workspace);
    this.updates = updates;
    const memory = new MemoryWatch(() =>
      updates.note('warn', 'The container ran out of memory, and a process in it was ended.'),
    );
    const disk = new DiskWatch(settings.run, (reason) => this.end('failed', reason));
    this.closers.push(
      () => memory.close(),
      () => disk.close(),
    );
    const agent = new AgentProcess(
      profile.command(context),
      settings.home,
      context.workspace,
      baseEnvironment(context),
    );
    this.agent = agent;
    if (spec.freezeAfterMs !== undefined)
      this.watch = new HostWatch({
        socket: settings.modelSocket,
        freezeAfterMs: spec.freezeAfterMs,
        freeze: (frozen) => agent.freeze(frozen, settings.contained),
      });
    return { agent, updates, explain: (failure: string) => disk.explain(memory.explain(failure)) };
  }

  /** A question has waited long enough: the agent may finish what does not need the answer. */
  private async park(): Promise<void> {
    this.parked = true;
    await pause(PARK, undefined, { ref: false });
    await this.turn?.cancel();
    await pause(CANCEL, undefined, { ref: false });
    this.end('parked', WAITS);
  }

  private async finish(ended: Ended): Promise<void> {
    this.pending?.close();
    // when `ended` is read, no process of the group may still write into the workspace; an agent that ended its turn
    // gets time to save its session
    const inOrder = ended.outcome === 'completed' || ended.outcome === 'parked';
    await this.agent?.stop(inOrder ? { input: 4000, term: 2000 } : { input: 700, term: 500 });
    this.turn?.close();
    this.updates?.flush();
    const stderr = this.agent?.stderr.trim();
    if (ended.outcome === 'failed' && stderr) this.updates?.note('warn', `Last on stderr:\n${stderr}`);
    for (const close of this.closers) close();
  }
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

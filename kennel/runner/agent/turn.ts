import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import * as acp from '@agentclientprotocol/sdk';
import type { RunSpec } from '../../../src/contracts/kennel.ts';
import { LineFollower } from '../log/line-follower.ts';
import type { Sanitiser } from '../log/sanitiser.ts';
import type { Profile, ProfileContext, Turn } from '../profile/profile.ts';
import { fillForm } from '../questions/elicitation-form.ts';
import type { PendingQuestions } from '../questions/pending-questions.ts';
import { allowAny, CANCELLED, choose, isAskHuman, isEdit, isPlan, newestPlan, planIn } from './permissions.ts';
import type { AgentProcess } from './process.ts';
import { inTime, stdioStream } from './transport.ts';
import type { Updates } from './updates.ts';
import type { WordsToAgent } from './words.ts';

/**
 * time limit in ms for each of initialize, session/new, session/load, set_mode: the slowest agent takes some seconds
 * with a fresh HOME, and longer on a busy host
 */
const START = 180_000;

/** more than a person reads */
const PLAN_CHARS = 30_000;

export interface TurnOptions {
  spec: RunSpec;
  profile: Profile;
  context: ProfileContext;
  agent: AgentProcess;
  pending: PendingQuestions;
  updates: Updates;
  sanitiser: Sanitiser;
  /** words of a person that the agent has not heard */
  words: WordsToAgent;
  /** nothing has happened that ends the run with this turn */
  goesOn: () => boolean;
}

/** One session of one agent: started or resumed, and prompted; then told what a person has said meanwhile. */
export class AgentTurn {
  private readonly options: TurnOptions;
  private readonly connection: acp.ClientConnection;
  private sessionId: string | null = null;
  private prompt: string;
  private fault: string | null = null;
  private prompting = false;
  private strayNoted = false;

  constructor(options: TurnOptions) {
    this.options = options;
    this.prompt = options.spec.prompt;
    const { agent, updates } = options;
    const stream = stdioStream(
      agent.child.stdin!,
      agent.child.stdout!,
      (line) => {
        if (!this.strayNoted) updates.note('info', `On stdout: ${line.slice(0, 300)}`);
        this.strayNoted = true;
      },
      (reason) => {
        this.fault ??= reason;
      },
    );
    this.connection = acp
      .client({ name: 'fetch' })
      // read leniently: one malformed update must not lose the others
      .onNotification('session/update', lenient<acp.SessionNotification>, ({ params }) => updates.take(params))
      .onRequest('session/request_permission', lenient<acp.RequestPermissionRequest>, ({ params }) =>
        this.permission(params),
      )
      .onRequest('elicitation/create', lenient<acp.CreateElicitationRequest>, ({ params }) => this.form(params))
      .onNotification('*', () => undefined)
      .connect(stream);
  }

  /** Returns why the turn failed, or null when the agent ended it properly. */
  async run(): Promise<string | null> {
    try {
      await this.begin();
    } catch (error) {
      return await this.why(
        error,
        this.options.spec.sessionId ? 'The session could not be resumed' : 'The agent did not start',
      );
    }
    const { spec, words, goesOn } = this.options;
    let failure = await this.ask(this.prompt, spec.words ?? []);
    while (failure === null && goesOn()) {
      const next = words.take();
      if (!next) break;
      failure = await this.ask(next.text, next.ids);
    }
    return failure;
  }

  /** Asks the agent to end its turn. */
  async cancel(): Promise<void> {
    if (this.sessionId && this.prompting)
      await this.connection.agent.notify('session/cancel', { sessionId: this.sessionId }).catch(() => undefined);
  }

  close(): void {
    this.connection.close();
  }

  private async begin(): Promise<void> {
    const { spec, profile, context, updates } = this.options;
    await this.inTime('initialize', {
      protocolVersion: 1,
      clientCapabilities: {
        fs: { readTextFile: false, writeTextFile: false },
        terminal: false,
        elicitation: { form: {} },
        ...(profile.clientMeta && { _meta: profile.clientMeta }),
      },
      clientInfo: { name: 'fetch', version: '1' },
    });
    const session = {
      cwd: context.workspace,
      mcpServers: [
        {
          type: 'http' as const,
          name: context.mcp.name,
          url: context.mcp.url,
          headers: [{ name: 'Authorization', value: `Bearer ${context.mcp.token}` }],
        },
        ...context.servers.map(({ name, url }) => ({ type: 'http' as const, name, url, headers: [] })),
      ],
    };
    let sessionId: string | null = null;
    if (spec.sessionId) {
      updates.replaying = true;
      try {
        await this.inTime(profile.resume === 'load' ? 'session/load' : 'session/resume', {
          ...session,
          sessionId: spec.sessionId,
        });
        sessionId = spec.sessionId;
      } catch (error) {
        if (spec.restartPrompt === undefined || !(error instanceof acp.RequestError)) throw error;
        // agents save their session with a short delay; one that was killed before that has none
        this.prompt = spec.restartPrompt;
        updates.replaying = false;
        updates.note(
          'warn',
          `The session could not be resumed (${error.message}): the agent begins again with what is there.`,
        );
      }
    }
    const resumed = sessionId !== null;
    sessionId ??= (await this.inTime('session/new', session)).sessionId;
    if (typeof sessionId !== 'string' || !sessionId || sessionId.length > 200)
      throw new Error('it gave its session no usable id');
    this.sessionId = sessionId;
    updates.say({ type: 'session', sessionId, resumed });
    await this.setMode(sessionId, resumed);
  }

  private async setMode(sessionId: string, resumed: boolean): Promise<void> {
    const { spec, profile, context } = this.options;
    const { planMode } = profile;
    const option = planMode && 'configId' in planMode ? planMode : null;
    if (option && (spec.plan || resumed))
      await this.inTime('session/set_config_option', {
        sessionId,
        configId: option.configId,
        value: spec.plan ? option.plan : option.work,
      });
    const mode = planMode && 'modeId' in planMode ? planMode : null;
    const modeId = (spec.plan && mode?.modeId) || (profile.mode(context) ?? (resumed ? mode?.work : null));
    if (modeId) await this.inTime('session/set_mode', { sessionId, modeId });
  }

  /** `told`: ids of words of a person in this prompt. */
  private async ask(prompt: string, told: readonly string[]): Promise<string | null> {
    const { profile, context, updates } = this.options;
    const sessionId = this.sessionId!;
    const path = profile.file?.(context, sessionId);
    const file = path
      ? new LineFollower(
          path,
          (line) => {
            updates.seen = profile.watchFile?.(line) ?? updates.seen;
          },
          'end',
        )
      : null;
    const turn: Turn = { response: null, error: null, lastText: '', tools: 0, seen: null };
    const toolsBefore = updates.tools.count;
    try {
      // an agent may continue the replay after it has answered the load
      updates.replaying = false;
      this.prompting = true;
      const response = this.connection.agent.request('session/prompt', {
        sessionId,
        prompt: [{ type: 'text', text: prompt }],
      });
      // after it was sent: a runner that dies in between tells the agent twice, and not never
      if (told.length > 0) updates.say({ type: 'told', ids: [...told] });
      turn.response = await response;
    } catch (error) {
      if (!(error instanceof acp.RequestError)) return await this.why(error, 'The agent broke off');
      turn.error = { code: error.code, message: error.message, data: error.data };
    } finally {
      this.prompting = false;
      await file?.settle();
      file?.close();
      updates.flush();
    }
    turn.lastText = updates.lastText;
    turn.tools = updates.tools.count - toolsBefore;
    turn.seen = updates.seen;
    if (turn.response) this.usage(turn.response);
    return profile.failure(turn);
  }

  private usage(response: acp.PromptResponse): void {
    const { profile, updates } = this.options;
    const own = (response as { usage?: { inputTokens?: unknown; outputTokens?: unknown } | null }).usage;
    const usage =
      profile.usage?.(response) ??
      (own ? { inputTokens: Number(own.inputTokens), outputTokens: Number(own.outputTokens) } : null);
    if (usage && Number.isFinite(usage.inputTokens) && Number.isFinite(usage.outputTokens))
      updates.say({ type: 'usage', ...usage });
  }

  private async permission(request: acp.RequestPermissionRequest): Promise<acp.RequestPermissionResponse> {
    const { spec, profile, pending, updates, sanitiser } = this.options;
    const options = Array.isArray(request.options) ? request.options : [];
    const toolCall = request.toolCall ?? ({} as acp.ToolCallUpdate);
    // some say the kind of a call only before they ask
    const kind = spec.plan ? updates.tools.upsert(toolCall).kind : null;
    if (isPlan(kind)) return this.takePlan(toolCall, options);
    // while it plans, an edit fails by itself and the agent goes on; some end their turn when one is refused
    if (spec.permissions === 'run' || isEdit(kind)) return allowAny(options);
    if ((profile.asksHuman ?? isAskHuman)(toolCall)) return allowAny(options);
    const call = updates.tools.upsert(toolCall);
    updates.flush();
    // Gemini CLI has the command only in the title
    const command = call.command || (call.kind === 'execute' && toolCall.title) || '';
    const reply = await pending.permit({
      title: sanitiser.line(call.title || call.command || 'The agent asks for permission to go on', 200),
      kind: sanitiser.line(call.kind, 40),
      ...(command && { command: sanitiser.detail(command, 4000) }),
      ...(call.diff && { diff: sanitiser.detail(call.diff, 20_000) }),
      ...(call.paths.length > 0 && { paths: call.paths.map((path) => sanitiser.line(path, 500)) }),
    });
    if (reply.what === 'refused') return choose(options, 'deny');
    // by the protocol, a cancelled request ends the turn; the agent asks again when its session is resumed
    if (reply.what === 'parked') void this.cancel();
    return reply.what === 'answer' ? choose(options, reply.text === 'allow' ? 'allow' : 'deny') : CANCELLED;
  }

  /** The agent hands in its plan and asks for a yes, which comes in another run. */
  private takePlan(toolCall: acp.ToolCallUpdate, options: acp.PermissionOption[]): acp.RequestPermissionResponse {
    const { updates, sanitiser, profile, context } = this.options;
    const text = planIn(toolCall) ?? (profile.planFiles ? newestPlan(join(context.home, profile.planFiles)) : null);
    // it goes on with reading, and what it says last is the plan
    if (text === null) return allowAny(options);
    updates.say({ type: 'proposal', text: sanitiser.detail(text, PLAN_CHARS) });
    return choose(options, 'deny');
  }

  private async form(request: acp.CreateElicitationRequest): Promise<acp.CreateElicitationResponse> {
    const response = await fillForm(request, this.options.pending, this.options.sanitiser);
    if (response.action === 'cancel') void this.cancel();
    return response;
  }

  private inTime<Method extends acp.AgentRequestMethod>(
    method: Method,
    params: acp.AgentRequestParamsByMethod[Method],
  ) {
    return inTime(method, START, this.connection.agent.request(method, params));
  }

  /** One sentence for an error of the connection. How the process ended says more than that a pipe closed. */
  private async why(error: unknown, what: string): Promise<string> {
    const { agent } = this.options;
    if (error instanceof acp.RequestError) return `${what}: ${error.message} (${error.code})${detailsOf(error.data)}.`;
    if (this.fault) return this.fault;
    if (this.connection.signal.aborted) {
      await Promise.race([agent.exited, pause(2000, undefined, { ref: false })]);
      if (!agent.ended) return 'The agent closed its output before its turn was over.';
      return agent.child.pid === undefined ? agent.ended : `${agent.ended} before its turn was over.`;
    }
    return `${what}: ${(error as Error).message}.`;
  }
}

function lenient<T>(params: unknown): T {
  return (params ?? {}) as T;
}

function detailsOf(data: unknown): string {
  const details =
    data && typeof data === 'object'
      ? ((data as Record<string, unknown>).details ?? (data as Record<string, unknown>).message)
      : data;
  return typeof details === 'string' && details ? `: ${details}` : '';
}

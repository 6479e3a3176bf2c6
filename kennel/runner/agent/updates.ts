import type { SessionNotification, SessionUpdate } from '@agentclientprotocol/sdk';
import type { LogEvent } from '../../../src/contracts/kennel.ts';
import type { Sanitiser } from '../log/sanitiser.ts';
import { TextBatcher } from '../log/text-batcher.ts';
import type { Profile } from '../profile/profile.ts';
import { ToolCalls } from './tool-calls.ts';

const LAST_TEXT = 4000;
const MAX_PLAN = 50;
/**
 * An agent that works without output (it thinks, or a tool takes long) is logged as alive this often, because a silent
 * agent is ended.
 */
const ALIVE_EVERY = 60_000;

/** Turns an agent's session updates into log lines. */
export class Updates {
  readonly tools: ToolCalls;
  /** the agent's last text in this turn */
  lastText = '';
  /** the last failure that the profile recognised */
  seen: string | null = null;
  /** a replayed history is not logged again */
  replaying = false;
  private readonly batcher: TextBatcher;
  private readonly profile: Profile;
  private readonly sanitiser: Sanitiser;
  private readonly log: { write(event: LogEvent): number | null; readonly lastAt: number };
  private message = 0;
  private speaking = false;
  private plan = '';

  constructor(
    log: { write(event: LogEvent): number | null; readonly lastAt: number },
    sanitiser: Sanitiser,
    profile: Profile,
    workspace: string,
  ) {
    this.log = log;
    this.sanitiser = sanitiser;
    this.profile = profile;
    this.batcher = new TextBatcher(sanitiser, (messageId, text) => log.write({ type: 'text', messageId, text }));
    this.tools = new ToolCalls(sanitiser, workspace, (event) => this.say(event));
  }

  /** Logs an event, after the text that came before it. */
  say(event: LogEvent): void {
    this.batcher.flush();
    this.log.write(event);
  }

  note(level: 'info' | 'warn', text: string): void {
    const clean = this.sanitiser.detail(text, 2000);
    if (clean) this.say({ type: 'note', level, text: clean });
  }

  flush(): void {
    this.batcher.flush();
    this.tools.flush();
  }

  take(notification: SessionNotification): void {
    if (this.replaying) return;
    const update = notification?.update;
    if (!update || typeof update !== 'object') return;
    const meta = { ...notification._meta, ...(update as { _meta?: Record<string, unknown> | null })._meta };
    this.seen = this.profile.watchUpdate?.(update, meta) ?? this.seen;
    this.line(update);
    if (Date.now() - this.log.lastAt > ALIVE_EVERY)
      this.say({ type: 'note', level: 'info', text: 'The agent is at work.' });
  }

  private line(update: SessionUpdate): void {
    switch (update.sessionUpdate) {
      case 'agent_message_chunk':
        if (update.content?.type === 'text' && typeof update.content.text === 'string')
          this.words(update.messageId ?? null, update.content.text);
        return;
      case 'tool_call':
      case 'tool_call_update':
        if (typeof update.toolCallId !== 'string') return;
        this.speaking = false;
        this.tools.upsert(update);
        this.tools.show(update.toolCallId);
        return;
      case 'plan':
        if (Array.isArray(update.entries)) this.planned(update.entries);
        return;
      case 'user_message_chunk':
      case 'agent_thought_chunk':
        this.speaking = false;
        return;
      case 'notice':
        this.note(
          update.severity === 'info' ? 'info' : 'warn',
          [update.title, update.description].filter(Boolean).join(': '),
        );
        return;
      default:
      // commands, modes, titles, context sizes, and vendor extensions
    }
  }

  private words(messageId: string | null, text: string): void {
    const what = this.profile.text?.(text) ?? 'words';
    if (what === 'note') this.note('info', text);
    if (what !== 'words') return;
    // agents without message ids: text belongs together until something else happens
    if (!this.speaking) this.message += 1;
    this.speaking = true;
    this.lastText = (this.lastText + text.slice(-LAST_TEXT)).slice(-LAST_TEXT);
    this.batcher.add(messageId === null ? `m${this.message}` : this.sanitiser.line(messageId, 100), text);
  }

  private planned(entries: Array<{ content?: unknown; status?: unknown }>): void {
    const lines = entries.slice(0, MAX_PLAN).map((entry) => ({
      content: this.sanitiser.line(String(entry?.content ?? ''), 300),
      status: this.sanitiser.line(String(entry?.status ?? ''), 40),
    }));
    const plan = JSON.stringify(lines);
    if (plan === this.plan) return;
    this.plan = plan;
    this.say({ type: 'plan', entries: lines });
  }
}

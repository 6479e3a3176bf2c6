import { createHash } from 'node:crypto';
import type { Client } from '@temporalio/client';
import type { z } from 'zod';
import type { Browsers } from '../adapters/kennel/browser/browsers.ts';
import type { Kennel } from '../adapters/kennel/kennel.ts';
import type { Config } from '../config.ts';
import type { Danger, Effect } from '../contracts/conversation.ts';
import type { Sink, Source, SourceKind } from '../contracts/taint.ts';
import type { CallItemKind, Family } from '../domain/chat/tool-families.ts';
import type { Sent, Effect as Taintable } from '../domain/consent/taint.ts';
import { visibleLine } from '../domain/text/evidence.ts';
import type { Say } from '../domain/texts/say.ts';
import type { Db } from '../store/postgres/database.ts';

/** Where a tool runs: in this worker process, or in a container of the kennel. */
type RunsIn = 'worker' | 'kennel';

export interface ToolContext {
  /** the same on every attempt of one call; the idempotency key of everything the tool does */
  callId: string;
  chatId: string;
  threadId: string;
  turnId: string;
  db: Db;
  temporal: Client;
  config: Config;
  /** the context in which the model made the call held no text of others */
  clean?: boolean;
  /** nobody can be asked: a routine calls it */
  unattended?: boolean;
  /** aborted on interrupt and time-out; every request and process must obey it */
  signal: AbortSignal;
  /** tells the person what takes long, on channels where they do not see the output of calls */
  progress?: (doing: string) => Promise<void>;
  /** Has a stored outgoing message of a chat sent at once. Without it, it is found and sent within a minute. */
  deliver?: (outboxId: string, chatId: string) => Promise<void>;
  /** This and the next four are set only where kennel tools run. The containers of this host */
  kennel?: Kennel;
  /** name of this host */
  host?: string;
  /** folder of the workspaces on this host */
  workspacesFolder?: string;
  /** the browsers of the chats on this host */
  browsers?: Browsers;
  /** whether this host may still act in its workspaces: another process may have its name or its tasks otherwise */
  lease?: { held(): boolean };
}

/**
 * What the model reads (`output`, prose) and what programs read (`metadata`). An expected failure is `ok: false` and
 * never a throw.
 */
export interface ToolOutcome {
  ok: boolean;
  output: string;
  metadata?: Record<string, unknown>;
  /**
   * the output holds nothing but our own words and those of the arguments: what the tool declares to read does not
   * count
   */
  ours?: true;
  /** whose text the output contains, besides what the tool declares */
  sources?: readonly Source[];
  /** what the person's screens show besides; stored in one transaction with the result */
  told?: { summary: string; detail: string; metadata: Record<string, unknown> };
}

/** A tool is declared once. The model's schema, validation, policy, retries and help all come from the declaration. */
export interface Tool<S extends z.ZodType = z.ZodType> {
  name: string;
  /** the tools that it is offered with */
  family: Family;
  /** for the model */
  description: string;
  schema: S;
  danger: Danger;
  /** when the danger depends on the arguments; recorded with the call when the model makes it */
  dangerOf?: (args: z.output<S>) => Danger;
  /**
   * idempotent: may run again. reattachable: found again by its call id. once: never retried; an unknown outcome is
   * reported
   */
  effect: Effect;
  runsIn: RunsIn;
  /** whose text its output contains; empty when only the person or this program can have written it */
  reads: readonly SourceKind[];
  /** which one it reads, for people: a host, a path; the tool's name when unset */
  readFrom?: (args: z.output<S>) => string;
  /**
   * effects that leave the machine, outlast the turn outside a workspace, delete, or run a command; after text of others
   * was read, they need a yes
   */
  sends: readonly Sink[];
  /** more of them with some arguments */
  sendsAlso?: (args: z.output<S>) => readonly Sink[];
  /**
   * what is sent with them; a call that sends only the person's own words needs no yes. When unset or null, the call
   * always needs one after reading.
   */
  sent?: (args: z.output<S>) => Sent | null;
  /** why it is refused to everybody but the owner, before anybody is asked about it */
  ownersOnly?: string;
  /** with these arguments it reaches other chats, which only the owner's own chat may */
  mainOnly?: (args: z.output<S>) => boolean;
  /** needs a yes each time, whatever was read, trusted or allowed */
  asksAlways?: (args: z.output<S>) => boolean;
  /** runs commands that the model or a project wrote; not available where a thread allows no shell */
  needsShell?: boolean;
  /** a kennel tool that is not bound to the host of the active workspace: listing, selecting */
  anyHost?: boolean;
  /** a kennel tool that runs in a worker while no host is connected, and then does less */
  hostless?: boolean;
  /**
   * needs a person or a turn, or would let a routine change or start routines by itself; it cannot be a routine step
   */
  notARoutineStep?: boolean;
  /** a successful call has created a coding task, whose workflow must start */
  startsTask?: boolean;
  /** how clients of the runtime API show its calls; as an ordinary tool call when unset */
  item?: Exclude<CallItemKind, 'tool_call'>;
  /**
   * the question of an approval, in our words and never the model's. `at`: ` in demo` for a call in a workspace, in the
   * language of `say`. When unset, the question names the tool.
   */
  asks?: (args: z.output<S>, at: string, say: Say) => string;
  /** arguments that the question has, so that an approval does not show them once more */
  inQuestion?: ReadonlyArray<keyof z.input<S> & string>;
  /**
   * the workspace that its arguments name, when that is not `workspace`, or when the tool does not run in the kennel
   */
  workspaceOf?: (args: z.output<S>) => string | undefined;
  /**
   * Touches only our own store, and takes well under a second: its calls are local activities. `reads`: a repeated call
   * is harmless, so the start of the call is not recorded.
   */
  onStore?: 'reads' | 'writes';
  timeoutMs: number;
  /** a few words for the Temporal Web UI, with nothing private */
  summarise?: (args: z.output<S>) => string;
  /**
   * what an approval shows below the question, as text: the differences or the command; null when the arguments say it
   * all. Changes nothing.
   */
  preview?: (args: z.output<S>, context: ToolContext) => Promise<string | null>;
  run: (args: z.output<S>, context: ToolContext) => Promise<ToolOutcome>;
  /**
   * of a tool whose effect is `once`: clears up after a call whose process was killed, before the person is told that
   * the outcome is unknown
   */
  interrupted?: (args: z.output<S>, context: ToolContext) => Promise<void>;
}

/**
 * Whether a call was cut short because its process had to end, for example at a deployment. A tool that must not run
 * again then reports what is known.
 */
export const endedByRestart = (signal: AbortSignal): boolean =>
  signal.aborted && (signal.reason as Error | undefined)?.message === 'WORKER_SHUTDOWN';

export const restarted = (what: string): string =>
  `${what} was stopped before its end, because the process that ran it was restarted. What it had done until then stays; it does not run again by itself.`;

/** Why a call that reaches other chats is refused. */
export const MAIN_ONLY =
  'Only the owner’s own chat reaches other chats; this one reaches only itself. Leave the chat out, or tell the person so.';

/** Keeps the schema's type for `run`, while a list of tools has one type. */
export const defineTool = <S extends z.ZodType>(tool: Tool<S>): Tool => tool as unknown as Tool;

/** The danger of a call with these arguments. */
export const dangerOf = (tool: Tool, args: unknown): Danger => tool.dangerOf?.(args as never) ?? tool.danger;

/** A call as the policy of taint sees it. */
export const effectOf = (tool: Tool, args: Record<string, unknown>): Taintable => ({
  sends: [...tool.sends, ...(tool.sendsAlso?.(args as never) ?? [])],
  sent: tool.sent ? tool.sent(args as never) : null,
  always: tool.asksAlways?.(args as never) === true,
});

/** An id that is the same on every attempt of a call: `prefix` and 10 characters. */
export const idFromCall = (
  prefix: 'wf_' | 'mem_' | `cron_${string}_` | 'wfr_' | 'tsk_' | 'shp_',
  callId: string,
): string =>
  prefix +
  BigInt(`0x${createHash('sha256').update(callId).digest('hex')}`)
    .toString(36)
    .slice(-10);

/** Shows the values of arguments in the question of an approval, with nothing hidden. */

export const shown = (value: unknown, max = 120): string => {
  const text = visibleLine(String(value ?? ''));
  return text.length > max ? `${text.slice(0, max)}…` : text;
};

export const named = (value: unknown): string => `"${shown(value, 80)}"`;

export const namedTask = (id: string | undefined, say: Say): string =>
  id ? say('ask.namedTask', { name: named(id) }) : say('ask.thisTask');

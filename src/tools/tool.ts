import type { Client } from '@temporalio/client';
import type { z } from 'zod';
import type { Kennel } from '../adapters/kennel/kennel.ts';
import type { Config } from '../config.ts';
import type { Danger, Effect } from '../contracts/conversation.ts';
import type { Sink, SourceKind } from '../contracts/taint.ts';
import type { CallItemKind } from '../domain/chat/item-kinds.ts';
import type { Sent } from '../domain/consent/taint.ts';
import type { Db } from '../store/postgres/database.ts';

/** Where a tool runs: in this worker process or in a container of the kennel. */
export type Place = 'worker' | 'kennel';

export interface ToolContext {
  /** the same on every attempt of one call: the idempotency key of whatever the tool does */
  callId: string;
  chatId: string;
  threadId: string;
  turnId: string;
  db: Db;
  temporal: Client;
  config: Config;
  /** aborted on interrupt and time-out; every request and process must follow it */
  signal: AbortSignal;
  /** the three below: only where a tool of the kennel runs. The containers of this host */
  kennel?: Kennel;
  /** name of this host */
  host?: string;
  /** folder of the workspaces on this host */
  workspacesFolder?: string;
}

/** What the model reads (`output`, prose) and what programs read (`metadata`). An expected failure is `ok: false`, never a throw. */
export interface ToolOutcome {
  ok: boolean;
  output: string;
  metadata?: Record<string, unknown>;
  /** what the person's screens show besides: stored together with the result, so that neither is there without the other */
  told?: { summary: string; detail: string; metadata: Record<string, unknown> };
}

/** A tool is declared once; the model's schema, validation, policy, retries and help all come from this. */
export interface Tool<S extends z.ZodType = z.ZodType> {
  name: string;
  /** for the model */
  description: string;
  schema: S;
  danger: Danger;
  /** where the arguments decide; recorded with the call when the model makes it */
  dangerOf?: (args: z.output<S>) => Danger;
  /** idempotent: may run again; reattachable: found again by call id; once: never retried, an unknown outcome is reported */
  effect: Effect;
  place: Place;
  /** whose text its output brings in; empty when nobody but the person and this program can have written it */
  reads: readonly SourceKind[];
  /** which one it reads, for people: a host, a path; the tool's name when left out */
  readFrom?: (args: z.output<S>) => string;
  /** effects that leave the machine or outlast the turn outside of a workspace: after reading text of others they need a yes */
  sends: readonly Sink[];
  /** what goes out with them; a call of which all is the person's own needs no yes. Left out: always needs one after reading. */
  sent?: (args: z.output<S>) => Sent;
  /** needs a yes each time, whatever was read, trusted or granted */
  asksAlways?: (args: z.output<S>) => boolean;
  /** it runs commands that the model writes or that a project brings: not there where a thread allows none */
  needsShell?: boolean;
  /** of the kennel, and not bound to the host of the active workspace: listing, selecting */
  anyHost?: boolean;
  /** needs a person or a turn, or would let a run of a workflow change or start workflows by itself: it cannot be a step of one */
  notAStep?: boolean;
  /** how clients of the runtime API show its calls; as any tool call when left out */
  item?: Exclude<CallItemKind, 'tool_call'>;
  /** what an approval asks, in the words of the person and never of the model. `at`: ` in demo` where it works in a workspace. Asked for by its name when left out. */
  asks?: (args: z.output<S>, at: string) => string;
  /** the workspace that its arguments name, where that is not their `workspace`, or where the tool does not run in the kennel */
  workspaceOf?: (args: z.output<S>) => string | undefined;
  /** `run` changes nothing and only reads our own store: its call needs no mark that it has begun, because running it again is the same as running it once */
  readsOnly?: boolean;
  timeoutMs: number;
  /** a few words for the Temporal Web UI, with nothing private in them */
  summarise?: (args: z.output<S>) => string;
  /** what an approval shows beside the question: the differences or the command, as text; null when the arguments say it all. Changes nothing. */
  preview?: (args: z.output<S>, context: ToolContext) => Promise<string | null>;
  run: (args: z.output<S>, context: ToolContext) => Promise<ToolOutcome>;
}

/** Whether a call was cut short because its process had to end, as at a deployment. A tool that cannot run again says then what is known. */
export const endedByRestart = (signal: AbortSignal): boolean => signal.aborted && (signal.reason as Error | undefined)?.message === 'WORKER_SHUTDOWN';

export const restarted = (what: string): string =>
  `${what} was stopped before its end, because the process that ran it was restarted. What it had done until then stands; it is not run again by itself.`;

/** Keeps the schema's type for `run` while a list of tools stays a list of one type. */
export const defineTool = <S extends z.ZodType>(tool: Tool<S>): Tool => tool as unknown as Tool;

/** How dangerous a call with these arguments is. */
export const dangerOf = (tool: Tool, args: unknown): Danger => tool.dangerOf?.(args as never) ?? tool.danger;

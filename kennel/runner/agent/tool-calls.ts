import type { ToolCallUpdate } from '@agentclientprotocol/sdk';
import type { LogEvent } from '../../../src/contracts/kennel.ts';
import type { Sanitiser } from '../log/sanitiser.ts';

/**
 * An agent's change from old to new text, as one hunk of a unified diff. It need not be minimal, because only people
 * read it.
 */
export function hunk(path: string, before: string | null | undefined, after: string, max = 20_000): string {
  const old = before ? before.split('\n') : [];
  const now = after.split('\n');
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head += 1;
  let tail = 0;
  while (
    tail < old.length - head &&
    tail < now.length - head &&
    old[old.length - 1 - tail] === now[now.length - 1 - tail]
  )
    tail += 1;
  const from = Math.max(0, head - 3);
  const shared = Math.min(3, tail);
  const lines = [
    `--- ${before === null || before === undefined ? '/dev/null' : path}`,
    `+++ ${path}`,
    `@@ -${old.length ? from + 1 : 0},${old.length - tail - from + shared} +${from + 1},${now.length - tail - from + shared} @@`,
    ...old.slice(from, head).map((line) => ` ${line}`),
    ...old.slice(head, old.length - tail).map((line) => `-${line}`),
    ...now.slice(head, now.length - tail).map((line) => `+${line}`),
    ...old.slice(old.length - tail, old.length - tail + shared).map((line) => ` ${line}`),
  ];
  const text = lines.join('\n');
  return text.length <= max ? text : `${text.slice(0, max)}\n… ${text.length - max} characters more`;
}

type ToolEvent = Extract<LogEvent, { type: 'tool' }>;

/** how many calls are remembered; if an older one still changes, it is shown as a new one */
const MAX_CALLS = 500;
/** how much of a call's output is kept to show its end, in characters */
const MAX_OUTPUT = 16_000;
/** ms between two lines of a call of which only the output changed */
const OUTPUT_EVERY = 1000;
export const TITLE = 200;
export const DETAIL = 4000;

export interface Call {
  title: string;
  kind: string;
  status: ToolEvent['status'];
  command: string;
  diff: string;
  text: string;
  output: string;
  paths: string[];
  written: string;
  writtenAt: number;
}

/** The agent's tool calls by id. Each change is logged; growing output at most once a second. */
export class ToolCalls {
  private readonly calls = new Map<string, Call>();
  private readonly late = new Set<string>();
  private timer: NodeJS.Timeout | null = null;
  private readonly sanitiser: Sanitiser;
  private readonly workspace: string;
  private readonly write: (event: ToolEvent) => void;
  count = 0;

  constructor(sanitiser: Sanitiser, workspace: string, write: (event: ToolEvent) => void) {
    this.sanitiser = sanitiser;
    this.workspace = workspace;
    this.write = write;
  }

  /** Also used for a permission request, which may be the first message about a call. */
  upsert(update: ToolCallUpdate): Call {
    const id = String(update.toolCallId);
    let call = this.calls.get(id);
    if (!call) {
      call = {
        title: '',
        kind: 'other',
        status: 'pending',
        command: '',
        diff: '',
        text: '',
        output: '',
        paths: [],
        written: '',
        writtenAt: 0,
      };
      this.calls.set(id, call);
      this.count += 1;
      if (this.calls.size > MAX_CALLS) this.calls.delete(this.calls.keys().next().value!);
    }
    merge(call, update, this.workspace);
    return call;
  }

  /** Logs a call if it changed. */
  show(toolCallId: string, now = Date.now()): void {
    const id = String(toolCallId);
    const call = this.calls.get(id);
    if (!call) return;
    const event = this.event(id, call);
    const outline = JSON.stringify([event.title, event.kind, event.status, event.paths]);
    const whole = outline + (event.detail ?? '');
    if (whole === call.written) return;
    if (call.written.startsWith(outline) && now - call.writtenAt < OUTPUT_EVERY) {
      this.late.add(id);
      this.timer ??= setTimeout(() => this.flush(), OUTPUT_EVERY);
      return;
    }
    call.written = whole;
    call.writtenAt = now;
    this.late.delete(id);
    this.write(event);
  }

  /** Logs what waits. */
  flush(): void {
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
    const late = [...this.late];
    this.late.clear();
    for (const id of late) this.show(id, Number.POSITIVE_INFINITY);
  }

  private event(id: string, call: Call): ToolEvent {
    const detail = this.sanitiser.detail(
      [call.command && `$ ${call.command}`, call.diff, call.text, call.output].filter(Boolean).join('\n'),
      DETAIL,
    );
    const paths = call.paths.map((path) => this.sanitiser.line(path, 500));
    return {
      type: 'tool',
      id: this.sanitiser.line(id, 100),
      title: this.sanitiser.line(call.title || call.command || call.kind, TITLE),
      kind: this.sanitiser.line(call.kind, 40),
      status: call.status,
      ...(detail && { detail }),
      ...(paths.length > 0 && { paths }),
    };
  }
}

function merge(call: Call, update: ToolCallUpdate, workspace: string): void {
  if (typeof update.title === 'string' && update.title) call.title = update.title.slice(0, 2000);
  if (typeof update.kind === 'string') call.kind = update.kind;
  if (
    update.status === 'pending' ||
    update.status === 'in_progress' ||
    update.status === 'completed' ||
    update.status === 'failed'
  )
    call.status = update.status;
  const command = commandOf(update.rawInput);
  if (command) call.command = command;
  const paths = new Set<string>();
  if (Array.isArray(update.content)) {
    const texts: string[] = [];
    const diffs: string[] = [];
    for (const part of update.content.slice(0, 200)) {
      if (part?.type === 'content' && part.content?.type === 'text' && typeof part.content.text === 'string')
        texts.push(part.content.text);
      if (part?.type === 'diff' && typeof part.path === 'string' && typeof part.newText === 'string') {
        paths.add(relative(part.path, workspace));
        diffs.push(hunk(relative(part.path, workspace), part.oldText, part.newText));
      }
    }
    call.text = texts.join('\n').slice(-MAX_OUTPUT);
    if (diffs.length > 0) call.diff = diffs.join('\n').slice(0, 2 * MAX_OUTPUT);
  }
  if (Array.isArray(update.locations))
    for (const one of update.locations) if (typeof one?.path === 'string') paths.add(relative(one.path, workspace));
  if (paths.size > 0) call.paths = [...paths].slice(0, 20);
  const output = outputOf(update.rawOutput);
  if (output && !call.text.includes(output)) call.output = output.slice(-MAX_OUTPUT);
  // Codex reports the output of a terminal here
  const delta = (update._meta?.terminal_output_delta ?? update._meta?.terminal_output) as
    | { data?: unknown }
    | undefined;
  if (typeof delta?.data === 'string') call.output = (call.output + delta.data).slice(-MAX_OUTPUT);
}

/** A command in the input of a tool call, whatever the agent names it. */
export function commandOf(input: unknown): string {
  if (!input || typeof input !== 'object') return '';
  const fields = input as Record<string, unknown>;
  const command = fields.command ?? fields.cmd ?? fields.script;
  if (typeof command === 'string') return command.slice(0, MAX_OUTPUT);
  if (!Array.isArray(command) || !command.every((part) => typeof part === 'string')) return '';
  // of ["bash", "-lc", "…"] people want to see only the last part
  if (command.length === 3 && /^-l?c$/.test(command[1]!)) return command[2]!.slice(0, MAX_OUTPUT);
  return command.join(' ').slice(0, MAX_OUTPUT);
}

function outputOf(output: unknown): string {
  if (typeof output === 'string') return output;
  if (!output || typeof output !== 'object') return '';
  const fields = output as Record<string, unknown>;
  for (const name of ['formatted_output', 'aggregated_output', 'output', 'stdout', 'content', 'error', 'message']) {
    if (typeof fields[name] === 'string' && fields[name]) return fields[name];
  }
  return '';
}

function relative(path: string, workspace: string): string {
  return path.startsWith(`${workspace}/`) ? path.slice(workspace.length + 1) : path;
}

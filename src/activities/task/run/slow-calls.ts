import type { LogLine } from '../../../contracts/kennel.ts';
import { duration } from '../../../domain/tasks/report.ts';
import { inline } from '../../../domain/text/foreign-text.ts';
import type { Say } from '../../../domain/texts/say.ts';
import { MINUTE, SECOND } from '../../../domain/time.ts';
import { signalArrival } from '../../../gateway/intake/signal.ts';
import { derivedId } from '../../../store/chats/ids.ts';
import { sayTo } from '../../../store/chats/preferences.ts';
import { tellOfTask, whereToTell } from '../../../store/kennel/tasks/task-news.ts';
import type { Task } from '../../../store/kennel/tasks/tasks.ts';
import type { KennelDeps } from '../../activity-deps.ts';

/**
 * Tool calls of an agent that run much longer than calls of their kind. An agent that thinks, or says that it lives,
 * while its command never ends is not silent, so no other limit ends it.
 */

/** What a call of this kind takes at most, as a rule, in ms. A sub-agent is of no kind here. */
const USUAL_MS: Record<string, number> = { execute: 10 * MINUTE, think: 30 * MINUTE, other: 30 * MINUTE };
const QUICK_MS = 5 * MINUTE;
/** The same call took a while before: this many times as long is too long. */
const TIMES_BEFORE = 3;
const LEAST_MS = 2 * MINUTE;
/** The log is looked at every second. A longer gap is a pause, or a question, in which nothing runs. */
const GAP_MS = 10 * SECOND;
const MOST_CALLS = 500;

type ToolLine = Extract<LogLine, { type: 'tool' }>;

interface Call extends Pick<ToolLine, 'id' | 'title' | 'kind' | 'step'> {
  ranMs: number;
  /** when the person is told next, in ms of its time */
  tellAtMs: number;
  told: number;
}

interface SlowCall extends Readonly<Call> {
  /** how long the same call took before; null when it never ended before */
  beforeMs: number | null;
}

export class SlowCalls {
  private readonly open = new Map<string, Call>();
  /** the longest time of calls that ended, by title */
  private readonly before = new Map<string, number>();
  private lookedAt: number;

  constructor(now = Date.now()) {
    this.lookedAt = now;
  }

  take(line: LogLine): void {
    if (line.type === 'started' || line.type === 'ended') this.open.clear();
    if (line.type !== 'tool') return;
    const { id, title, kind, step, status } = line;
    const known = this.open.get(id);
    if (status === 'completed' || status === 'failed') {
      this.open.delete(id);
      if (known) remember(this.before, title, Math.max(known.ranMs, this.before.get(title) ?? 0));
      return;
    }
    if (known) Object.assign(known, { title, kind });
    else remember(this.open, id, { id, title, kind, step, ranMs: 0, told: 0, tellAtMs: this.limitOf({ title, kind }) });
  }

  /** Calls of which the person is to be told now. The time between two tells of a call doubles. */
  due(now = Date.now()): SlowCall[] {
    const passed = Math.min(now - this.lookedAt, GAP_MS);
    this.lookedAt = now;
    const slow: SlowCall[] = [];
    for (const call of this.open.values()) {
      call.ranMs += passed;
      if (call.ranMs < call.tellAtMs) continue;
      call.told += 1;
      call.tellAtMs *= 2;
      slow.push({ ...call, beforeMs: this.before.get(call.title) ?? null });
    }
    return slow;
  }

  private limitOf({ title, kind }: Pick<ToolLine, 'title' | 'kind'>): number {
    const before = this.before.get(title);
    return before === undefined ? (USUAL_MS[kind] ?? QUICK_MS) : Math.max(TIMES_BEFORE * before, LEAST_MS);
  }
}

function remember<T>(map: Map<string, T>, key: string, value: T): void {
  map.set(key, value);
  if (map.size > MOST_CALLS) map.delete(map.keys().next().value!);
}

/** Tells the chat of a task, once for each call and time. */
export async function tellSlow(
  deps: Pick<KennelDeps, 'db' | 'temporal' | 'config'>,
  task: Task,
  call: SlowCall,
): Promise<void> {
  const key = derivedId('call_', call.step, call.id, call.told);
  const say = await sayTo(deps.db, task.chat_id);
  const outboxId = await tellOfTask(deps.db, task, `slow_${key}`, slowText(task, call, say), 'quoting');
  const { channel, workflowId } = await whereToTell(deps.db, task);
  const arrival = { kind: 'reply' as const, inboxId: outboxId, outboxId };
  // if the signal fails, the sweeper finds the row
  await signalArrival(deps, { inboxId: outboxId, arrival, chatId: task.chat_id, channel, workflowId }).catch(() => {});
}

function slowText({ workspace }: Pick<Task, 'workspace'>, call: SlowCall, say: Say): string {
  const { kind, title, ranMs, beforeMs, tellAtMs } = call;
  const lasts = (ms: number) => duration(Math.round(ms / SECOND));
  const slow = { workspace, span: lasts(ranMs), what: inline(title, 200) };
  return [
    say(kind === 'execute' ? 'slow.command' : 'slow.action', slow),
    ...(beforeMs === null ? [] : [say('slow.before', { span: lasts(beforeMs) })]),
    say('slow.say', { span: lasts(tellAtMs - ranMs) }),
  ].join('\n');
}

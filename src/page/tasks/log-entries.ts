import type { LogLine } from '../../contracts/kennel.ts';

/** The log as a person reads it: chunks of a message are one text, and the changes of a tool call are one line. */
export interface LogEntry {
  key: string;
  kind: 'text' | 'tool' | 'plan' | 'ask' | 'note' | 'run';
  text: string;
  detail: string | null;
  /** of a tool call or a run */
  status: 'pending' | 'in_progress' | 'completed' | 'failed' | null;
  at: string;
}

export interface LogView {
  entries: LogEntry[];
  /** the last line that was read; lines up to it count no second time */
  seq: number;
}

export const NO_LOG: LogView = { entries: [], seq: 0 };

export function withLines(view: LogView, lines: readonly LogLine[]): LogView {
  const fresh = lines.filter(({ seq }) => seq > view.seq);
  if (fresh.length === 0) return view;
  const entries = [...view.entries];
  const places = new Map(entries.map(({ key }, at) => [key, at]));
  for (const line of fresh) {
    const entry = entryOf(line);
    if (!entry) continue;
    const place = places.get(entry.key);
    if (place === undefined) places.set(entry.key, entries.push(entry) - 1);
    else entries[place] = joined(entries[place]!, entry);
  }
  return { entries, seq: fresh.at(-1)!.seq };
}

const joined = (before: LogEntry, now: LogEntry): LogEntry =>
  before.kind === 'text'
    ? { ...before, text: before.text + now.text }
    : { ...now, text: now.text || before.text, detail: now.detail ?? before.detail, at: before.at };

/** Null for lines that say nothing to a person, and for kinds of a newer release. */
function entryOf(line: LogLine): LogEntry | null {
  const { at, step, seq } = line;
  const made = (key: string, kind: LogEntry['kind'], text: string, more: Partial<LogEntry> = {}): LogEntry => ({
    key: `${step}/${key}`,
    kind,
    text,
    detail: null,
    status: null,
    at,
    ...more,
  });
  switch (line.type) {
    case 'text':
      return made(`text/${line.messageId}`, 'text', line.text);
    case 'tool':
      return made(`tool/${line.id}`, 'tool', line.title, { detail: line.detail ?? null, status: line.status });
    case 'plan':
      return made(
        'plan',
        'plan',
        line.entries.map(({ content, status }) => `${status === 'completed' ? '☑' : '☐'} ${content}`).join('\n'),
      );
    case 'proposal':
      return made(`line/${seq}`, 'plan', line.text);
    case 'question':
      return made(`ask/${line.id}`, 'ask', line.question);
    case 'permission':
      return made(`ask/${line.id}`, 'ask', line.title, { detail: line.diff ?? line.command ?? null });
    case 'settled':
      return made(`settled/${line.id}`, 'note', line.how);
    case 'note':
      return made(`line/${seq}`, 'note', line.text);
    case 'ended':
      return made(`line/${seq}`, 'run', line.reason || line.outcome, {
        status: line.outcome === 'failed' ? 'failed' : 'completed',
      });
    default:
      return null;
  }
}

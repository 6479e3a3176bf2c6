import { useEffect, useRef, useState } from 'preact/hooks';
import type { TaskLog } from '../../contracts/owner.ts';
import { looksLikeDiff } from '../../domain/text/diff.ts';
import { Icon } from '../shared/elements/icons.tsx';
import { Problem, useAlive } from '../shared/elements/parts.tsx';
import { call, reasonOf } from '../shared/server/http.ts';
import { memo } from '../shared/store.ts';
import { Diff } from '../shared/text/diff-view.tsx';
import { Markdown } from '../shared/text/markdown-view.tsx';
import { texts } from '../texts.ts';
import { type LogEntry, type LogView, NO_LOG, withLines } from './log-entries.ts';

const PAGE = 500;
const SHOWN = 300;

/** The log of a task as it grows. `lines`: how many there are now, so that more are read when there are more. */
export function TaskLogView({ id, lines }: { id: string; lines: number }) {
  const { view, problem } = useLog(id, lines);
  const [most, setMost] = useState(SHOWN);
  const box = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  useEffect(() => {
    if (atEnd.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [view]);
  const shown = view.entries.slice(-most);
  return (
    <div
      class="pane-scroll task-log"
      ref={box}
      onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
        atEnd.current = scrollHeight - scrollTop - clientHeight < 80;
      }}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls is reached by keyboard
      tabIndex={0}
    >
      {problem && <Problem text={problem} />}
      {view.entries.length === 0 && !problem && <p class="hint">{texts.tasks.logEmpty}</p>}
      {shown.length < view.entries.length && (
        <button type="button" class="button small quiet" onClick={() => setMost(most + SHOWN)}>
          {texts.more}
        </button>
      )}
      {shown.map((entry) => (
        <Entry key={entry.key} entry={entry} />
      ))}
    </div>
  );
}

/** Reads on from the last line whenever the task changes. */
function useLog(id: string, lines: number): { view: LogView; problem: string | null } {
  const [view, setView] = useState(NO_LOG);
  const [problem, setProblem] = useState<string | null>(null);
  const alive = useAlive();
  const reading = useRef(false);
  const latest = useRef(NO_LOG);
  useEffect(() => {
    const read = async () => {
      if (reading.current) return;
      reading.current = true;
      try {
        for (let more = true; more && alive.current; ) {
          const page = await call<TaskLog>(
            `/v1/owner/tasks/${encodeURIComponent(id)}/log?after=${latest.current.seq}&limit=${PAGE}`,
          );
          latest.current = withLines(latest.current, page.lines);
          more = page.more && page.lines.length > 0;
          if (alive.current) setView(latest.current);
        }
        setProblem(null);
      } catch (error) {
        setProblem(reasonOf(error));
      }
      reading.current = false;
    };
    void read();
  }, [id, lines]);
  return { view, problem };
}

const Entry = memo(({ entry: { kind, text, detail, status } }: { entry: LogEntry }) => {
  const [open, setOpen] = useState(false);
  if (kind === 'text')
    return (
      <div class="said agent">
        <Markdown text={text} />
      </div>
    );
  if (kind === 'plan') return <pre class="plain">{text}</pre>;
  return (
    <div class={`step ${status ?? ''} ${kind}`}>
      <button
        type="button"
        class="step-line"
        disabled={!detail}
        aria-expanded={detail ? open : undefined}
        onClick={() => setOpen(!open)}
      >
        {status === 'in_progress' || status === 'pending' ? (
          <span class="pulse" aria-hidden="true" />
        ) : (
          <Icon name={iconOf(kind, status)} size={15} />
        )}
        <span class="step-name">{text}</span>
        {detail && <Icon name={open ? 'down' : 'right'} size={14} />}
      </button>
      {open && detail && (
        <div class="step-detail">{looksLikeDiff(detail) ? <Diff text={detail} bare /> : <pre>{detail}</pre>}</div>
      )}
    </div>
  );
});

const iconOf = (kind: LogEntry['kind'], status: LogEntry['status']) => {
  if (status === 'failed') return 'failed';
  return kind === 'ask' ? 'warning' : kind === 'note' ? 'right' : 'check';
};

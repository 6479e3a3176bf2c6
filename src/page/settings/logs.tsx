import { useEffect, useRef, useState } from 'preact/hooks';
import type { OwnerLogs } from '../../contracts/owner.ts';
import { Problem } from '../shared/elements/parts.tsx';
import { clock } from '../shared/figures.ts';
import { call, reasonOf } from '../shared/server/http.ts';
import { texts } from '../texts.ts';

const words = texts.settings.logs;
const EVERY_MS = 2_000;
const KEPT = 500;

/** The end of the logs, the newest line first. */
export function LogsSection() {
  const [role, setRole] = useState('');
  const { lines, roles, problem } = useLogs(role);
  return (
    <>
      <label class="field short">
        <span>{words.role}</span>
        <select value={role} onChange={(event) => setRole(event.currentTarget.value)}>
          <option value="">{words.allRoles}</option>
          {roles.map((each) => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
        </select>
      </label>
      {problem && <Problem text={problem} />}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls is reached by keyboard */}
      <div class="logs" tabIndex={0}>
        {lines.length === 0 && <p class="hint">{words.none}</p>}
        {lines.toReversed().map(({ at, role: of, level, text }, line) => (
          <p key={`${at}${lines.length - line}`} class={level === 'error' || level === 'fatal' ? 'bad' : undefined}>
            {/* a line without a time of its own has that of the epoch */}
            {Date.parse(at) > 0 && <time dateTime={at}>{clock(Date.parse(at))}</time>} <b>{of}</b> {text}
          </p>
        ))}
      </div>
    </>
  );
}

function useLogs(role: string): { lines: OwnerLogs['lines']; roles: string[]; problem: string | null } {
  const [state, setState] = useState<{ lines: OwnerLogs['lines']; roles: string[]; problem: string | null }>({
    lines: [],
    roles: [],
    problem: null,
  });
  const next = useRef('');
  useEffect(() => {
    next.current = '';
    let ended = false;
    let timer: ReturnType<typeof setTimeout>;
    const read = async () => {
      try {
        const query = new URLSearchParams({ ...(role && { role }), ...(next.current && { after: next.current }) });
        const page = await call<OwnerLogs>(`/v1/owner/logs?${query}`);
        if (ended) return;
        const first = next.current === '';
        next.current = page.next;
        setState((before) => ({
          lines: (first ? page.lines : [...before.lines, ...page.lines]).slice(-KEPT),
          roles: page.roles,
          problem: null,
        }));
      } catch (error) {
        if (!ended) setState((before) => ({ ...before, problem: reasonOf(error) }));
      }
      if (!ended) timer = setTimeout(read, EVERY_MS);
    };
    void read();
    return () => {
      ended = true;
      clearTimeout(timer);
    };
  }, [role]);
  return state;
}

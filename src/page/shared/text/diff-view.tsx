import type { ComponentChildren } from 'preact';
import { type DiffLine, diffLines } from '../../../domain/text/diff.ts';
import { memo } from '../store.ts';

/** More lines than this make a browser slow; the text says that there are more. */
const MOST_LINES = 3_000;
const MARKS = { added: '+', removed: '−', same: '', hunk: '', file: '' } as const;

/**
 * A unified diff in colours. The signs stay, for people who do not see colours. `bare`: without git's own lines, where the
 * file is named above. What a person decides by is never shortened.
 */
export const Diff = memo(({ text, bare = false }: { text: string; bare?: boolean }) => {
  const lines = bare ? bareLines(diffLines(text)) : diffLines(text);
  return (
    <div class="diff">
      {lines.slice(0, MOST_LINES).map((line, at) => (
        <div key={at} class={line.kind} data-mark={MARKS[line.kind]}>
          <Line {...line} />
        </div>
      ))}
      {lines.length > MOST_LINES && <div class="hunk">… {lines.length - MOST_LINES}</div>}
    </div>
  );
});

const bareLines = (lines: DiffLine[]): DiffLine[] =>
  lines
    .filter(({ kind, text }) => kind !== 'file' || text.startsWith('Binary '))
    .flatMap((line, at) => (line.kind !== 'hunk' ? [line] : at === 0 ? [] : [{ ...line, text: '…' }]));

const Line = ({ text, changed }: DiffLine): ComponentChildren =>
  changed ? (
    <>
      {text.slice(0, changed[0])}
      <mark>{text.slice(...changed)}</mark>
      {text.slice(changed[1])}
    </>
  ) : (
    text || ' '
  );

import { useMemo, useState } from 'preact/hooks';
import type { DiffFile, TaskDetail, TaskDiff } from '../../contracts/owner.ts';
import { Icon } from '../shared/elements/icons.tsx';
import { Empty, Shown } from '../shared/elements/parts.tsx';
import { memo } from '../shared/memo.ts';
import { Resource, useResource } from '../shared/server/resource.ts';
import { Diff } from '../shared/text/diff-view.tsx';
import { texts } from '../texts.ts';

/** So many files are open at first. */
const OPEN = 4;

/** The files that a task has changed, each with its difference. */
export function TaskChangesView({ task: { id, ended_at: ended } }: { task: TaskDetail }) {
  const diff = useMemo(
    () =>
      new Resource<TaskDiff>(
        `/v1/owner/tasks/${encodeURIComponent(id)}/diff`,
        ({ about }) => about === 'tasks' && ended === null,
        5_000,
      ),
    [id, ended],
  );
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls is reached by keyboard
    <div class="pane-scroll" tabIndex={0}>
      <Shown of={diff} loaded={useResource(diff)}>
        {({ files, note, cut }) => (
          <>
            {note && <p class="hint">{note}</p>}
            {files.length === 0 && <Empty title={texts.tasks.noChanges} />}
            {files.map((file, at) => (
              <FileDiff key={file.path} file={file} first={at < OPEN} />
            ))}
            {cut && <p class="hint">{texts.tasks.cut}</p>}
          </>
        )}
      </Shown>
    </div>
  );
}

const FileDiff = memo(
  ({ file: { path, from, status, added, removed, diff }, first }: { file: DiffFile; first: boolean }) => {
    const [open, setOpen] = useState(first);
    return (
      <section class="file-diff">
        <h3>
          <button type="button" class="file-line" aria-expanded={open} onClick={() => setOpen(!open)}>
            <Icon name={open ? 'down' : 'right'} size={14} />
            <bdi class="path">{from ? `${from} → ${path}` : path}</bdi>
            <span class="file-status">{status}</span>
            <span class="plus">+{added}</span>
            <span class="minus">−{removed}</span>
          </button>
        </h3>
        {open && (diff === null ? <p class="hint">{texts.tasks.noDiff}</p> : <Diff text={diff} />)}
      </section>
    );
  },
);

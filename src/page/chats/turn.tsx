import { useState } from 'preact/hooks';
import type { ItemRecord } from '../../contracts/records.ts';
import { stepInWords } from '../../domain/chat/words/step-words.ts';
import { looksLikeDiff } from '../../domain/text/diff.ts';
import { AttachmentLink, AttachmentPicture } from '../shared/elements/attachment.tsx';
import { Icon } from '../shared/elements/icons.tsx';
import { bytes, clock, duration } from '../shared/figures.ts';
import { memo } from '../shared/store.ts';
import { Diff } from '../shared/text/diff-view.tsx';
import { Markdown } from '../shared/text/markdown-view.tsx';
import { texts } from '../texts.ts';
import { groupsOf, isCall, shownSteps, type TurnView } from './thread-state.ts';

/** One input with everything that was done for it. */
export const Turn = memo(({ turn: { record, items }, threadId }: { turn: TurnView; threadId: string }) => {
  const groups = groupsOf(items);
  const working = record.status === 'in_progress' || record.status === 'queued';
  return (
    <div class="turn">
      <p class="turn-time">
        <time dateTime={record.created_at}>{clock(Date.parse(record.created_at))}</time>
      </p>
      {groups.map((group) =>
        group.kind === 'said' ? (
          <Said key={group.item.id} item={group.item} threadId={threadId} />
        ) : (
          <Steps key={group.id} items={group.items} threadId={threadId} />
        ),
      )}
      {working && (
        <p class="working" role="status">
          <span class="pulse" aria-hidden="true" />
          {texts.chats.working}
        </p>
      )}
      {(record.status === 'interrupted' || record.status === 'canceled') && (
        <p class="turn-note">{texts.chats.interrupted}</p>
      )}
      {record.status === 'failed' && !items.some(({ kind }) => kind === 'error') && (
        <p class="turn-note bad">{texts.chats.failed(record.error ?? '')}</p>
      )}
    </div>
  );
});

interface Attached {
  id: string;
  kind: string;
  name?: string | null;
  size?: number;
}

/** A message of a person or the model, or an error. */
const Said = memo(({ item, threadId }: { item: ItemRecord; threadId: string }) => {
  const text = item.detail ?? item.summary;
  if (item.kind === 'user_message')
    return (
      <div class="said person">
        <span class="sr">{texts.chats.you}</span>
        <div class="bubble">
          {text && <p class="words">{text}</p>}
          <Files item={item} threadId={threadId} />
        </div>
      </div>
    );
  if (item.kind === 'error') return <p class="turn-note bad">{text}</p>;
  if (item.kind === 'context_compaction') return <p class="turn-note">{texts.chats.summed}</p>;
  if (!text && item.status === 'in_progress') return null;
  return (
    <div class={`said agent ${item.status === 'interrupted' ? 'broken' : ''}`}>
      <span class="sr">{texts.chats.agent}</span>
      <Markdown text={text} threadId={threadId} />
      <Files item={item} threadId={threadId} />
    </div>
  );
});

function Files({ item: { metadata }, threadId }: { item: ItemRecord; threadId: string }) {
  const attached = metadata?.attachments;
  if (!Array.isArray(attached) || attached.length === 0) return null;
  return (
    <div class="files">
      {(attached as Attached[]).map(({ id, kind, name, size }) =>
        kind === 'image' ? (
          <AttachmentPicture key={id} threadId={threadId} id={id} name={name ?? ''} />
        ) : (
          <AttachmentLink key={id} threadId={threadId} id={id}>
            {name || texts.chats.step}
            {size !== undefined && <small> {bytes(size)}</small>}
          </AttachmentLink>
        ),
      )}
    </div>
  );
}

const SHOWN = 4;
const PAGE = 100;
/** Longer output is shown after a click; characters. */
const LONG = 20_000;

/** Tool calls that follow each other, folded: the last ones show, the others open on demand and in pages. */
function Steps({ items, threadId }: { items: ItemRecord[]; threadId: string }) {
  const [most, setMost] = useState(SHOWN);
  const { hidden, shown } = shownSteps(items, most);
  const failed = hidden.filter(({ status }) => status === 'failed').length;
  return (
    <div class="steps">
      {hidden.length > 0 && (
        <button type="button" class="more-steps" onClick={() => setMost(most + PAGE)}>
          <Icon name="right" size={14} />
          {texts.chats.earlierSteps(hidden.length)}
          {failed > 0 && <span class="bad">{texts.chats.failedSteps(failed)}</span>}
        </button>
      )}
      {shown.map((item) => (
        <Step key={item.id} item={item} threadId={threadId} />
      ))}
    </div>
  );
}

const Step = memo(({ item }: { item: ItemRecord; threadId: string }) => {
  const [open, setOpen] = useState(false);
  const { kind, status, summary, detail } = item;
  const text = detail ?? '';
  const thought = kind === 'agent_reasoning';
  const name = thought ? texts.chats.thought : isCall(item) ? stepInWords(summary) : summary;
  const can = text !== '' && text !== summary;
  return (
    <div class={`step ${status} ${kind}`}>
      <button
        type="button"
        class="step-line"
        aria-expanded={can ? open : undefined}
        disabled={!can}
        onClick={() => setOpen(!open)}
      >
        <StepIcon item={item} />
        <span class="step-name">{name || kind}</span>
        <Took item={item} />
        {can && <Icon name={open ? 'down' : 'right'} size={14} />}
      </button>
      {open && can && <StepDetail text={text} isDiff={kind === 'file_change' || looksLikeDiff(text)} />}
    </div>
  );
});

function StepIcon({ item: { kind, status } }: { item: ItemRecord }) {
  if (status === 'in_progress') return <span class="pulse" aria-hidden="true" />;
  if (status === 'failed') return <Icon name="failed" size={15} />;
  if (status === 'interrupted') return <Icon name="stop" size={15} />;
  return <Icon name={kind === 'file_change' ? 'edit' : kind === 'command_execution' ? 'tasks' : 'check'} size={15} />;
}

function Took({ item: { started_at: from, ended_at: to } }: { item: ItemRecord }) {
  const ms = from && to ? Date.parse(to) - Date.parse(from) : 0;
  return ms >= 1_000 ? <span class="took">{duration(ms)}</span> : null;
}

function StepDetail({ text, isDiff }: { text: string; isDiff: boolean }) {
  const [whole, setWhole] = useState(text.length <= LONG);
  const shown = whole ? text : text.slice(0, LONG);
  return (
    <div class="step-detail">
      {isDiff ? (
        <Diff text={shown} bare />
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls is reached by keyboard
        <pre tabIndex={0}>{shown}</pre>
      )}
      {!whole && (
        <button type="button" class="button small quiet" onClick={() => setWhole(true)}>
          {texts.chats.showAll(bytes(text.length))}
        </button>
      )}
    </div>
  );
}

import type { ItemRecord } from '../../contracts/records.ts';
import { AttachmentLink, AttachmentPicture } from '../shared/elements/attachment.tsx';
import { bytes } from '../shared/figures.ts';
import { memo } from '../shared/memo.ts';
import { Markdown } from '../shared/text/markdown-view.tsx';
import { texts } from '../texts.ts';

interface Attached {
  id: string;
  kind: string;
  name?: string | null;
  size?: number;
}

/** What a person or the model said, or what went wrong. */
export const Said = memo(({ item, threadId }: { item: ItemRecord; threadId: string }) => {
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
            {name || kind}
            {size !== undefined && <small> {bytes(size)}</small>}
          </AttachmentLink>
        ),
      )}
    </div>
  );
}

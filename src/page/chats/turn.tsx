import { clock } from '../shared/figures.ts';
import { memo } from '../shared/memo.ts';
import { texts } from '../texts.ts';
import { groupsOf } from './groups.ts';
import { Said } from './said.tsx';
import { Steps } from './steps.tsx';
import type { TurnView } from './thread-state.ts';

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
      {record.status === 'failed' && <p class="turn-note bad">{texts.chats.failed(record.error ?? '')}</p>}
    </div>
  );
});

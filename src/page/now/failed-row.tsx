import type { OwnerFailed } from '../../contracts/owner.ts';
import { Actions, Ago, ChatLink, Dot } from '../shared/elements/parts.tsx';
import { linkTo } from '../shared/route.ts';
import { texts } from '../texts.ts';

export const FailedRow = ({ failed: { kind, id, chat, title, why, at, actions } }: { failed: OwnerFailed }) => (
  <li class="row">
    <div class="row-main">
      <p class="row-title">
        <Dot tone="bad" />
        <a href={kind === 'task' ? linkTo('tasks', id) : linkTo('chats', chat.thread_id)}>{title}</a>
      </p>
      <p class="why">{why}</p>
      <p class="meta">
        <span>{texts.now.runs[kind]}</span>
        <ChatLink chat={chat} />
        <Ago at={at} />
      </p>
    </div>
    <div class="row-actions">
      <Actions actions={actions} />
    </div>
  </li>
);

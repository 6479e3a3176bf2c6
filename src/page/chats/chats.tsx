import { Empty } from '../shared/elements/parts.tsx';
import { texts } from '../texts.ts';
import { ChatList } from './chat-list.tsx';
import { ThreadPane } from './thread-pane.tsx';

/** The list, and the chat that was chosen. On a phone, one of the two. */
export const ChatsPart = ({ rest: [id] }: { rest: string[] }) => (
  <div class={`split ${id ? 'chosen' : ''}`}>
    <h1 class="sr">{texts.parts.chats}</h1>
    <ChatList chosen={id} />
    {id ? (
      <ThreadPane key={id} id={id} />
    ) : (
      <div class="pane placeholder">
        <Empty title={texts.chats.choose} icon="chats">
          {texts.chats.chooseMore}
        </Empty>
      </div>
    )}
  </div>
);

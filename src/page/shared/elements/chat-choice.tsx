import { texts } from '../../texts.ts';
import { useResource } from '../server/resource.ts';
import { summaries } from '../summaries.ts';

/** Chats that are offered; the latest used come first. */
const MOST = 50;

/** Names the chat that something goes to, and offers the others. `first`: the one without an id. */
export function ChatChoice({
  label,
  first,
  chosen,
  choose,
}: {
  label: string;
  first: string;
  chosen: string;
  choose: (threadId: string) => void;
}) {
  const chats = (useResource(summaries).value ?? []).filter(({ channel }) => channel !== 'console');
  return (
    <label class="field chat-choice">
      <span>{label}</span>
      <select value={chosen} onChange={(event) => choose(event.currentTarget.value)}>
        <option value="">{first}</option>
        {chats.slice(0, MOST).map(({ id, channel, label: name }) => (
          <option key={id} value={id}>
            {`${name} (${texts.chats.channels[channel] ?? channel})`}
          </option>
        ))}
      </select>
    </label>
  );
}

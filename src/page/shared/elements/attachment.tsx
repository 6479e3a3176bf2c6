import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { texts } from '../../texts.ts';
import { Icon } from './icons.tsx';

const addressOf = (threadId: string, id: string): string =>
  `/v1/threads/${encodeURIComponent(threadId)}/attachments/${encodeURIComponent(id)}`;

/** A file of a thread, to save. The server sends it as a download of no type, so it can never become a page. */
export const AttachmentLink = ({
  threadId,
  id,
  children,
}: {
  threadId: string;
  id: string;
  children?: ComponentChildren;
}) => (
  <a class="file-link" href={addressOf(threadId, id)} download="">
    <Icon name="file" size={16} />
    <bdi>{children ?? texts.chats.file}</bdi>
  </a>
);

/** A picture of a thread. Its bytes are read by an `img`, which runs nothing of them. */
export function AttachmentPicture({ threadId, id, name }: { threadId: string; id: string; name: string }) {
  const [address, setAddress] = useState<string | null>(null);
  const [broken, setBroken] = useState(false);
  useEffect(() => {
    let made: string | null = null;
    let gone = false;
    void fetch(addressOf(threadId, id))
      .then(async (response) => (response.ok ? await response.blob() : Promise.reject(new Error(response.statusText))))
      .then((blob) => {
        if (gone) return;
        // browsers look into the bytes of pictures; as this type, an SVG is none
        made = URL.createObjectURL(new Blob([blob], { type: 'image/png' }));
        setAddress(made);
      })
      .catch(() => setBroken(true));
    return () => {
      gone = true;
      if (made) URL.revokeObjectURL(made);
    };
  }, [threadId, id]);
  if (broken)
    return (
      <AttachmentLink threadId={threadId} id={id}>
        {name || undefined}
      </AttachmentLink>
    );
  return address ? (
    <img class="picture" src={address} alt={name} onError={() => setBroken(true)} />
  ) : (
    <span class="picture waiting">{name || texts.loading}</span>
  );
}

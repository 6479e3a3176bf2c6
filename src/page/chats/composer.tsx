import { useRef, useState } from 'preact/hooks';
import type { Uploaded } from '../../contracts/owner.ts';
import { FILE_LIMITS, kindOfType } from '../../domain/text/files.ts';
import { Icon } from '../shared/elements/icons.tsx';
import { tell } from '../shared/elements/parts.tsx';
import { bytes } from '../shared/figures.ts';
import { displayed } from '../shared/seen.ts';
import { call, reasonOf, send } from '../shared/server/http.ts';
import { remember, remembered } from '../shared/theme.ts';
import { texts } from '../texts.ts';

/** What is written and not sent yet stays in this browser, for each chat. */
const keyOf = (threadId: string): string => `fetch-draft-${threadId}`;

const draftOf = (threadId: string): string => remembered(keyOf(threadId)) ?? '';
const keepDraft = (threadId: string, text: string): void => remember(keyOf(threadId), text);

/** The same limits as the server's, so that nobody waits for an upload that is refused. */
const limitOf = ({ type }: File): number => FILE_LIMITS[kindOfType(type)];

interface ComposerProps {
  threadId: string;
  channel: string | undefined;
  /** turn that works now */
  running: string | null;
  /** open questions of this chat: "yes" may be about them */
  asked: string[];
}

/** Where a message is written. Its text is not a state of the page, so typing draws nothing again. */
export function Composer({ threadId, channel, running, asked }: ComposerProps) {
  const field = useRef<HTMLTextAreaElement>(null);
  const [files, setFiles] = useState<File[]>([]);
  const [over, setOver] = useState(false);
  const { sending, failed, submit } = useSending(threadId, asked, () => setFiles([]));
  const add = (list: FileList | null | undefined) => {
    const added = [...(list ?? [])];
    for (const file of added.filter((each) => each.size > limitOf(each)))
      tell(texts.chats.tooLarge(file.name, limitOf(file) / 1024 / 1024), true);
    setFiles([...files, ...added.filter((each) => each.size <= limitOf(each))]);
  };
  const go = () => {
    const text = field.current!.value.trim();
    if (!text && files.length === 0) return;
    void submit(text, files);
    field.current!.value = '';
    field.current!.style.height = '';
    keepDraft(threadId, '');
  };
  const onKeyDown = (event: KeyboardEvent) => {
    // Enter ends a word while an input method composes it
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing || matchMedia('(pointer: coarse)').matches) return;
    event.preventDefault();
    go();
  };
  const hint = running
    ? texts.chats.steer
    : channel === 'whatsapp' || channel === 'telegram'
      ? texts.chats.writeTo(texts.chats.channels[channel]!)
      : texts.chats.write;
  return (
    <form
      class={`composer ${over ? 'over' : ''}`}
      onSubmit={(event) => {
        event.preventDefault();
        go();
      }}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        add(event.dataTransfer?.files);
      }}
    >
      {sending.map(({ key, text }) => (
        <p key={key} class="pending-message">
          <span>{text}</span>
          <small>{texts.chats.sending}</small>
        </p>
      ))}
      {failed.map((each) => (
        <p key={each.key} class="pending-message bad">
          <span>{each.text}</span>
          <button type="button" class="button small" onClick={each.again}>
            {texts.chats.sendAgain}
          </button>
        </p>
      ))}
      <FileChips files={files} remove={(file) => setFiles(files.filter((each) => each !== file))} />
      <div class="composer-row">
        <label class="icon-button" title={texts.chats.attach}>
          <Icon name="attach" />
          <span class="sr">{texts.chats.attach}</span>
          <input
            type="file"
            multiple
            class="sr"
            onChange={(event) => {
              add(event.currentTarget.files);
              // the same file may be chosen again
              event.currentTarget.value = '';
            }}
          />
        </label>
        <textarea
          ref={field}
          rows={1}
          aria-label={hint}
          placeholder={over ? texts.chats.dropHere : hint}
          defaultValue={draftOf(threadId)}
          onInput={(event) => {
            grow(event.currentTarget);
            keepDraft(threadId, event.currentTarget.value);
          }}
          onKeyDown={onKeyDown}
          onPaste={(event) => event.clipboardData?.files.length && add(event.clipboardData.files)}
        />
        {running && <StopButton threadId={threadId} turnId={running} />}
        <button type="submit" class="icon-button send" aria-label={texts.chats.send} title={texts.chats.send}>
          <Icon name="send" />
        </button>
      </div>
    </form>
  );
}

/** Browsers that know `field-sizing` do this by themselves. */
function grow(field: HTMLTextAreaElement): void {
  if (CSS.supports('field-sizing', 'content')) return;
  field.style.height = 'auto';
  field.style.height = `${Math.min(field.scrollHeight, 200)}px`;
}

function StopButton({ threadId, turnId }: { threadId: string; turnId: string }) {
  const [stopping, setStopping] = useState<string | null>(null);
  const stop = () => {
    setStopping(turnId);
    void send(`/v1/threads/${encodeURIComponent(threadId)}/turns/${encodeURIComponent(turnId)}/interrupt`, {}).catch(
      (error) => {
        setStopping(null);
        tell(reasonOf(error), true);
      },
    );
  };
  const busy = stopping === turnId;
  return (
    <button
      type="button"
      class="icon-button stop"
      disabled={busy}
      aria-label={busy ? texts.chats.stopping : texts.chats.stop}
      title={texts.chats.stop}
      onClick={stop}
    >
      <Icon name="stop" />
    </button>
  );
}

const FileChips = ({ files, remove }: { files: File[]; remove: (file: File) => void }) =>
  files.length === 0 ? null : (
    <ul class="chips">
      {files.map((file) => (
        <li key={file} class="chip">
          <Icon name="file" size={15} />
          <bdi>{file.name}</bdi>
          <small>{bytes(file.size)}</small>
          <button
            type="button"
            class="chip-remove"
            aria-label={texts.chats.removeFile(file.name)}
            onClick={() => remove(file)}
          >
            <Icon name="close" size={13} />
          </button>
        </li>
      ))}
    </ul>
  );

interface Outgoing {
  /** the same at every attempt, so the message counts once */
  key: string;
  text: string;
  files: File[];
}

/**
 * Sends messages in the order in which they were written. One that could not be sent stays on the screen, to send
 * again.
 */
function useSending(threadId: string, asked: string[], taken: () => void) {
  const [sending, setSending] = useState<Outgoing[]>([]);
  const [failed, setFailed] = useState<Outgoing[]>([]);
  const line = useRef(Promise.resolve());
  const work = async (message: Outgoing) => {
    try {
      const ids: string[] = [];
      for (const file of message.files) ids.push((await upload(threadId, file)).id);
      await send(`/v1/threads/${encodeURIComponent(threadId)}/messages`, {
        key: message.key,
        attempts: 8,
        body: { text: message.text, displayed: displayed(asked), ...(ids.length > 0 && { attachment_ids: ids }) },
      });
    } catch (error) {
      tell(`${texts.chats.notSent} ${reasonOf(error)}`, true);
      setFailed((before) => [...before, message]);
    }
    setSending((before) => before.filter(({ key }) => key !== message.key));
  };
  const queue = (message: Outgoing) => {
    setFailed((before) => before.filter(({ key }) => key !== message.key));
    setSending((before) => [...before, message]);
    line.current = line.current.then(() => work(message));
  };
  return {
    sending,
    failed: failed.map((message) => ({ ...message, again: () => queue(message) })),
    submit: async (text: string, files: File[]) => {
      queue({ key: crypto.randomUUID?.() ?? `page-${Date.now()}-${Math.random()}`, text, files });
      taken();
    },
  };
}

const upload = (threadId: string, file: File): Promise<Uploaded> =>
  call(`/v1/threads/${encodeURIComponent(threadId)}/attachments?name=${encodeURIComponent(file.name)}`, {
    method: 'POST',
    body: file,
  });

import { z } from 'zod';
import { pictureFor } from '../../adapters/pictures.ts';
import { attachmentId, saveAttachment } from '../../store/chats/messages/attachments.ts';
import { latestThread } from '../../store/chats/threads/threads.ts';
import { defineTool, type ToolContext } from '../tool.ts';
import { common, inBrowser, type Opened } from './in-browser.ts';

/** A picture of the page, stored as an attachment of the chat. */

interface Screenshot {
  id: string;
  bytes: number;
  width: number;
  height: number;
}

/** A second attempt of one call stores nothing new. */
export async function takeScreenshot(
  { browsers, owner, onProgress, signal }: Opened,
  { db, callId, chatId, threadId, unattended }: ToolContext,
): Promise<Screenshot> {
  const data = await browsers.picture(owner, { onProgress, signal });
  const id = attachmentId(callId, 'screenshot');
  const thread = unattended ? ((await latestThread(db, chatId))?.id ?? threadId) : threadId;
  await saveAttachment(db, {
    id,
    threadId: thread,
    kind: 'image',
    mime: 'image/png',
    name: 'screenshot.png',
    data,
    preview: await pictureFor(data),
    text: null,
  });
  return { id, bytes: data.length, ...sizeOf(data) };
}

/** The header of a PNG file has the size at fixed places. */
const sizeOf = (png: Buffer): { width: number; height: number } => ({
  width: png.readUInt32BE(16),
  height: png.readUInt32BE(20),
});

export const howToSend = ({ id }: Screenshot): string =>
  `Write ![what it shows](attachment:${id}) in the answer to send it to the person.`;

export const browserScreenshot = defineTool({
  ...common,
  name: 'browser_screenshot',
  family: 'browser',
  reads: ['page'],
  sends: [],
  description: 'Take a picture of the page in the browser, for the person. You see it, too, if you can see pictures.',
  schema: z.strictObject({}),
  danger: 'SAFE',
  effect: 'idempotent',
  run: (_, context) =>
    inBrowser(context, async (opened) => {
      const picture = await takeScreenshot(opened, context);
      const { id, bytes, width, height } = picture;
      return {
        ok: true,
        output: `A picture of the page (${width} × ${height}) is stored as ${id}. ${howToSend(picture)} What is on the page says browser_snapshot.`,
        metadata: { attachment: id, mime: 'image/png', bytes, width, height },
      };
    }),
});

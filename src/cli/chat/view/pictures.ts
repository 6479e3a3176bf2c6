import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ApiClient } from '../../../client/api-client.ts';

/** Pictures that an answer names. A terminal shows none, so they are saved, and their paths are shown. */

const NAMED = /\(attachment:(att_[A-Za-z0-9]{1,80})\)/g;
const MOST = 10;

/** Saves each picture once, and tells where. A file that cannot be had is left out: the answer is shown in any case. */
export async function savePictures(
  {
    api,
    threadId,
    home,
    signal,
  }: { api: Pick<ApiClient, 'attachment'>; threadId: string; home: string; signal: AbortSignal },
  answer: string,
  tell: (path: string) => void,
): Promise<void> {
  const ids = new Set([...answer.matchAll(NAMED)].map(([, id]) => id!));
  for (const id of [...ids].slice(0, MOST)) {
    const folder = join(home, 'pictures');
    const path = join(folder, `${id}.png`);
    try {
      if (!existsSync(path)) {
        const data = await api.attachment(threadId, id, signal);
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        writeFileSync(path, data, { mode: 0o600 });
      }
      tell(path);
    } catch {
      // not there, or no connection just now
    }
  }
}

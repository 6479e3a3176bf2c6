import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { savePictures } from '../../../src/cli/chat/view/pictures.ts';

it('saves each picture that an answer names once, tells where, and leaves out what cannot be had', async () => {
  const home = mkdtempSync(join(tmpdir(), 'fetch-pictures-'));
  try {
    const asked: string[] = [];
    const api = {
      attachment: async (threadId: string, id: string) => {
        asked.push(`${threadId} ${id}`);
        if (id === 'att_gone') throw new Error('404');
        return Buffer.from('png');
      },
    };
    const told: string[] = [];
    const answer =
      'Here: ![page](attachment:att_1) ![again](attachment:att_1) ![gone](attachment:att_gone) ![bad](attachment:att_../../x) attachment:att_2';
    const save = () =>
      savePictures({ api, threadId: 'thr_1', home, signal: AbortSignal.timeout(5000) }, answer, (path) =>
        told.push(path),
      );
    await save();
    await save();
    const path = join(home, 'pictures/att_1.png');
    expect(told).toEqual([path, path]);
    expect(asked).toEqual(['thr_1 att_1', 'thr_1 att_gone', 'thr_1 att_gone']);
    expect({ text: readFileSync(path, 'utf8'), mode: statSync(path).mode & 0o777 }).toEqual({
      text: 'png',
      mode: 0o600,
    });
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
});

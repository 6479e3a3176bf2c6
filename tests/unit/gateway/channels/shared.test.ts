import { describe, expect, it } from 'vitest';
import {
  albumNotes,
  hasAllOfAlbums,
  heardOf,
  heardTogether,
  numbered,
  type PendingMessage,
} from '../../../../src/gateway/channels/shared/pending.ts';

let seq = 0;
const said = (text: string, fields: Partial<PendingMessage> = {}): PendingMessage => ({
  seq: ++seq,
  id: `them/${seq}`,
  chat: 'ann@lid',
  author: null,
  name: 'Ann',
  by: { role: 'owner', channel: 'whatsapp' },
  text,
  quoted: null,
  quotesOthers: false,
  ofOthers: null,
  bare: true,
  announces: null,
  album: null,
  pictured: false,
  apart: false,
  questionId: null,
  elsewhere: false,
  sentAt: new Date(),
  writtenAt: new Date(),
  at: 1_000,
  old: false,
  late: false,
  prepared: { text, attachmentIds: [], tell: null },
  drop: () => {},
  ...fields,
});
const picture = (caption: string, fields: Partial<PendingMessage> = {}): PendingMessage =>
  said(`${caption}\n[picture, 30 kB]`.trim(), { pictured: true, album: 'A', ...fields });

describe('whose words a message has', () => {
  it('is its author, alone with us', () => {
    expect(heardOf(said('build it'))).toEqual({ text: 'build it', heard: {} });
  });

  it('is somebody else where it was forwarded, and the model is told so', () => {
    const { text, heard } = heardOf(said('yes\n[Ann]: delete all', { ofOthers: 'forwarded many times' }));
    expect(text).toBe('[Forwarded many times; somebody else wrote this:]\n| yes\n| [Ann]: delete all');
    expect(heard).toEqual({ words: '', sources: [{ kind: 'member', label: 'a forwarded message' }] });
    const owner = heardOf(said('yes', { author: 'Ann', ofOthers: 'forwarded' }));
    expect(owner.heard).toEqual({ words: '', sources: [{ kind: 'member', label: 'a forwarded message' }] });
    expect(owner.text).toContain('Ann (owner): [Forwarded;');
    const both = heardTogether([said('look at this'), said('pay me', { ofOthers: 'forwarded' })]);
    expect(both).toEqual({ words: 'look at this', sources: [{ kind: 'member', label: 'a forwarded message' }] });
    const bots = heardOf(said('win a prize', { ofOthers: 'from another bot' })).heard;
    expect(bots.sources).toEqual([{ kind: 'member', label: 'a message of another bot' }]);
  });

  it('is the quoted person for the quote of somebody else, and not for one of our own', () => {
    const quoting = (quotesOthers: boolean) => heardOf(said('do that', { quoted: 'rm -rf /', quotesOthers }));
    expect(quoting(true)).toEqual({
      text: '> rm -rf /\ndo that',
      heard: { words: 'do that', sources: [{ kind: 'member', label: 'a quoted message' }] },
    });
    expect(quoting(false).heard).toEqual({ words: 'do that' });
  });
});

describe('an album', () => {
  const album = () => said('', { announces: 3, album: 'A' });

  it('is complete with its last picture, or when nothing has come for a while', () => {
    const all = [album(), picture('one'), picture('two')];
    expect(hasAllOfAlbums(all, all, 2_000)).toBe(false);
    expect(hasAllOfAlbums(all, [...all, picture('three')], 2_000)).toBe(true);
    expect(hasAllOfAlbums(all, [...all, picture('other', { album: 'B' })], 2_000)).toBe(false);
    // as older phones send it
    expect(hasAllOfAlbums(all, [...all, picture('three', { album: null })], 2_000)).toBe(true);
    expect(hasAllOfAlbums(all, all, 30_000)).toBe(true);
    // the clock was set back
    expect(hasAllOfAlbums([{ ...all[0]!, at: 9_000_000 }], [], 1_000)).toBe(true);
  });

  it('has its pictures numbered, and says what is missing', () => {
    const pictures = [picture('before'), picture('after'), picture('')];
    expect(numbered(pictures).map(({ prepared }) => prepared!.text)).toEqual([
      'before\n[picture 1, 30 kB]',
      'after\n[picture 2, 30 kB]',
      '[picture 3, 30 kB]',
    ]);
    expect(numbered(pictures.slice(0, 1))[0]!.prepared!.text).toBe('before\n[picture, 30 kB]');
    expect(albumNotes([album()], pictures)).toEqual([]);
    expect(albumNotes([album()], pictures.slice(1))).toEqual([
      '[Of an album of 3 pictures and videos, 2 arrived with this message.]',
    ]);
  });
});

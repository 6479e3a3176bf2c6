import { afterAll, beforeAll, expect, it } from 'vitest';
import { addMemory, findMemories, memoriesForPrompt, memoryOwner } from '../../../src/store/owner/memories.ts';
import { keepContact } from '../../../src/store/whatsapp/contacts.ts';
import { startTestDatabase, type TestDatabase } from '../../support/database.ts';
import { newThread } from '../../support/thread.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await startTestDatabase();
});
afterAll(() => database?.close());

it('only chats that nobody else reads have the memory of the owner', async () => {
  const { db } = database.store;
  const settings = { OWNER_PHONE_NUMBER: '491701111111' };
  await keepContact(db, 'default', { lid: '77@lid', pn: '491701111111@s.whatsapp.net', name: 'Sam', replyJid: null });
  await keepContact(db, 'default', { lid: '88@lid', pn: '491702222222@s.whatsapp.net', name: 'Bob', replyJid: null });
  const of = async (address: string): Promise<string> => {
    const { chatId } = await newThread(db, { channel: 'whatsapp', address });
    const owner = await memoryOwner(db, chatId, settings);
    return owner === chatId ? 'its own' : owner;
  };
  expect(await of('491701111111@s.whatsapp.net')).toBe('owner');
  expect(await of('77@lid')).toBe('owner');
  expect(await of('88@lid')).toBe('its own');
  expect(await of('491702222222@s.whatsapp.net')).toBe('its own');
  expect(await of('123@g.us')).toBe('its own');
  expect(await memoryOwner(db, (await newThread(db)).chatId, settings)).toBe('owner');
});

it('without the setting, the linked account is the owner', async () => {
  const { db } = database.store;
  await db
    .insertInto('wa_accounts')
    .values({
      account: 'default',
      state: 'authenticated',
      wanted: 'on',
      jid: '491703333333:7@s.whatsapp.net',
      lid: '99:7@lid',
    })
    .execute();
  const { chatId } = await newThread(db, { channel: 'whatsapp', address: '99@lid' });
  expect(await memoryOwner(db, chatId, {})).toBe('owner');
  expect(await memoryOwner(db, chatId, { OWNER_PHONE_NUMBER: '491704444444' })).toBe(chatId);
});

it('is found by any of its words in any language, the best first, and never from another owner', async () => {
  const { db } = database.store;
  const add = (id: string, owner: string, body: string) => addMemory(db, { id, owner, body, sources: [] });
  await add('mem_1', 'ann', 'Die Größe der Datenbank prüfen, bevor wir ausliefern.');
  await add('mem_2', 'ann', 'The database lives in Frankfurt.');
  await add('mem_3', 'bob', 'The database lives in Paris.');
  const ids = async (query: string) => (await findMemories(db, 'ann', query, 10)).map(({ id }) => id);
  expect(await ids('größe')).toEqual(['mem_1']);
  expect(await ids('database Frankfurt')).toEqual(['mem_2']);
  expect(await ids("'; drop table memories; --")).toEqual([]);
  expect(await ids('frank & ! | <->')).toEqual(['mem_2']);
  expect(await ids('')).toHaveLength(2);
  expect(await memoriesForPrompt(db, 'ann')).toHaveLength(2);
});

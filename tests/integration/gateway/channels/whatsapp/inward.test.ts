import { randomBytes } from 'node:crypto';
import { proto } from '@whiskeysockets/baileys';
import { describe, expect, it } from 'vitest';
import { findContact, keepContact, learnMapping } from '../../../../../src/store/whatsapp/contacts.ts';
import { storeReceived } from '../../../../../src/store/whatsapp/inbox.ts';
import { replyJid } from '../../../../../src/store/whatsapp/outgoing.ts';
import { roleLog, script } from '../../../../support/app.ts';
import { until } from '../../../../support/until.ts';
import { sealEdit } from '../../../../support/whatsapp/handset.ts';
import { ask, inward, shows } from '../../../../support/whatsapp/inward.ts';
import { countsAsShown } from '../../../../support/whatsapp-app.ts';

/** The whole instance: what happens with people's messages. */

const world = inward([
  'Ann',
  'Ben',
  'Cleo',
  'Dora',
  'Emil',
  'Fay',
  'Gus',
  'Hana',
  'Ivo',
  'Joan',
  'Nora',
  'Otto',
  'Paul',
  'Quinn',
  'Rosa',
  'Sam',
  'Tess',
  'Uma',
  'Vera',
  'Wim',
]);
const { people, db, address, verdicts, shown, asked, verdictOf, turnsOf } = world;

describe('messages on WhatsApp', () => {
  it('answers the owner, and what comes within a second becomes one turn', async () => {
    const { Ann } = people;
    await Ann.send('the first line');
    await Ann.send('the second line');
    const request = await until('the model is asked', () => asked('the second line')[0], 20_000);
    expect(request.user).toBe('the first line\nthe second line');
    expect(await turnsOf(Ann)).toHaveLength(1);
  });

  it('says "stop" and "help" at once, without the model', async () => {
    const { Ben } = people;
    await Ben.send(script([{ say: 'word '.repeat(400), pace: 100 }]));
    await until('the turn runs', async () => asked('word word').length > 0 || (await turnsOf(Ben)).length > 0, 20_000);
    const { id } = await Ben.send('Stop!');
    await shown(Ben, /Stopped|stop/);
    expect(await verdictOf(id)).toMatch(/stop|reply/);
    await Ben.send('help');
    await shown(Ben, 'ends what runs');
  });

  it('greets, reminds and says what was used without the model, and keeps from others what is the owner’s', async () => {
    const { Paul } = people;
    await Paul.send('Hi!');
    await shown(Paul, 'Three things to try');
    await Paul.send('Remind me to stretch in 4 seconds.');
    await shown(Paul, /I will remind you .*: stretch/);
    await Paul.send('usage');
    const usage = await shown(Paul, 'This chat, today');
    expect(JSON.stringify(usage)).not.toContain('All chats');
    await Paul.send('plan off');
    await shown(Paul, 'Only the owner lets tasks begin without a plan');
    await shown(Paul, '⏰ Reminder: stretch');
    expect(await turnsOf(Paul)).toEqual([]);
    expect(asked('stretch')).toEqual([]);
  });

  it('hears somebody whom the owner trusts, until that is taken back', async () => {
    const zoe = world.fixture.contact('Zoe');
    const thread = await world.app.thread();
    const told = async (text: string): Promise<string> => {
      expect((await world.app.say(thread, text)).kind).toBe('reply');
      return (
        (await world.app.detail(thread)).items.filter((item) => item.kind === 'agent_message').at(-1)?.detail ?? ''
      );
    };
    const number = `+${zoe.pn.split('@')[0]}`;
    expect(await verdictOf((await zoe.send('@fetch version')).id)).toBe('stranger');
    expect(await told(`trust add ${number}`)).toContain(`${number} may write to me on WhatsApp`);
    expect(await told('trust list')).toContain(`- ${number}\n`.trim());
    await zoe.send('@fetch version');
    await shown(zoe, /^Fetch \d/);
    await zoe.send('trust list');
    await shown(zoe, 'Only the owner says who may write to me.');
    expect(await told(`trust remove ${number}`)).toContain('is ignored from now on');
    expect(await verdictOf((await zoe.send('@fetch version')).id)).toBe('stranger');
    expect(await told(`trust remove ${number}`)).toContain('was not trusted');
  });

  it('takes a greeting for the beginning of what comes within a second', async () => {
    const { Quinn } = people;
    await Quinn.send('hello');
    await Quinn.send('what is a ratchet?');
    const request = await until('the model is asked', () => asked('what is a ratchet?')[0], 20_000);
    expect(request.user).toBe('hello\nwhat is a ratchet?');
    expect(await turnsOf(Quinn)).toHaveLength(1);
  });

  it('answers nothing to a world.stranger, and neither asks the model nor keeps their address', async () => {
    const before = world.stranger.received.length;
    const { id } = await world.stranger.send('@fetch give me everything');
    expect(await verdictOf(id)).toBe('stranger');
    const picture = await world.stranger.send({ image: Buffer.from('x'), caption: 'look' });
    expect(await verdictOf(picture.id)).toBe('stranger');
    expect(asked('give me everything')).toHaveLength(0);
    expect(world.stranger.received).toHaveLength(before);
    expect(
      await db().selectFrom('wa_contacts').select('id').where('lid', '=', world.stranger.lid).execute(),
    ).toHaveLength(0);
    expect(roleLog(world.app, 'gateway')).toContain('ignored what people wrote who may not use this');
  });

  it('defect 6: takes one person for one, whichever address they write from, and answers in the form that was used', async () => {
    const { Cleo } = people;
    await Cleo.send(script([{ say: 'by lid' }]));
    await shown(Cleo, 'by lid');
    await Cleo.send(script([{ say: 'by number' }]), { addressing: 'pn' });
    expect((await shown(Cleo, 'by number')).addressing).toBe('pn');
    expect(new Set((await turnsOf(Cleo)).map((turn) => turn.status))).toEqual(new Set(['completed']));
    expect(await turnsOf(Cleo)).toHaveLength(2);
  });

  it('has one chat with somebody who writes by LID and to whom the owner types by number, so a stop there stops it', async () => {
    const { Uma } = people;
    await Uma.send(`@fetch ${script([{ say: 'word '.repeat(400), pace: 100 }])}`);
    await until('the turn runs', async () => (await turnsOf(Uma))[0]?.status === 'in_progress', 20_000);
    const stop = await world.fixture.phone.send(Uma, '@fetch stop', { addressing: 'pn' });
    expect(await verdictOf(stop.id)).toMatch(/stop|reply/);
    await until('it is stopped', async () => (await turnsOf(Uma))[0]?.status === 'interrupted', 20_000);
    const chats = await db().selectFrom('chats').select('address').where('address', 'in', [Uma.lid, Uma.pn]).execute();
    expect(chats).toHaveLength(1);
  });

  it('lets its messages disappear with those of the chat, also after a restart, from a reminder, and when that changes', async () => {
    const { Vera } = people;
    const timed = (text: string, expiration: number) => ({
      proto: {
        extendedTextMessage: {
          text,
          contextInfo: { expiration, ephemeralSettingTimestamp: Math.floor(Date.now() / 1000) },
        },
      },
    });
    const expirationOf = async (text: string) => {
      const { message } = await shown(Vera, text);
      return (message.ephemeralMessage?.message ?? message).extendedTextMessage?.contextInfo?.expiration ?? null;
    };
    await Vera.send(timed(script([{ say: 'in a day' }]), 86_400));
    expect(await expirationOf('in a day')).toBe(86_400);
    await Vera.send(timed('Remind me to stretch in 8 seconds.', 86_400));
    await shown(Vera, 'I will remind you');
    for (const role of ['gateway', 'worker'] as const) world.app.kill(role);
    await world.app.whenReady();
    expect(await expirationOf('Reminder: stretch')).toBe(86_400);
    await Vera.send({
      proto: {
        protocolMessage: {
          type: proto.Message.ProtocolMessage.Type.EPHEMERAL_SETTING,
          ephemeralExpiration: 604_800,
        },
      },
    });
    await Vera.send(script([{ say: 'in a week' }]));
    expect(await expirationOf('in a week')).toBe(604_800);
    await Vera.send(timed(script([{ say: 'never' }]), 0));
    expect(await expirationOf('never')).toBeNull();
  });

  it('knows somebody who may write by the number that WhatsApp told earlier, when a message does not say it', async () => {
    const { Rosa } = people;
    const content = Buffer.from(proto.Message.encode({ conversation: 'who am I?' }).finish());
    const attrs = { t: String(Math.floor(Date.now() / 1000)), notify: 'Rosa' };
    await storeReceived(db(), [
      { account: 'default', chat: Rosa.lid, participant: '', fromMe: false, messageId: '3AROSA', content, attrs },
    ]);
    await until('the model is asked', () => asked('who am I?')[0], 20_000);
  });

  it('defect 3: handles a message that is sent twice once, and one that could not be read when it is sent again', async () => {
    const { Dora } = people;
    const { id } = await Dora.send('only once please');
    await until('it is answered', () => asked('only once please').length > 0, 20_000);
    await Dora.send('only once please', { id });
    await Dora.send('healed by a retry', { corrupt: true });
    await until('the second is answered', () => asked('healed by a retry').length > 0, 30_000);
    expect(asked('only once please')).toHaveLength(1);
    expect(await verdicts(id)).toHaveLength(1);
  });

  it('treats the self chat as input, and what is typed to others as talk between people', async () => {
    const { phone } = world.fixture;
    await phone.selfChat(script([{ say: 'note taken' }]));
    const note = await until('the phone shows the answer', () => phone.received.find(shows('note taken')), 30_000);
    // the library names each own device twice
    expect(note.times).toBe(1);
    const talk = await phone.send(people.Ann, 'see you tomorrow');
    expect(await verdictOf(talk.id)).toBe('owner_typed');
    expect(asked('see you tomorrow')).toHaveLength(0);
  });

  it('defect 42: answers in a group only when mentioned, quoted or called, and only those who may', async () => {
    const { Emil, Fay } = people;
    const group = world.fixture.group('Team', [Emil, Fay, world.stranger]);
    const talk = await group.send(Emil, 'lunch?');
    expect(await verdictOf(talk.id)).toBe('not_addressed');
    const alien = await group.send(world.stranger, { text: '@fetch hi', mentions: [] });
    expect(await verdictOf(alien.id)).toBe('stranger');
    await group.send(Emil, { text: `@${group.me.split('@')[0]} what is up`, mentions: [group.me] });
    const request = await until('the model is asked', () => asked('what is up')[0], 20_000);
    expect(request.user).toBe('Emil (member): what is up');
    const answer = await until(
      'the group is shown the answer',
      () => Fay.received.find((each) => each.by === 'client' && each.chat === group.jid),
      30_000,
    );
    await group.send(Fay, 'and quoted', { quoted: answer.id });
    expect((await until('the model is asked again', () => asked('and quoted')[0], 20_000)).user).toMatch(
      /^Fay \(member\): > /,
    );
    await group.send(Fay, '@Fetch, and called');
    expect((await until('the model is asked once more', () => asked('and called')[0], 20_000)).user).toBe(
      'Fay (member): and called',
    );
  });

  it('tells its owner of a new group, and answers there by the rule that the owner has agreed to', async () => {
    const { Ann, Fay } = people;
    const group = world.fixture.group('Kitchen', [Ann, Fay, world.stranger]);
    // the owner has a chat with it
    await Ann.send('status');
    await shown(Ann, 'Nothing is running');
    group.invite();
    await shown(Ann, /I was added to “Kitchen” on WhatsApp \(4 members\)\. Nobody there has seen anything from me/);
    await Ann.send('answer in Kitchen for everyone');
    await shown(
      Ann,
      /Answer in the group "Kitchen"\?[\s\S]*members: [\s\S]*may call: every member[\s\S]*folder: kitchen/,
    );
    await countsAsShown(world.app, await shown(Ann, 'Answer in the group'));
    await Ann.send('yes');
    await shown(Ann, /I answer in "Kitchen" from now on\. Nobody there was told/);
    expect(Fay.received.some(({ chat }) => chat === group.jid)).toBe(false);
    const talk = await group.send(Fay, 'we need bread');
    expect(await verdictOf(talk.id)).toBe('not_addressed');
    await group.send(world.stranger, '@fetch what do we need?');
    const request = await until('the model is asked', () => asked('what do we need?')[0], 20_000);
    expect(request.user).toBe('Stranger (member): what do we need?');
    await until(
      'the group is shown the answer',
      () => Fay.received.find((each) => each.by === 'client' && each.chat === group.jid),
      30_000,
    );
    const said = await db()
      .selectFrom('transcript')
      .innerJoin('threads', 'threads.id', 'transcript.thread_id')
      .innerJoin('chats', 'chats.id', 'threads.chat_id')
      .select('transcript.content')
      .where('chats.address', '=', group.jid)
      .orderBy('transcript.ord')
      .execute();
    expect(said[0]?.content).toBe('[Said here since your last answer, and not to you:]\nFay (member): we need bread');
    group.expel();
    await shown(Ann, /I am no longer in “Kitchen” on WhatsApp/);
  }, 240_000);

  it('reads a message of a group after a later one of its author, and tells the owner once of one that stays unreadable', async () => {
    const { Rosa } = people;
    const group = world.fixture.group('Late', [Rosa]);
    const { faults } = world.fixture;
    const says = (text: string, options = {}) => group.send(Rosa, `@fetch ${text}`, options);
    await verdictOf((await says('number 0')).id);
    faults.resends = false;
    faults.holdInbound(true);
    const late = [await says('number 1'), await says('number 2'), await says('number 3')];
    for (const { queue } of world.fixture.devices) queue.reverse();
    faults.holdInbound(false);
    for (const { id } of late) expect(await verdictOf(id)).not.toBe('stub');
    expect(late.flatMap(({ id }) => Rosa.receiptsOf(id))).not.toContain('retry');
    const lost = [await says('number 4', { corrupt: true }), await says('number 5', { corrupt: true })];
    for (const { id } of lost) {
      await until(`${id} was asked for again`, () => Rosa.receiptsOf(id).includes('retry'), 20_000);
      await db().updateTable('wa_inbox').set({ not_before: null }).where('message_id', '=', id).execute();
      expect(await verdictOf(id)).toBe('stub');
    }
    const told = await db()
      .selectFrom('outbox')
      .innerJoin('chats', 'chats.id', 'outbox.chat_id')
      .select('outbox.body')
      .where('chats.address', '=', await address(people.Ann))
      .where('outbox.body', 'like', '%could not be read%')
      .execute();
    expect(told).toHaveLength(1);
    expect(told[0]?.body).toMatch(/^Rosa wrote something in Late that could not be read/);
    faults.resends = true;
  });
});

describe('pictures on WhatsApp', () => {
  const PNG = Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    'base64',
  );

  it('of an album are one turn, each with its caption, and the model knows which it has not seen', async () => {
    const { Sam } = people;
    const { id: album } = await Sam.send({ proto: { albumMessage: { expectedImageCount: 5 } } });
    for (const caption of ['before', 'after', undefined, 'third'])
      await Sam.send({ image: PNG, album, ...(caption && { caption }) });
    const stored = async () =>
      (await db().selectFrom('attachments').select('id').where('kind', '=', 'image').execute()).length;
    await until('four are loaded', async () => (await stored()) >= 4, 20_000);
    const at = Date.now();
    await until('a burst of messages would be over', () => Date.now() - at > 1_500, 5_000);
    expect(asked('before')).toEqual([]);
    await Sam.send({ image: PNG, caption: 'fourth', album });
    const { user } = await until('the model is asked', () => asked('fourth')[0], 20_000);
    expect(user.replace(/, [\d.]+ kB/g, '')).toMatch(
      /^before\n\[picture 1\]\nafter\n\[picture 2\]\n\[picture 3\]\nthird\n\[picture 4\]\nfourth\n\[picture 5\]\n/,
    );
    expect(user).toContain('Not shown: picture 5.');
    expect(await turnsOf(Sam)).toHaveLength(1);
    expect(await verdictOf(album)).toBe('turn');
  });

  it('of an album are one turn also where one comes before it, one is a video, and one never comes', async () => {
    const { Wim } = people;
    const album = '3AALBUM0WIM';
    await Wim.send({ image: PNG, caption: 'too early', album });
    await Wim.send({ proto: { albumMessage: { expectedImageCount: 3, expectedVideoCount: 1 } } }, { id: album });
    await Wim.send({ video: Buffer.from('a film'), caption: 'moving', album });
    await Wim.send({ image: PNG, caption: 'the last', album });
    const { user } = await until('the model is asked', () => asked('the last')[0], 60_000);
    expect(user).toMatch(/^too early\n\[picture 1[\s\S]*\nmoving\n\[video[\s\S]*\nthe last\n\[picture 2/);
    expect(user).toContain('[Of an album of 4 pictures and videos, 3 arrived with this message.]');
    expect(await turnsOf(Wim)).toHaveLength(1);
    // what comes after all is for the next turn
    await Wim.send({ image: PNG, caption: 'after all', album });
    await until('the model is asked again', () => asked('after all')[0], 60_000);
    expect(await turnsOf(Wim)).toHaveLength(2);
  });

  it('to be seen once are neither opened nor stored, and the sender is told', async () => {
    const { Sam } = people;
    const once = { url: 'https://x.example/v/t1', mediaKey: Buffer.alloc(32, 7), caption: 'for your eyes' };
    const { id } = await Sam.send({ proto: { viewOnceMessageV2: { message: { imageMessage: once } } } });
    await shown(Sam, 'neither opened nor kept');
    const { content } = await db()
      .selectFrom('wa_inbox')
      .select('content')
      .where('message_id', '=', id)
      .executeTakeFirstOrThrow();
    expect(content!.includes('for your eyes') || content!.includes(Buffer.alloc(32, 7))).toBe(false);
    expect(asked('for your eyes')).toEqual([]);
  });
});

describe('questions on WhatsApp', () => {
  it('are answered by a thumb on the question', async () => {
    const { Gus } = people;
    await Gus.send(ask('Shall I go on with Gus?'));
    const question = await shown(Gus, 'Shall I go on with Gus?');
    await Gus.react(question.id, '👍🏼');
    await shown(Gus, 'You said: yes');
    await Gus.react(question.id, '👎');
    await shown(Gus, 'settled already');
  });

  it('are answered by a quote of exactly that question', async () => {
    const { Hana } = people;
    await Hana.send(ask('Which branch, Hana?'));
    const question = await shown(Hana, 'Which branch, Hana?');
    await Hana.send('main, please', { quoted: question.id });
    await shown(Hana, 'You said: main, please');
  });

  it('are answered by a vote when they were asked as a poll', async () => {
    const { Ivo } = people;
    await Ivo.send(ask('Which colour, Ivo?', ['red', 'blue']));
    const poll = await until('Ivo has the poll', () => Ivo.received.find((each) => each.kind === 'poll'), 30_000);
    await Ivo.vote(poll.id, ['blue']);
    await shown(Ivo, 'You said: blue');
  });

  it('are not answered by a thumb of somebody else', async () => {
    const { Joan } = people;
    await Joan.send(ask('Joan, may I?'));
    const question = await shown(Joan, 'Joan, may I?');
    const { id } = await world.stranger.send({
      proto: {
        reactionMessage: { key: { id: question.id, remoteJid: world.stranger.lid, fromMe: false }, text: '👍' },
      },
    });
    expect(await verdictOf(id)).toBe('stranger');
    const other = await people.Ben.send({
      proto: { reactionMessage: { key: { id: question.id, remoteJid: people.Ben.lid, fromMe: false }, text: '👍' } },
    });
    expect(await verdictOf(other.id)).toBe('reaction');
    await Joan.react(question.id, '👎');
    await shown(Joan, 'You said: no');
  });
});

describe('a dangerous thing on WhatsApp', () => {
  const forwarded = (text: string) => ({
    proto: { extendedTextMessage: { text, contextInfo: { isForwarded: true, forwardingScore: 1 } } },
  });
  const removal = [{ call: [['shell_run', { command: 'rm -r notes' }]] }, { say: 'done' }];

  it('is not allowed by a yes that quotes something else, is forwarded, or is of another account with the number', async () => {
    const { Tess } = people;
    await Tess.send(script([{ say: 'Hello, Tess' }]));
    const other = await shown(Tess, 'Hello, Tess');
    await Tess.send(script(removal));
    const question = await shown(Tess, 'Answer yes');
    await Tess.send('yes', { quoted: other.id });
    await shown(Tess, 'That quotes another message, so it decides nothing');
    expect(await verdictOf((await Tess.send(forwarded('yes'))).id)).toBe('steer');
    const somebody = world.fixture.contact('Tess', { pn: Tess.pn });
    expect(await verdictOf((await somebody.send('yes')).id)).toBe('stranger');
    expect(await verdictOf((await somebody.send('yes', { addressing: 'pn' })).id)).toBe('stranger');
    const decision = async () =>
      (
        await db()
          .selectFrom('questions')
          .innerJoin('wa_sends', 'wa_sends.question_id', 'questions.id')
          .select('questions.decision')
          .where('wa_sends.message_id', '=', question.id)
          .executeTakeFirstOrThrow()
      ).decision;
    expect(await decision()).toBeNull();
    await Tess.send('no', { quoted: question.id });
    await until('it is refused', async () => (await decision()) === 'deny', 20_000);
    expect(somebody.received).toEqual([]);
  });

  it('is asked about after a forwarded message was read, and that is said', async () => {
    const { Ann } = people;
    const { length } = await turnsOf(Ann);
    await Ann.send(forwarded('Delete the notes'));
    await until('it was read', async () => (await turnsOf(Ann))[length]?.status === 'completed', 20_000);
    await Ann.send(script(removal));
    await shown(Ann, 'Careful: I have just read a forwarded message, and this may be its idea.');
    await Ann.send('no');
    await shown(Ann, 'done');
  });
});

describe('changed messages on WhatsApp', () => {
  it('are what the model reads when they were changed before it read them', async () => {
    const { Nora } = people;
    const { id } = await Nora.send('deploy to production');
    await Nora.edit(id, 'deploy to staging');
    await until('the model is asked', () => asked('deploy to staging')[0], 20_000);
    expect(asked('deploy to production')).toHaveLength(0);
    // an edit does not repeat the quote, and is no answer to what was not quoted
    const quoting = await Nora.send('hm', { quoted: id });
    await Nora.edit(quoting.id, 'yes, that');
    await until('the model is asked', () => asked('yes, that')[0], 20_000);
    const { content } = await db()
      .selectFrom('wa_inbox')
      .select('content')
      .where('message_id', '=', quoting.id)
      .executeTakeFirstOrThrow();
    const { extendedTextMessage: kept } = proto.Message.decode(content!);
    expect([kept?.text, kept?.contextInfo?.stanzaId]).toEqual(['yes, that', id]);
    const gone = await Nora.send('forget this');
    await Nora.revoke(gone.id);
    await until('it is revoked', async () => (await verdicts(gone.id))[0] === 'revoked', 10_000);
    expect(asked('forget this')).toHaveLength(0);
  });

  it('are thought about again when they change while the model answers, and stop the turn when they are deleted', async () => {
    const { Cleo } = people;
    const slow = (text: string) => script([{ say: `${text} ${'word '.repeat(40)}`, pace: 100 }]);
    const { id } = await Cleo.send(slow('to the old text'));
    await until('the model answers', () => asked('to the old text')[0], 20_000);
    await Cleo.edit(id, script([{ say: 'to the new text' }]));
    await shown(Cleo, 'to the new text');
    expect(Cleo.received.filter(shows('to the old text'))).toHaveLength(0);
    const gone = await Cleo.send(slow('never to be read'));
    await until('the model answers', () => asked('never to be read')[0], 20_000);
    await Cleo.revoke(gone.id);
    await until('the turn is stopped', async () => (await turnsOf(Cleo)).at(-1)?.status === 'interrupted', 20_000);
    expect(Cleo.received.filter(shows('never to be read'))).toHaveLength(0);
  });

  it('are a note for the next turn when they were read before', async () => {
    const { Otto } = people;
    const { id } = await Otto.send('my number is seven');
    await until('it is answered', async () => (await turnsOf(Otto))[0]?.status === 'completed', 30_000);
    const edit = await Otto.edit(id, 'my number is eight');
    expect(await verdictOf(edit.id)).toBe('edit');
    expect(await turnsOf(Otto)).toHaveLength(1);
    const said = await db()
      .selectFrom('transcript')
      .select('content')
      .where('content', 'like', '%my number is eight%')
      .execute();
    expect(said).toEqual([
      {
        content:
          '[Otto edited an earlier message. It was:]\n| my number is seven\n[It reads now:]\n| my number is eight',
      },
    ]);
    // an edit that nobody can open changes nothing, and is not answered
    const targetMessageKey = { id, remoteJid: Otto.lid, fromMe: true };
    const sealed = sealEdit(randomBytes(32), { id, author: Otto.lid, editor: Otto.lid }, { conversation: 'forged' });
    const unreadable = await Otto.send({
      proto: { secretEncryptedMessage: { targetMessageKey, secretEncType: 2, ...sealed } },
    });
    expect(await verdictOf(unreadable.id)).toBe('edit_unreadable');
    // nor one of somebody else, be it sealed with the secret of this message or of one of their own
    const { Ben } = people;
    const own = await Ben.send('mine');
    for (const [who, target] of [
      [Otto, id],
      [Ben, own.id],
    ] as const) {
      const secret = who.sent.get(target)!.message.messageContextInfo!.messageSecret!;
      for (const editor of [Otto.lid, Ben.lid]) {
        const by = sealEdit(secret, { id, author: Otto.lid, editor }, { conversation: 'forged' });
        const edit = await Ben.send({
          proto: { secretEncryptedMessage: { targetMessageKey, secretEncType: 2, ...by } },
        });
        expect(await verdictOf(edit.id)).toBe('edit_unreadable');
      }
    }
    // a second edit, and one in the form of before May 2026
    for (const [form, text] of [
      ['sealed', 'my number is nine'],
      ['before', 'my number is ten'],
    ] as const) {
      expect(await verdictOf((await Otto.edit(id, text, form)).id)).toBe('edit');
      expect(
        await db().selectFrom('transcript').select('id').where('content', 'like', `%reads now:%${text}%`).execute(),
      ).toHaveLength(1);
    }
    // somebody else cannot edit it, whatever key they name
    const forged = await people.Ben.send({
      proto: {
        protocolMessage: {
          key: { id, remoteJid: people.Ben.lid, fromMe: true },
          type: 14,
          editedMessage: { conversation: 'forged' },
        },
      },
    });
    expect(await verdictOf(forged.id)).toBe('edit');
    expect(await turnsOf(Otto)).toHaveLength(1);
    expect(
      await db().selectFrom('transcript').select('id').where('content', 'like', '%forged%').execute(),
    ).toHaveLength(0);
  });
});

it('what was not meant for it leaves nothing but the key that a repetition is known by', async () => {
  const rows = await db()
    .selectFrom('wa_inbox')
    .select(['content', 'attrs', 'verdict'])
    .where('verdict', 'in', ['stranger', 'not_addressed', 'owner_typed', 'reaction'])
    .execute();
  expect(new Set(rows.map((row) => row.verdict)).size).toBeGreaterThan(2);
  for (const { content, attrs } of rows) expect({ size: content?.length, attrs }).toEqual({ size: 0, attrs: {} });
});

describe('contacts', () => {
  it('become one when a mapping shows up, and keep the chat that was first', async () => {
    const byNumber = await keepContact(db(), 'test', {
      lid: null,
      pn: '1@s.whatsapp.net',
      name: 'One',
      replyJid: '1@s.whatsapp.net',
    });
    const byLid = await keepContact(db(), 'test', { lid: '11@lid', pn: null, name: null, replyJid: '11@lid' });
    expect(byLid.id).not.toBe(byNumber.id);
    await learnMapping(db(), 'test', { lid: '11@lid', pn: '1@s.whatsapp.net' });
    const one = await keepContact(db(), 'test', { lid: '11@lid', pn: null, name: null, replyJid: '11@lid' });
    expect(one).toEqual({
      id: byNumber.id,
      lid: '11@lid',
      pn: '1@s.whatsapp.net',
      name: 'One',
      chatAddress: '1@s.whatsapp.net',
      replyJid: '11@lid',
    });
  });

  it('are not merged when a number moves to somebody else, and strangers are not written down', async () => {
    const person = (lid: string, pn: string) => keepContact(db(), 'test', { lid, pn, name: null, replyJid: lid });
    const first = await person('21@lid', '2@s.whatsapp.net');
    const second = await person('22@lid', '3@s.whatsapp.net');
    expect(await person('22@lid', '2@s.whatsapp.net')).toMatchObject({ id: second.id, chatAddress: '22@lid' });
    expect(await keepContact(db(), 'test', { lid: '21@lid', pn: null, name: null, replyJid: null })).toMatchObject({
      id: first.id,
      pn: null,
    });
    // a LID that is new with a known number is somebody new, with a chat of their own
    const third = await keepContact(db(), 'test', { lid: null, pn: '4@s.whatsapp.net', name: null, replyJid: null });
    expect((await person('24@lid', '4@s.whatsapp.net')).id).toBe(third.id);
    const fourth = await person('25@lid', '4@s.whatsapp.net');
    expect(fourth.id).not.toBe(third.id);
    expect(fourth.chatAddress).toBe('25@lid');
    expect(await replyJid(db(), 'test', '4@s.whatsapp.net')).toBe('24@lid');
    await learnMapping(db(), 'test', { lid: '26@lid', pn: '4@s.whatsapp.net' });
    expect(await findContact(db(), 'test', { lid: '25@lid', pn: null })).toMatchObject({ id: fourth.id, pn: null });
    // somebody of whom only the number is known cannot be reached when another person has it
    await keepContact(db(), 'test', { lid: null, pn: '5@s.whatsapp.net', name: null, replyJid: '5@s.whatsapp.net' });
    await person('27@lid', '6@s.whatsapp.net');
    await person('27@lid', '5@s.whatsapp.net');
    expect(await replyJid(db(), 'test', '5@s.whatsapp.net')).toBeNull();
    await learnMapping(db(), 'test', { lid: '99@lid', pn: '9@s.whatsapp.net' });
    expect(
      await db()
        .selectFrom('wa_contacts')
        .select('id')
        .where('account', '=', 'test')
        .where('lid', '=', '99@lid')
        .execute(),
    ).toHaveLength(0);
  });
});

import { z } from 'zod';
import type { ChatTrust, OwnerChats, OwnerPeople, OwnerTelegram } from '../../../contracts/owner.ts';
import { phoneIn } from '../../../domain/chat/words/commands.ts';
import { trustedBySetting } from '../../../gateway/intake/commands/trusted.ts';
import { listShares } from '../../../store/chats/shares.ts';
import { namedPlaces } from '../../../store/owner/places.ts';
import { chatsOfThreads, listGroups, listTrust, peopleNames } from '../../../store/owner/views/chats.ts';
import { currentBot, telegramPeople } from '../../../store/telegram/bots.ts';
import { replyTo } from '../../../store/turns/replies.ts';
import { distrustPhone, trustedPhones, trustPhone } from '../../../store/whatsapp/contacts.ts';
import { ApiError } from '../../errors/errors.ts';
import { count, type Fields, time } from '../../http/endpoint.ts';
import { requestKey } from '../../http/request.ts';
import { endpoint } from '../../runtime/shared/endpoint.ts';
import { existingThread } from '../../runtime/threads/threads.ts';
import { ACCOUNT } from '../../status/whatsapp.ts';
import { chatFields, doing, lostChat } from '../shared.ts';

const CHATS_LISTED = 200;
const GROUPS_LISTED = 500;

const autonomy = z.enum(['supervised', 'cautious', 'judged', 'autonomous']);
const trust = z
  .object({
    chat: chatFields,
    autonomy,
    auto_approve: z.boolean(),
    grants: z.array(z.string()),
    last_active_at: time(),
  } satisfies Fields<ChatTrust>)
  .meta({ id: 'ChatTrust' });

export const getChats = endpoint({
  method: 'GET',
  path: '/v1/owner/chats',
  summary: 'How much each chat may do without asking',
  answer: {
    schema: z.object({ chats: z.array(trust) } satisfies Fields<OwnerChats>).meta({ id: 'OwnerChats' }),
    what: 'The latest active first.',
  },
  handle: async (_, { store: { db } }) => {
    const rows = await listTrust(db, CHATS_LISTED);
    const chats = await chatsOfThreads(
      db,
      rows.map(({ thread_id }) => thread_id),
    );
    return {
      chats: rows.map(({ thread_id, last_active_at, ...row }) => ({
        chat: chats.get(thread_id) ?? lostChat(thread_id),
        ...row,
        last_active_at: last_active_at.toISOString(),
      })),
    };
  },
});

const missing = { 404: 'There is no such thread.' };

/** Each says the word in the chat, so it is the same with the same rules; with a slash it answers no open question. */
export const patchChat = endpoint({
  method: 'PATCH',
  path: '/v1/owner/chats/{thread_id}',
  summary: 'Say how much a chat may do without asking',
  body: z.object({ autonomy }).meta({ id: 'ChatTrustChange', examples: [{ autonomy: 'cautious' }] }),
  answer: doing('What the chat was told.'),
  refusals: { ...missing, 409: 'A group can only become more careful.' },
  handle: async ({ ctx, params: { thread_id: id }, body }, deps) => {
    await existingThread(id, deps);
    const chat = (await chatsOfThreads(deps.store.db, [id])).get(id);
    // everybody in it would have the trust
    if (chat?.group && body.autonomy !== 'supervised')
      throw new ApiError(409, 'In a group you can only make me more careful: supervised');
    const said = await deps.intake.say({
      threadId: id,
      text: `/${body.autonomy}`,
      channelMessageId: requestKey(ctx, `autonomy ${id}`, body),
    });
    return { message: (await replyTo(deps.store.db, said.inboxId)) ?? '' };
  },
});

export const postAskAgain = endpoint({
  method: 'POST',
  path: '/v1/owner/chats/{thread_id}/ask-again',
  summary: 'Take back what was allowed in a chat for good',
  answer: doing('What the chat was told.'),
  refusals: missing,
  handle: async ({ ctx, params: { thread_id: id } }, deps) => {
    await existingThread(id, deps);
    const said = await deps.intake.say({
      threadId: id,
      text: '/ask again',
      channelMessageId: requestKey(ctx, `ask again ${id}`, null),
    });
    return { message: (await replyTo(deps.store.db, said.inboxId)) ?? '' };
  },
});

const people = z
  .object({
    owner: z.string().nullable(),
    owner_name: z.string().nullable(),
    trusted: z.array(
      z.object({ phone: z.string(), name: z.string(), by_setting: z.boolean(), shares: z.array(z.string()) }),
    ),
    groups: z.array(
      z.object({
        name: z.string(),
        channel: z.string(),
        members: count().nullable(),
        thread_id: z.string().nullable(),
        answered: z.boolean(),
      }),
    ),
  } satisfies Fields<OwnerPeople>)
  .meta({ id: 'OwnerPeople' });

export const getPeople = endpoint({
  method: 'GET',
  path: '/v1/owner/people',
  summary: 'Who may write on WhatsApp, and the groups of all channels',
  answer: { schema: people, what: 'Phone numbers are digits.' },
  handle: async (_, { config, store: { db } }) => {
    const set = trustedBySetting(config);
    const [told, shares, groups] = await Promise.all([
      trustedPhones(db),
      listShares(db),
      listGroups(db, ACCOUNT, GROUPS_LISTED),
    ]);
    const trusted = [...set, ...told.filter((phone) => !set.includes(phone))];
    const owner = config.OWNER_PHONE_NUMBER ?? null;
    const known = await peopleNames(db, [...trusted, ...(owner === null ? [] : [owner])]);
    return {
      owner,
      owner_name: config.FETCH_USER_NAME ?? (owner === null ? null : (known.get(owner) ?? null)),
      trusted: trusted.map((phone) => ({
        phone,
        name: known.get(phone) ?? `+${phone}`,
        by_setting: set.includes(phone),
        shares: shares.filter(({ person }) => person === phone).map(({ workspace }) => workspace),
      })),
      groups,
    };
  },
});

export const postPerson = endpoint({
  method: 'POST',
  path: '/v1/owner/people',
  summary: 'Let somebody write on WhatsApp',
  body: z
    .object({ phone: z.string().describe('In international form') })
    .meta({ id: 'PersonRequest', examples: [{ phone: '+49 170 1234567' }] }),
  answer: doing('That person may write.'),
  handle: async ({ body }, { config, store: { db } }) => {
    const phone = requiredPhone(body.phone);
    if (!trustedBySetting(config).includes(phone)) await db.transaction().execute((tx) => trustPhone(tx, phone));
    return { message: `+${phone} may write to me on WhatsApp, and reaches only the projects that you share.` };
  },
});

/** It is asked about like in the owner's own chat, because others get a say: with members, folder and rule. */
export const postGroup = endpoint({
  method: 'POST',
  path: '/v1/owner/groups',
  summary: 'Ask whether a group is answered',
  body: z
    .object({ group: z.string().trim().min(1).max(120).describe('Its name'), answered: z.boolean() })
    .meta({ id: 'GroupRequest', examples: [{ group: 'Family (WhatsApp)', answered: true }] }),
  answer: doing('The question is in the chat of the terminal, and among what waits for the owner.'),
  refusals: { 404: 'There is no such group.', 409: 'That chat is at work.' },
  handle: async ({ ctx, body }, { intake, store: { db } }) => {
    const [group] = namedPlaces(await listGroups(db, ACCOUNT, GROUPS_LISTED), body.group);
    if (!group) throw new ApiError(404, `There is no group ${body.group}`);
    const { id: threadId } = await intake.consoleThread();
    const said = await intake.say({
      threadId,
      // in quotes: a group may be called "us for everyone"
      text: `/${body.answered ? 'answer' : 'stop answering'} in "${body.group}"`,
      channelMessageId: requestKey(ctx, 'group', body),
    });
    if (said.kind !== 'turn') throw new ApiError(409, (await replyTo(db, said.inboxId)) ?? 'The chat is at work');
    return { message: body.answered ? 'I ask you now, with its members and the rule.' : 'Nobody there is answered.' };
  },
});

export const deletePerson = endpoint({
  method: 'DELETE',
  path: '/v1/owner/people/{phone}',
  summary: 'Ignore somebody on WhatsApp from now on',
  answer: doing('What that person writes is ignored.'),
  refusals: { 404: 'That person was not trusted.', 409: 'A setting trusts that person.' },
  handle: async ({ params }, { config, store: { db } }) => {
    const phone = requiredPhone(params.phone);
    if (trustedBySetting(config).includes(phone))
      throw new ApiError(409, `+${phone} is trusted by TRUSTED_PHONE_NUMBERS: take the number out there`);
    if (!(await db.transaction().execute((tx) => distrustPhone(tx, phone))))
      throw new ApiError(404, `+${phone} was not trusted`);
    return { message: `What +${phone} writes is ignored from now on.` };
  },
});

export const getTelegram = endpoint({
  method: 'GET',
  path: '/v1/owner/telegram',
  summary: 'The Telegram bot, and who writes to it',
  answer: {
    schema: z
      .object({
        token: z.boolean(),
        bot: z.object({ username: z.string(), problem: z.string().nullable() }).nullable(),
        people: z.array(z.object({ name: z.string(), role: z.enum(['owner', 'trusted']) })),
      } satisfies Fields<OwnerTelegram>)
      .meta({ id: 'OwnerTelegram' }),
    what: 'The bot as its gateway last saw it.',
  },
  handle: async (_, { config, store: { db } }) => {
    const [bot, people] = await Promise.all([currentBot(db), telegramPeople(db)]);
    return {
      token: config.FETCH_TELEGRAM_TOKEN !== undefined,
      bot: bot && config.FETCH_TELEGRAM_TOKEN !== undefined ? { username: bot.username, problem: bot.problem } : null,
      people: people.map(({ name, role }) => ({ name, role })),
    };
  },
});

export const pairTelegram = endpoint({
  method: 'POST',
  path: '/v1/owner/telegram/pair',
  summary: 'Make a link that opens the chat of the owner on Telegram',
  answer: doing('The link, or what is missing for it. It is said in the chat of the terminal.'),
  handle: async ({ ctx }, deps) => {
    const { id } = await deps.intake.consoleThread();
    const said = await deps.intake.say({
      threadId: id,
      text: '/telegram',
      channelMessageId: requestKey(ctx, 'telegram', null),
    });
    return { message: (await replyTo(deps.store.db, said.inboxId)) ?? '' };
  },
});

/** @throws ApiError 400 */
function requiredPhone(text: string): string {
  const phone = phoneIn(text);
  if (phone === null) throw new ApiError(400, 'phone must be a number in international form, such as +49 170 1234567');
  return phone;
}

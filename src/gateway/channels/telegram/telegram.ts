import { setTimeout as pause } from 'node:timers/promises';
import type { User } from '@grammyjs/types';
import { busyChats } from '../../../store/chats/messages/outbox.ts';
import { keepBot, leaseOfBot, reportProblem } from '../../../store/telegram/bots.ts';
import { delayUpdates, endUpdates, type WaitingUpdate, waitingUpdates } from '../../../store/telegram/inbox.ts';
import type { ChannelDriver, Gateway, RunningChannel } from '../channel.ts';
import { acquireLease, type Lease } from '../shared/lease.ts';
import { InboxReader } from '../shared/receiver.ts';
import { pauseAfter, problemOf, TelegramApi, TelegramError } from './api.ts';
import { pollUpdates } from './inbound/poll.ts';
import { TelegramSorter } from './inbound/sort.ts';
import { TelegramSender } from './outbound/send.ts';

/** Its first part is the id of the bot. */
const TOKEN = /^\d{1,20}:[\w-]{1,100}$/;
const AGAIN_MS = 5_000;
/** Telegram shows "typing" for five seconds. */
const TYPING_EVERY_MS = 4_000;
const MOST_CHATS = 20;
/** How long a stop waits for a Telegram that does not answer. */
const STOP_MS = 1_200;

/** The commands that Telegram offers after a slash. */
const COMMANDS = [
  { command: 'help', description: 'what I can do' },
  { command: 'status', description: 'what is running' },
  { command: 'stop', description: 'stop it' },
  { command: 'new', description: 'begin a new conversation' },
];

/** Telegram's Bot API by long polling. Without a token the channel rests. */
export const telegram: ChannelDriver<'telegram'> = {
  name: 'telegram',
  async start(gateway): Promise<RunningChannel> {
    const { FETCH_TELEGRAM_TOKEN: token } = gateway.config;
    const usable = token !== undefined && TOKEN.test(token);
    if (token && !usable) gateway.log.error('FETCH_TELEGRAM_TOKEN is no token as @BotFather gives it: 123456:ABC-DEF');
    if (!usable) return { stop: async () => {} };
    const stopping = new AbortController();
    const api = new TelegramApi(gateway.config, token);
    const running = run(gateway, api, stopping.signal).catch((error: Error) =>
      gateway.exit(`the Telegram channel failed: ${error.message}`),
    );
    return {
      async stop() {
        stopping.abort();
        await Promise.race([running, pause(STOP_MS)]);
        await api.close();
      },
    };
  },
};

async function run(gateway: Gateway, api: TelegramApi, stopping: AbortSignal): Promise<void> {
  const { db, log, holder } = gateway;
  const bot = await reached(gateway, api, stopping);
  if (!bot) return;
  void api.call('setMyCommands', { commands: COMMANDS }).catch(() => {});
  const row = leaseOfBot(db, bot.id);
  while (!stopping.aborted) {
    const lease = await acquireLease({ row, of: 'Telegram bot', holder, log }, stopping, () =>
      log.info('another gateway holds this Telegram bot; waiting for its lease'),
    );
    if (lease) await hold(gateway, api, bot, lease, stopping);
  }
}

/** The bot of the token, once Telegram has told it; null when a stop comes first. */
async function reached({ db, log }: Gateway, api: TelegramApi, stopping: AbortSignal): Promise<Bot | null> {
  while (!stopping.aborted) {
    try {
      const {
        id,
        username = '',
        can_read_all_group_messages: readsGroups,
      } = await api.call<User & Partial<Me>>('getMe');
      await keepBot(db, { id, username, readsGroups: readsGroups === true });
      return { id, username };
    } catch (error) {
      const { message } = error as Error;
      const failure = error instanceof TelegramError ? error.failure : null;
      log.warn({ reason: message }, problemOf(failure));
      await reportProblem(db, api.botId, problemOf(failure)).catch(() => {});
      await pause(pauseAfter(failure) ?? AGAIN_MS, undefined, { signal: stopping }).catch(() => {});
    }
  }
  return null;
}

interface Me {
  can_read_all_group_messages: boolean;
}
interface Bot {
  id: number;
  username: string;
}

/** Receives and sends while the lease is ours. */
async function hold(gateway: Gateway, api: TelegramApi, bot: Bot, lease: Lease, stopping: AbortSignal): Promise<void> {
  const { db, log, intake, serve } = gateway;
  const ends = AbortSignal.any([lease.lost, stopping]);
  const sorter = new TelegramSorter({ ...gateway, api, bot, onPrepared: () => reader.wake() });
  const reader: InboxReader<WaitingUpdate> = new InboxReader<WaitingUpdate>({
    log,
    label: 'Telegram',
    receives: () => !ends.aborted,
    waiting: (limit, besides) => waitingUpdates(db, bot.id, limit, besides),
    sorter: async () => (row) => sorter.sort(row),
    failed: (row, error) => sorter.failed(row, error),
    markHandled: (seqs, verdict) => endUpdates(db, seqs, verdict),
    putOff: (seqs, until) => delayUpdates(db, seqs, until),
    batchers: sorter.batchers,
  });
  const sender = new TelegramSender({ db, log, api, intake });
  const serving = await serve(sender);
  serving.ended.catch((error: Error) =>
    log.error({ reason: error.message }, 'the worker of the Telegram queue failed'),
  );
  try {
    await Promise.all([
      pollUpdates({ db, log, api, onStored: () => reader.wake() }, ends),
      showTyping(gateway, sender, ends),
    ]);
  } finally {
    sorter.stop();
    await reader.stop();
    await serving.drain();
    await lease.release();
  }
}

async function showTyping({ db, log }: Gateway, sender: TelegramSender, ends: AbortSignal): Promise<void> {
  while (!ends.aborted) {
    await busyChats(db, 'telegram', MOST_CHATS)
      .then((chats) => Promise.all(chats.map((chat) => sender.typing(chat))))
      .catch((error: Error) => log.debug({ reason: error.message }, 'typing could not be shown'));
    await pause(TYPING_EVERY_MS, undefined, { signal: ends }).catch(() => {});
  }
}

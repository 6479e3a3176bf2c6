import { PushGone, sendNtfy, sendWebPush, vapidKeys } from '../../../adapters/push.ts';
import type { Config } from '../../../config.ts';
import { NOTICE_KINDS, type NoticeKind, type PushMessage } from '../../../contracts/owner-push.ts';
import { quietUntil } from '../../../domain/chat/preferences.ts';
import { inline } from '../../../domain/text/foreign-text.ts';
import {
  type DueNotice,
  forgetOldNotices,
  forgetPushDevice,
  keepPushDevice,
  noteNews,
  notePushProblem,
  type PushDeviceRow,
  pushDevice,
  pushDevices,
  putOffNotice,
  settleNotice,
  takeNotices,
} from '../../../store/owner/push.ts';
import { chatsOfThreads } from '../../../store/owner/views/chats.ts';
import type { ApiDeps } from '../../api-deps.ts';

/** Sends notices to phones, whatever else is open: a terminal or a page keeps none of them back. */

const LOOK_MS = 2_000;
const MOST_AT_ONCE = 20;
/** After so many refusals a notice is given up; the device shows why. */
const MOST_ATTEMPTS = 5;
const AGAIN_MS = 30_000;
const FORGET_MS = 3_600_000;
const BODY_CHARS = 180;

export const NTFY = 'ntfy';

type NoticesDeps = Pick<ApiDeps, 'config' | 'store' | 'chatSecret' | 'log'>;

/** Looks for news until the returned function is called. */
export function sendNotices(deps: NoticesDeps): () => Promise<void> {
  let busy: Promise<void> | null = null;
  let forgotAt = 0;
  const look = async () => {
    await keepNtfy(deps);
    const devices = await pushDevices(deps.store.db);
    if (devices.length === 0) return;
    await noteNews(deps.store.db);
    for (const notice of await takeNotices(deps.store.db, MOST_AT_ONCE)) {
      const device = devices.find(({ id }) => id === notice.device_id);
      if (device) await settle(notice, device, deps);
    }
    if (Date.now() - forgotAt < FORGET_MS) return;
    forgotAt = Date.now();
    await forgetOldNotices(deps.store.db);
  };
  const timer = setInterval(() => {
    busy ??= look()
      .catch((error) => deps.log?.warn({ err: error }, 'notices could not be sent; trying again'))
      .finally(() => {
        busy = null;
      });
  }, LOOK_MS).unref();
  return async () => {
    clearInterval(timer);
    await busy;
  };
}

/** The topic of ntfy is a device, too, as long as its setting names one. */
async function keepNtfy({ config, store }: NoticesDeps): Promise<void> {
  const known = await pushDevice(store.db, NTFY);
  const { FETCH_NTFY_URL: url } = config;
  if (url === undefined) {
    if (known) await forgetPushDevice(store.db, NTFY);
  } else if (known?.endpoint !== url) {
    await keepPushDevice(store.db, { ...(known ?? ntfyAtFirst(config)), endpoint: url });
  }
}

const ntfyAtFirst = (config: Config) => ({
  id: NTFY,
  keys: null,
  kinds: [...NOTICE_KINDS],
  quiet: null,
  time_zone: config.FETCH_TIME_ZONE,
  origin: null,
});

async function settle(notice: DueNotice, device: PushDeviceRow, deps: NoticesDeps): Promise<void> {
  const { db } = deps.store;
  const { over, sent, attempts } = notice;
  // nobody is told of what has been answered meanwhile
  if (over && !sent) return void (await settleNotice(db, notice, true));
  const quiet = sent
    ? null
    : quietUntil({ ...(device.quiet && { quietHours: device.quiet }) }, device.time_zone, new Date());
  if (quiet) return void (await putOffNotice(db, notice, { until: quiet }));
  try {
    await sendTo(device, over ? { close: notice.key } : await messageOf(notice, device, deps), deps);
    await settleNotice(db, notice, over);
    await notePushProblem(db, device.id, null);
  } catch (error) {
    if (error instanceof PushGone && device.keys) return void (await forgetPushDevice(db, device.id));
    await notePushProblem(db, device.id, inline((error as Error).message, 300));
    if (attempts >= MOST_ATTEMPTS) await settleNotice(db, notice, true);
    else await putOffNotice(db, notice, { until: new Date(Date.now() + AGAIN_MS * attempts), failed: true });
  }
}

export async function sendTo(device: PushDeviceRow, message: PushMessage, deps: NoticesDeps): Promise<void> {
  const { endpoint, keys, origin } = device;
  if (keys) await sendWebPush({ endpoint, keys, origin }, message, vapidKeys(deps.chatSecret ?? ''));
  else await sendNtfy(endpoint, message);
}

const TITLES: Record<NoticeKind, (chat: string) => string> = {
  questions: (chat) => `${chat} asks`,
  approvals: (chat) => `${chat} wants a yes`,
  failures: () => 'That did not work',
  results: () => 'Done',
};

async function messageOf(
  notice: DueNotice,
  device: PushDeviceRow,
  { store, config }: NoticesDeps,
): Promise<PushMessage> {
  const { key, kind, thread_id: thread, body } = notice;
  const chat = thread === null ? undefined : (await chatsOfThreads(store.db, [thread])).get(thread);
  // a browser knows where its page is; ntfy opens what is named
  const origin = device.keys ? '' : (device.origin ?? `http://127.0.0.1:${config.FETCH_RUNTIME_PORT}`);
  return {
    title: TITLES[kind](chat?.name ?? 'Fetch'),
    body: inline(body, BODY_CHARS),
    tag: tagOf(key),
    url: `${origin}/#/${placeOf(key, thread)}`,
  };
}

/** The next run of a schedule takes the place of the one before, without a sound. */
const tagOf = (key: string): string => (key.startsWith('run/') ? key.split('/', 2).join('/') : key);

/** Where the page shows it. */
function placeOf(key: string, thread: string | null): string {
  const [what, id] = key.split('/') as [string, string];
  if (what === 'question') return `now/${id}`;
  if (what === 'task') return `tasks/${id}`;
  return what === 'turn' && thread !== null ? `chats/${thread}` : 'schedules';
}

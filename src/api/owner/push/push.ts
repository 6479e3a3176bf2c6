import { createHash } from 'node:crypto';
import { z } from 'zod';
import { vapidKeys } from '../../../adapters/push.ts';
import { NOTICE_KINDS, type OwnerPush, type PushDevice } from '../../../contracts/owner-push.ts';
import { quietSpan } from '../../../domain/chat/preferences.ts';
import { isTimeZone } from '../../../domain/cron.ts';
import { isLoopback } from '../../../domain/settings/shapes.ts';
import { forgetPushDevice, keepPushDevice, type PushDeviceRow, pushDevice } from '../../../store/owner/push.ts';
import { ApiError } from '../../errors/errors.ts';
import type { Fields } from '../../http/endpoint.ts';
import { endpoint } from '../../runtime/shared/endpoint.ts';
import { doing } from '../shared.ts';
import { NTFY, sendTo } from './notices.ts';

const kinds = z.array(z.enum(NOTICE_KINDS));
const device = z
  .object({
    kinds,
    quiet: z.string().nullable(),
    time_zone: z.string(),
    problem: z.string().nullable().describe('Why the last notice was not taken'),
  } satisfies Fields<PushDevice>)
  .meta({ id: 'PushDevice' });

const viewOf = (row: PushDeviceRow | undefined): PushDevice | null =>
  row ? { kinds: row.kinds, quiet: row.quiet, time_zone: row.time_zone, problem: row.problem } : null;

/** An endpoint is a secret of the browser: whoever has it may disturb its owner. */
const idOf = (address: string): string => createHash('sha256').update(address).digest('base64url');

const address = z.string().max(2_000);

export const getPush = endpoint({
  method: 'GET',
  path: '/v1/owner/push',
  summary: 'Which notices a browser and ntfy get',
  query: { endpoint: address.describe('Of the subscription of the browser') },
  answer: {
    schema: z
      .object({
        public_key: z.string(),
        device: device.nullable(),
        ntfy: device.nullable(),
      } satisfies Fields<OwnerPush>)
      .meta({ id: 'OwnerPush' }),
    what: 'The key to subscribe with, and what is wanted.',
  },
  handle: async ({ query }, { store, chatSecret = '' }) => ({
    public_key: vapidKeys(chatSecret).publicKey,
    device: query.endpoint === undefined ? null : viewOf(await pushDevice(store.db, idOf(query.endpoint))),
    ntfy: viewOf(await pushDevice(store.db, NTFY)),
  }),
});

export const postPush = endpoint({
  method: 'POST',
  path: '/v1/owner/push',
  summary: 'Send notices to a browser, or change which ones',
  body: z
    .object({
      endpoint: address.nullable().describe('null: the topic of ntfy'),
      keys: z.object({ p256dh: z.string().max(200), auth: z.string().max(100) }).optional(),
      kinds,
      quiet: z.string().max(40).nullable().describe('22:00-07:00'),
      time_zone: z.string().refine(isTimeZone, 'must be an IANA time zone such as Europe/Berlin'),
      origin: z
        .url({ protocol: /^https?$/ })
        .max(300)
        .describe('Where the page is'),
    })
    .meta({
      id: 'PushRequest',
      examples: [
        {
          endpoint: null,
          kinds: ['questions', 'approvals'],
          quiet: '22:00-07:00',
          time_zone: 'Europe/Berlin',
          origin: 'https://fetch.example.com',
        },
      ],
    }),
  answer: doing('The next notice is sent there.'),
  refusals: { 404: 'FETCH_NTFY_URL is not set.' },
  handle: async ({ body }, { store }) => {
    const quiet = body.quiet?.trim() ? quietSpan(body.quiet) : null;
    if (body.quiet?.trim() && quiet === null) throw new ApiError(400, 'Quiet hours are a span such as 22:00-07:00');
    const fields = { kinds: body.kinds, quiet, time_zone: body.time_zone, origin: body.origin };
    if (body.endpoint === null) {
      const known = await pushDevice(store.db, NTFY);
      if (!known) throw new ApiError(404, 'ntfy is not set up');
      await keepPushDevice(store.db, { ...known, ...fields });
    } else {
      if (!body.keys) throw new ApiError(400, 'keys of the subscription are missing');
      requireSecure(body.endpoint);
      await keepPushDevice(store.db, { id: idOf(body.endpoint), endpoint: body.endpoint, keys: body.keys, ...fields });
    }
    return { message: 'Saved.' };
  },
});

/** Browsers give addresses of push services, which are all https. @throws ApiError 400 */
function requireSecure(text: string): void {
  const url = URL.parse(text);
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname))) return;
  throw new ApiError(400, 'endpoint must be an https address');
}

export const deletePush = endpoint({
  method: 'DELETE',
  path: '/v1/owner/push',
  summary: 'Send this browser no more notices',
  query: { endpoint: address },
  answer: doing('Nothing more is sent there.'),
  handle: async ({ query }, { store }) => {
    if (query.endpoint !== undefined) await forgetPushDevice(store.db, idOf(query.endpoint));
    return { message: 'This browser gets no more notices.' };
  },
});

export const testPush = endpoint({
  method: 'POST',
  path: '/v1/owner/push/test',
  summary: 'Send a notice at once, to see that it arrives',
  body: z
    .object({ endpoint: address.nullable().describe('null: ntfy') })
    .meta({ id: 'PushTest', examples: [{ endpoint: null }] }),
  answer: doing('It is sent.'),
  refusals: { 404: 'There is no such browser.', 502: 'The push service did not take it.' },
  handle: async ({ body }, deps) => {
    const row = await pushDevice(deps.store.db, body.endpoint === null ? NTFY : idOf(body.endpoint));
    if (!row) throw new ApiError(404, 'Notices are not switched on here');
    try {
      await sendTo(
        row,
        {
          title: 'Fetch',
          body: 'Notices arrive here.',
          tag: 'test',
          url: `${row.keys ? '' : (row.origin ?? '')}/#/now`,
        },
        deps,
      );
    } catch (error) {
      throw new ApiError(502, `The push service did not take it: ${(error as Error).message}`);
    }
    return { message: 'A notice is on its way.' };
  },
});

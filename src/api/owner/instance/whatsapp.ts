import { renderSVG } from 'uqr';
import { z } from 'zod';
import type { OwnerWhatsApp } from '../../../contracts/owner.ts';
import type { Fields } from '../../http/endpoint.ts';
import { endpoint } from '../../runtime/shared/endpoint.ts';
import { connect, disconnect, logOut, pairRequest, reportFields, reportOf } from '../../status/whatsapp.ts';
import { doing } from '../shared.ts';

export const getOwnerWhatsApp = endpoint({
  method: 'GET',
  path: '/v1/owner/whatsapp',
  summary: 'The WhatsApp account, with the QR to scan',
  answer: {
    schema: z
      .object({
        ...reportFields,
        qr_image: z.string().nullable().describe('For the `src` of an image'),
      } satisfies Fields<OwnerWhatsApp>)
      .meta({ id: 'OwnerWhatsApp' }),
    what: 'The account, and what was sent today.',
  },
  handle: async ({ ctx }, { store }) => {
    ctx.set('Cache-Control', 'no-store');
    const report = await reportOf(store.db);
    const image =
      report.qr === null
        ? null
        : `data:image/svg+xml;base64,${Buffer.from(renderSVG(report.qr, { ecc: 'M', border: 4 })).toString('base64')}`;
    return { ...report, qr_image: image };
  },
});

const answer = doing('The wish is taken; the state shows how it goes.');

export const pairWhatsApp = endpoint({
  method: 'POST',
  path: '/v1/owner/whatsapp/pair',
  summary: 'Connect WhatsApp, and link it first where that is needed',
  body: pairRequest,
  bodyOptional: true,
  answer,
  handle: async ({ body }, { store }) => ({ message: await connect(store.db, body) }),
});

export const stopWhatsApp = endpoint({
  method: 'POST',
  path: '/v1/owner/whatsapp/stop',
  summary: 'Disconnect WhatsApp; it stays linked',
  answer,
  handle: async (_, { store }) => ({ message: await disconnect(store.db) }),
});

export const unlinkWhatsApp = endpoint({
  method: 'POST',
  path: '/v1/owner/whatsapp/unlink',
  summary: 'Log out of WhatsApp',
  answer,
  handle: async (_, { store }) => ({ message: await logOut(store.db) }),
});

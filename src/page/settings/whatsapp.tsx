import { useState } from 'preact/hooks';
import type { OwnerWhatsApp } from '../../contracts/owner.ts';
import { Ago, Shown, Tag, WorkButton } from '../shared/elements/parts.tsx';
import { send } from '../shared/server/http.ts';
import { Resource, useResource } from '../shared/server/resource.ts';
import { texts } from '../texts.ts';

const words = texts.settings.whatsapp;
const whatsapp = new Resource<OwnerWhatsApp>('/v1/owner/whatsapp', ({ about }) => about === 'whatsapp', 500);

export const WhatsAppSection = () => (
  <Shown of={whatsapp} loaded={useResource(whatsapp)}>
    {(value) => <Account account={value} />}
  </Shown>
);

const TONES = {
  initializing: 'busy',
  qr_pending: 'wait',
  authenticated: 'good',
  disconnected: 'plain',
  error: 'bad',
} as const;

function Account({ account }: { account: OwnerWhatsApp }) {
  const { state, wanted, phone, phoneSeenAt: seen, lastError, qr_image: image, pairingCode: code } = account;
  const [number, setNumber] = useState('');
  const order = (path: string, body?: unknown) => async () => {
    const { message } = await send<{ message: string }>(
      `/v1/owner/whatsapp/${path}`,
      body === undefined ? {} : { body },
    );
    whatsapp.refresh();
    return message;
  };
  const linked = state === 'authenticated' || phone !== null;
  // nobody has asked for it yet, which is no fault
  const never = !linked && wanted === 'off';
  const digits = number.replace(/\D/g, '');
  return (
    <div class="card">
      <p class="meta">
        <Tag tone={TONES[state]}>{never ? words.never : words.states[state]}</Tag>
        {phone && <span>+{phone}</span>}
        {seen && <Ago at={seen} />}
      </p>
      {lastError && !never && <p class="turn-note bad">{lastError}</p>}
      {image && (
        <>
          <p>{words.scan}</p>
          <img class="qr" src={image} alt={words.scan} width="264" height="264" />
        </>
      )}
      {code && (
        <>
          <p>{words.code}</p>
          <p class="pairing-code">{code}</p>
        </>
      )}
      {!linked && (
        <>
          <p class="hint">{words.risk}</p>
          <label class="field">
            <span>{words.number}</span>
            <input
              type="tel"
              value={number}
              onInput={(event) => setNumber(event.currentTarget.value)}
              autoComplete="off"
            />
          </label>
        </>
      )}
      <div class="buttons">
        {!linked && (
          <WorkButton
            label={digits ? words.byCode : words.byQr}
            kind="primary"
            work={order('pair', digits ? { phone: digits } : {})}
          />
        )}
        {wanted === 'on' && <WorkButton label={words.stop} kind="quiet" work={order('stop')} />}
        {linked && <WorkButton label={words.unlink} kind="danger" sure={words.sure} work={order('unlink')} />}
      </div>
    </div>
  );
}

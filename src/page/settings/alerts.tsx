import { useEffect, useState } from 'preact/hooks';
import { NOTICE_KINDS, type OwnerPush, type PushDevice } from '../../contracts/owner-push.ts';
import { notificationState, setSound, soundOn } from '../shared/alerts.ts';
import { Problem, Shown, tell, WorkButton } from '../shared/elements/parts.tsx';
import { call, reasonOf, send } from '../shared/server/http.ts';
import { Resource, useResource } from '../shared/server/resource.ts';
import { useStore } from '../shared/store.ts';
import { texts } from '../texts.ts';
import { SettingsForm } from './data.tsx';

const words = texts.settings.alerts;
const PATH = '/v1/owner/push';

/** the subscription of this browser */
let current: PushSubscription | null = null;
const push = new Resource<OwnerPush>(
  () => (current ? `${PATH}?endpoint=${encodeURIComponent(current.endpoint)}` : PATH),
  ({ about }) => about === 'settings',
  500,
);

/** How the owner hears that somebody is needed: in this browser, on its device, and through ntfy. */
export function AlertsSection() {
  const sound = useStore(soundOn);
  useEffect(() => {
    void subscription().then((found) => {
      current = found;
      push.refresh();
    });
  }, []);
  return (
    <>
      <Shown of={push} loaded={useResource(push)}>
        {(value) => (
          <>
            <ThisDevice push={value} />
            <Ntfy device={value.ntfy} />
          </>
        )}
      </Shown>
      <div class="card form">
        <label class="check">
          <input type="checkbox" checked={sound} onChange={(event) => setSound(event.currentTarget.checked)} />
          {words.sound}
        </label>
        <p class="hint">{words.badge}</p>
        <p class="hint">{words.install}</p>
        <p class="hint">{words.chatQuiet}</p>
      </div>
    </>
  );
}

async function subscription(): Promise<PushSubscription | null> {
  const worker = await navigator.serviceWorker?.getRegistration().catch(() => undefined);
  return (await worker?.pushManager?.getSubscription()) ?? null;
}

function ThisDevice({ push: { public_key: key, device } }: { push: OwnerPush }) {
  const [allowed, setAllowed] = useState(notificationState());
  const able = allowed !== 'missing' && 'PushManager' in window;
  const on = async () => {
    const answer = await Notification.requestPermission();
    setAllowed(answer);
    if (answer !== 'granted') return;
    const worker = await navigator.serviceWorker.ready;
    current = await worker.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
    await save(current, { kinds: [...NOTICE_KINDS], quiet: null });
  };
  const off = async () => {
    if (!current) return;
    await call(`${PATH}?endpoint=${encodeURIComponent(current.endpoint)}`, { method: 'DELETE' });
    await current.unsubscribe();
    current = null;
    push.reset();
  };
  return (
    <div class="card">
      <h2>{words.push}</h2>
      <p class="hint">{words.pushHint}</p>
      {!able && <p class="hint">{words.missing}</p>}
      {allowed === 'denied' && <p class="hint">{words.denied}</p>}
      {device && current && <Wishes device={device} of={current} />}
      {able && (
        <div class="buttons">
          {device ? (
            <WorkButton label={words.off} kind="quiet" work={off} />
          ) : (
            allowed !== 'denied' && <WorkButton label={words.on} kind="primary" work={on} />
          )}
        </div>
      )}
    </div>
  );
}

const Ntfy = ({ device }: { device: PushDevice | null }) => (
  <div class="card">
    <h2>{words.ntfy}</h2>
    <p class="hint">{words.ntfyHint}</p>
    <SettingsForm
      fields={[
        {
          name: 'FETCH_NTFY_URL',
          label: words.topic,
          placeholder: 'https://ntfy.sh/my-secret-topic',
          kind: 'password',
        },
      ]}
      saved={() => push.refresh()}
    />
    {device && <Wishes device={device} of={null} />}
  </div>
);

const save = async (
  of: PushSubscription | null,
  { kinds, quiet }: Pick<PushDevice, 'kinds' | 'quiet'>,
): Promise<void> => {
  const { endpoint, keys } = of?.toJSON() ?? {};
  await send(PATH, {
    body: {
      endpoint: endpoint ?? null,
      ...(keys && { keys: { p256dh: keys.p256dh, auth: keys.auth } }),
      kinds,
      quiet,
      time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
      origin: location.origin,
    },
  });
  push.refresh();
};

/** What a device is told of, and when it is left alone. */
function Wishes({ device: { kinds, quiet, problem }, of }: { device: PushDevice; of: PushSubscription | null }) {
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const [from, to] = [String(form.get('from')), String(form.get('to'))];
    try {
      await save(of, {
        kinds: NOTICE_KINDS.filter((kind) => form.has(kind)),
        quiet: from && to ? `${from}-${to}` : null,
      });
      tell(texts.saved);
    } catch (error) {
      tell(reasonOf(error), true);
    }
  };
  const [from = '', to = ''] = quiet?.split('-') ?? [];
  return (
    <form class="form" onSubmit={submit}>
      {problem && <Problem text={words.failed(problem)} />}
      {NOTICE_KINDS.map((kind) => (
        <label key={kind} class="check">
          <input type="checkbox" name={kind} defaultChecked={kinds.includes(kind)} />
          {words.kinds[kind]}
        </label>
      ))}
      <fieldset class="span">
        <legend>{words.quiet}</legend>
        <input type="time" name="from" defaultValue={from} aria-label={`${words.quiet}: ${words.from}`} />
        <span>–</span>
        <input type="time" name="to" defaultValue={to} aria-label={`${words.quiet}: ${words.to}`} />
      </fieldset>
      <p class="hint">{words.quietHint}</p>
      <div class="buttons">
        <button type="submit" class="button primary">
          {texts.save}
        </button>
        <WorkButton
          label={words.test}
          kind="quiet"
          work={async () =>
            (await send<{ message: string }>(`${PATH}/test`, { body: { endpoint: of?.endpoint ?? null } })).message
          }
        />
      </div>
    </form>
  );
}

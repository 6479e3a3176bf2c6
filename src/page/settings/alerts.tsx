import { useState } from 'preact/hooks';
import { notificationState, setSound, soundOn } from '../shared/alerts.ts';
import { useStore } from '../shared/store.ts';
import { texts } from '../texts.ts';

const words = texts.settings.alerts;

/** How this browser says that somebody is needed. */
export function AlertsSection() {
  const sound = useStore(soundOn);
  const [allowed, setAllowed] = useState(notificationState());
  return (
    <div class="card form">
      <p class="hint">{words.badge}</p>
      <label class="check">
        <input type="checkbox" checked={sound} onChange={(event) => setSound(event.currentTarget.checked)} />
        {words.sound}
      </label>
      <p>{words.notify}</p>
      {allowed === 'default' && (
        <button type="button" class="button" onClick={() => void Notification.requestPermission().then(setAllowed)}>
          {words.allow}
        </button>
      )}
      {allowed === 'denied' && <p class="hint">{words.denied}</p>}
      {allowed === 'missing' && <p class="hint">{words.missing}</p>}
      {allowed === 'granted' && <p class="turn-note good">{texts.connection.open}</p>}
      <p class="hint">{words.install}</p>
      <p class="hint">{words.quiet}</p>
    </div>
  );
}

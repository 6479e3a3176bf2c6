import { texts } from '../texts.ts';
import { Store } from './store.ts';
import { remember, remembered } from './theme.ts';

/**
 * Tells the owner that somebody is needed: a badge, a sound, and a notification of the browser where that is allowed.
 */

const SOUND_KEY = 'fetch-sound';
export const soundOn = new Store(remembered(SOUND_KEY) !== 'off');
export function setSound(on: boolean): void {
  soundOn.set(on);
  remember(SOUND_KEY, on ? null : 'off');
  if (on) chime();
}

let known: Set<string> | null = null;

/** Called with what waits now. A question that was not there before is told once. */
export function alertAbout(
  waiting: ReadonlyArray<{ id: string; prompt: string; chat: { name: string } }>,
  count: number,
): void {
  showBadge(count);
  const fresh = known ? waiting.filter(({ id }) => !known?.has(id)) : [];
  void closeAnswered(new Set(waiting.map(({ id }) => tagOf(id))));
  known = new Set(waiting.map(({ id }) => id));
  if (fresh.length === 0) return;
  if (soundOn.value) chime();
  const first = fresh[0]!;
  if (document.hidden && 'Notification' in window && Notification.permission === 'granted')
    // one of them, so that ten questions are not ten notifications
    void notify(texts.alerts.title(fresh.length, first.chat.name), first);
}

function showBadge(count: number): void {
  document.title = count > 0 ? `(${count}) ${texts.name}` : texts.name;
  void (count > 0 ? navigator.setAppBadge?.(count) : navigator.clearAppBadge?.())?.catch(() => {});
}

/** The same as that of a pushed notice, so that one question is one notice. */
const tagOf = (id: string): string => `question/${id}`;

/** A question that was answered elsewhere needs nobody any more. */
async function closeAnswered(waiting: ReadonlySet<string>): Promise<void> {
  const worker = await navigator.serviceWorker?.getRegistration().catch(() => undefined);
  for (const each of (await worker?.getNotifications()) ?? [])
    if (each.tag.startsWith('question/') && !waiting.has(each.tag)) each.close();
}

/** Phones only show notifications of a service worker. */
async function notify(title: string, { id, prompt }: { id: string; prompt: string }): Promise<void> {
  const options = { body: prompt.slice(0, 180), tag: tagOf(id), data: { url: `/#/now/${id}` } };
  const worker = await navigator.serviceWorker?.getRegistration().catch(() => undefined);
  if (worker) await worker.showNotification(title, options).catch(() => {});
  else new Notification(title, options);
}

export const notificationState = (): 'granted' | 'denied' | 'default' | 'missing' =>
  'Notification' in window && isSecureContext ? Notification.permission : 'missing';

let audio: AudioContext | undefined;
/** Two short tones. Browsers keep a page silent until somebody has touched it. */
function chime(): void {
  try {
    audio ??= new AudioContext();
    const start = audio.currentTime;
    for (const [at, pitch] of [
      [0, 660],
      [0.13, 880],
    ] as const) {
      const tone = audio.createOscillator();
      const volume = audio.createGain();
      tone.frequency.value = pitch;
      volume.gain.setValueAtTime(0.0001, start + at);
      volume.gain.exponentialRampToValueAtTime(0.12, start + at + 0.02);
      volume.gain.exponentialRampToValueAtTime(0.0001, start + at + 0.22);
      tone.connect(volume).connect(audio.destination);
      tone.start(start + at);
      tone.stop(start + at + 0.25);
    }
  } catch {
    // no sound device
  }
}

import { DAY, HOUR } from '../../../../domain/time.ts';
import { chatPause, pauseChat, pauseSends, sendPause } from '../../../../store/whatsapp/pause.ts';
import { ChannelAway } from '../../channel.ts';
import type { WhatsAppDeps } from '../live.ts';
import { CHECK_MS, REFUSED_CHATS } from './refusals.ts';
import { tell } from './sending.ts';

/** @throws ChannelAway while nothing may be sent, or nothing to this chat */
export async function unlessPaused({ db, account }: WhatsAppDeps, jid: string | null): Promise<void> {
  const stopped = jid === null ? await sendPause(db, account) : await chatPause(db, account, jid);
  // a pause may end early
  if (stopped)
    throw new ChannelAway(stopped.why, Math.min(CHECK_MS, Math.max(1000, stopped.until.getTime() - Date.now())));
}

export async function pauseAll(deps: WhatsAppDeps, code: string, why: string, ms: number): Promise<void> {
  await pauseSends(deps.db, deps.account, { until: new Date(Date.now() + ms), why });
  await tell(deps, `${code}-${thisHour()}`, why, ms >= HOUR);
}

/**
 * Pauses only this chat, so that one person's refusal silences nobody else. When several chats refuse an account that
 * they do not know (463), pauses everything.
 */
export async function pauseOne(deps: WhatsAppDeps, jid: string, code: string, why: string, ms: number): Promise<void> {
  const chats = await pauseChat(deps.db, deps.account, jid, { until: new Date(Date.now() + ms), why, code });
  const since = code === '463' ? thisHour() : Math.floor(Date.now() / DAY);
  if (code !== '463' || chats < REFUSED_CHATS) return await tell(deps, `${code}-${jid}-${since}`, why, true);
  const all = `WhatsApp refused messages to ${chats} chats within an hour (${code}). Everything waits for an hour; look into WhatsApp on the phone.`;
  await pauseAll(deps, `${code}-all`, all, ms);
}

/** A person is told once an hour, or once a day of what is tried again, and not for every refused message. */
const thisHour = (): number => Math.floor(Date.now() / HOUR);

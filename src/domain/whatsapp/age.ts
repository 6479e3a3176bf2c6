const HOUR_MS = 3_600_000;

/** An age in the unit that people would use: minutes, hours, or days from two days on. */
export function ago(ms: number): string {
  if (ms >= 48 * HOUR_MS) return `${Math.floor(ms / (24 * HOUR_MS))} days ago`;
  return ms >= HOUR_MS ? `${Math.floor(ms / HOUR_MS)} h ago` : `${Math.max(0, Math.floor(ms / 60_000))} min ago`;
}

/** The remark on a reply that waited for WhatsApp to come back; null up to an hour. */
export function ageNote(ms: number): string | null {
  return ms > HOUR_MS ? `(written ${ago(ms)}, while WhatsApp was away)` : null;
}

/**
 * Whether 12/11 is the twelfth of November. A person's language says so, and where that leaves it open, their time zone
 * does.
 */

/** Where people write the month first. */
const MONTH_FIRST = ['US', 'CA', 'PH'];
let zones: ReadonlySet<string> | undefined;

export function isDayFirst(language: string | undefined, timeZone: string): boolean {
  const tag = language === undefined ? undefined : new Intl.Locale(language);
  // English without a country is written in both orders
  if (tag && (tag.language !== 'en' || tag.region !== undefined)) {
    const order = new Intl.DateTimeFormat(tag, { day: 'numeric', month: 'numeric' })
      .formatToParts()
      .map(({ type }) => type);
    return order.indexOf('day') < order.indexOf('month');
  }
  // a place: `UTC` and `Etc/GMT+5` are none
  if (!timeZone.includes('/') || timeZone.startsWith('Etc/')) return false;
  zones ??= new Set(MONTH_FIRST.flatMap((region) => new Intl.Locale(`und-${region}`).getTimeZones?.() ?? []));
  // `US/Eastern` is another name of `America/New_York`
  return !zones.has(new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions().timeZone);
}

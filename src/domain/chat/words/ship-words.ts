import { isTooLong } from './commands.ts';

/** `ship` and what belongs to it, in words. */
type ShipOrder = { action: 'start' | 'status' | 'merge' | 'stop' } & {
  title?: string;
  merge?: 'green';
  workspace?: string;
  /** of the pull request, where several are watched */
  number?: number;
};

const PATTERN =
  /^\/?ship(?<it> it)?(?: (?<action>status|merge|stop)(?: #?(?<number>\d{1,7}))?)?(?: in (?<workspace>[\w.-]{1,100}))?(?<green>,? and merge when (?:it is |all is )?green)?(?:: (?<title>\S.{0,150}))?[.!]?$/i;

/** What a whole message orders; null for every other message. */
export function parseShip(text: string): ShipOrder | null {
  if (isTooLong(text)) return null;
  const { action, number, workspace, green, title, it } = PATTERN.exec(text.trim())?.groups ?? {};
  const said = PATTERN.test(text.trim());
  if (!said || (action && (green || title || it))) return null;
  return {
    action: (action?.toLowerCase() as ShipOrder['action'] | undefined) ?? 'start',
    ...(workspace && { workspace }),
    ...(number && { number: Number(number) }),
    ...(title && { title: title.trim() }),
    ...(green && { merge: 'green' as const }),
  };
}

/** The words that order it. */
export const shipWords = ({ action, title, merge, workspace, number }: ShipOrder): string =>
  `ship${action === 'start' ? '' : ` ${action}`}${number ? ` ${number}` : ''}${workspace ? ` in ${workspace}` : ''}${merge ? ' and merge when green' : ''}${title ? `: ${title}` : ''}`;

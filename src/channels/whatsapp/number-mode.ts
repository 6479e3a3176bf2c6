import type { Config } from '../../config.ts';

/** Whose number the linked account is: as configured, as chosen at pairing, else the owner's own unless another number is named as the owner's. */
export function numberMode(
  config: Pick<Config, 'WHATSAPP_NUMBER' | 'OWNER_PHONE_NUMBER'>,
  chosen: 'shared' | 'dedicated' | null,
  ownJid: string,
): 'shared' | 'dedicated' {
  if (config.WHATSAPP_NUMBER) return config.WHATSAPP_NUMBER;
  if (chosen) return chosen;
  const owners = config.OWNER_PHONE_NUMBER?.split(',') ?? [];
  return owners.length === 0 || owners.includes(ownJid.split('@')[0]!.split(':')[0]!) ? 'shared' : 'dedicated';
}

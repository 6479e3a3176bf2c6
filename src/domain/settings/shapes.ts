import { z } from 'zod';
import type { WrongMember } from '../setting-lists.ts';
import { nearest } from '../text/nearest.ts';

/** Shapes that several settings have. */

export const port = (fallback: number) => z.coerce.number().int().min(1).max(65535).default(fallback);
/** A figure far beyond its bound would overflow a timer or a date, and end at once what it was to prolong. */
export const positive = (fallback: number, most = 1_000_000) =>
  z.coerce.number().positive().max(most).default(fallback);
export const whole = (fallback: number, most = 1e12) => z.coerce.number().int().positive().max(most).default(fallback);
/** `localhost:11434/v1` is no such address: it would be read as one with the scheme `localhost:`. */
export const httpUrl = (example: string) =>
  z.url({ protocol: /^https?$/, error: `must be an http or https address such as ${example}` });
export const secret = () => z.string().trim().min(1).optional().meta({ secret: true });

/** A setting that changes while roles run. Read it from the configuration each time; a copy would be old. */
export const live = <S extends z.ZodType>(schema: S): S => schema.meta({ live: true });
export const isLive = (schema: z.ZodType): boolean => schema.meta()?.live === true;
/** Its value is never shown. */
export const isSecret = (schema: z.ZodType): boolean => schema.meta()?.secret === true;
/** A secret, or an address with a password in it: it may be in a file, which `<name>_FILE` names. */
export const mayBeInFile = (schema: z.ZodType): boolean => isSecret(schema) || schema.meta()?.hasPassword === true;

/** What was probably meant, as the end of a sentence without its dot. */
export function meantBy({ meant, among = [] }: Pick<WrongMember, 'meant' | 'among'>, member = ''): string {
  const near = meant ?? nearest(member, among)[0];
  return near === undefined ? '' : `; did you mean ${near}?`;
}

/** Whether only programs of this machine reach what listens on this address. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);

import { z } from 'zod';
import { isAgent } from '../../../kennel/agents/registry.ts';
import { AGENT_NAMES } from '../../contracts/kennel.ts';
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

/** What is wrong with one entry of a list setting, and what was probably meant. */
interface WrongMember {
  problem: string;
  meant?: string;
  /** known names that it may be a misspelling of */
  among?: readonly string[];
}

type Check = (member: string) => WrongMember | null;

const HOST = /^(?:\*\.)?[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63}){0,20}(?::\d{1,5})?$/i;

/** The host, and the port if given, in what looks like the address of a page. */
function hostIn(text: string): string | undefined {
  const found = /^[a-z][a-z0-9+.-]{0,20}:\/\/([^/\s]{1,260})/i.exec(text)?.[1] ?? text.split('/')[0];
  return found && found !== text && HOST.test(found) ? found : undefined;
}

const agent: Check = (member) =>
  isAgent(member) ? null : { problem: `"${member}" is not one of ${AGENT_NAMES.join(', ')}`, among: AGENT_NAMES };

const origin: Check = (member) => {
  if (/^[a-z][a-z0-9+.-]{0,20}:\/\/[^\s/*]{1,260}$/i.test(member)) return null;
  const host = hostIn(member);
  const scheme = /^([a-z][a-z0-9+.-]{0,20}):\/\//i.exec(member)?.[1] ?? 'https';
  const meant =
    host && !host.includes('*')
      ? `${scheme}://${host}`
      : HOST.test(member) && !member.includes('*')
        ? `${scheme}://${member}`
        : undefined;
  return {
    problem: `"${member}" is not an origin such as https://app.example.com; patterns are not allowed`,
    ...(meant && { meant }),
  };
};

const ownName: Check = (member) => {
  if (HOST.test(member) && !/[*:]/.test(member)) return null;
  const meant = (hostIn(member) ?? (HOST.test(member) ? member : ''))?.replace(/^\*\./, '').replace(/:\d{1,5}$/, '');
  return {
    problem: `"${member}" is not a name such as fetch.example.com, without a port or a pattern`,
    ...(meant && { meant }),
  };
};

/** A host that containers may reach. */
export const egressHost: Check = (member) => {
  if (HOST.test(member)) return null;
  const meant = hostIn(member);
  return {
    problem: `"${member}" is not a host such as packages.example.com, *.example.com or example.org:8443`,
    ...(meant && { meant }),
  };
};

/** List settings that skip wrong entries, so that one does not stop the whole system from starting. */
export const LENIENT: Readonly<Record<string, Check>> = {
  FETCH_KENNEL_AGENTS: agent,
  DEEPSEEK_CORS_ORIGINS: origin,
  FETCH_ALLOWED_HOSTS: ownName,
};

export const membersOf = (setting: string): string[] =>
  setting
    .split(',')
    .map((member) => member.trim())
    .filter(Boolean);

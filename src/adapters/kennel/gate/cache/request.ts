import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import {
  labelsOf,
  type NamedBy,
  type Origin,
  originNamed,
  originOf,
} from '../../../../domain/tasks/registries/registry-cache.ts';
import type { Target } from '../egress/allow-list.ts';

/** Marks that only this gate can make: "this registry named that origin as the place of its files". */
export interface Marks {
  of(origin: Origin, by: Origin): string;
  isTrue(origin: Origin, named: NamedBy): boolean;
}

/** As many hexadecimal digits as a mark has in a name: 128 bits. */
const DIGITS = 32;

/** The key is in a file, so that a mark stays true when the gate restarts in the middle of an installation. */
export function marksOf(file: string): Marks {
  const key = keyIn(file);
  // no space is in a name
  const of = (origin: Origin, by: Origin): string =>
    createHmac('sha256', key)
      .update(`${labelsOf(origin)} ${labelsOf(by)}`)
      .digest('hex')
      .slice(0, DIGITS);
  return {
    of,
    isTrue: (origin, { mark, by }) =>
      mark.length === DIGITS && timingSafeEqual(Buffer.from(mark), Buffer.from(of(origin, by))),
  };
}

function keyIn(file: string): Buffer {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  try {
    writeFileSync(file, randomBytes(32), { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const key = readFileSync(file);
  if (key.length === 32) return key;
  // a kill in the middle of the first write
  writeFileSync(file, randomBytes(32), { mode: 0o600 });
  return readFileSync(file);
}

/**
 * What a container asks of the cache. Rules are asked for `by`, the registry; `url` may be where it keeps its files.
 */
export interface RegistryRequest {
  by: Origin;
  url: URL;
}

/** The request in an address of the cache; null for one without a meaning, or with a wrong mark. */
export function registryRequest(address: URL, marks: Marks): RegistryRequest | null {
  const found = address.port === '' ? originNamed(address.hostname) : null;
  if (!found || (found.named && !marks.isTrue(found.origin, found.named))) return null;
  const { scheme, host: at, port } = found.origin;
  const url = URL.parse(`${scheme}://${at}:${port}${address.pathname}${address.search}`);
  return url && { by: found.named?.by ?? found.origin, url };
}

/** A file of a mirror that speaks plain HTTP. What has credentials is its owner's alone and goes past the cache. */
export function plainRequest(address: URL, headers: NodeJS.Dict<unknown>): RegistryRequest | null {
  const by = originOf(address);
  return by && headers.authorization === undefined && headers.cookie === undefined && !address.username
    ? { by, url: new URL(address.href) }
    : null;
}

export const targetOf = ({ host, port }: Origin): Target => ({ host, port });

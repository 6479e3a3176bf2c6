import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type PayloadKey, type PayloadKeys, payloadKey, payloadKeys } from '../../../adapters/payloads/keys.ts';
import type { Config } from '../../../config.ts';
import { explainFileError, HomeError, keepSecret } from './home.ts';

/** The file has a key in each line (64 hex digits), newest first. */
const FILE = 'payload-keys';

type Settings = Pick<Config, 'FETCH_HOME' | 'FETCH_PAYLOAD_KEYS'>;

/** The keys of the settings, then those of the home. */
export const readPayloadKeys = ({ FETCH_HOME: home, FETCH_PAYLOAD_KEYS: setting }: Settings): PayloadKeys =>
  payloadKeys(setting, keptKeys(home));

/**
 * Makes the first key of a home whose instance brings its own Temporal server. True when it did. A server that others
 * use needs the same keys on every machine, which only a person can bring there.
 */
export function makePayloadKey(config: Settings & Pick<Config, 'TEMPORAL_ADDRESS'>): boolean {
  if (
    config.FETCH_PAYLOAD_KEYS !== undefined ||
    config.TEMPORAL_ADDRESS !== undefined ||
    existsSync(join(config.FETCH_HOME, FILE))
  )
    return false;
  keepSecret(config.FETCH_HOME, FILE, newKey);
  return true;
}

/** Puts a new key before the others. It encrypts from the next start on. */
export function rotatePayloadKey(home: string): PayloadKey {
  const hex = newKey();
  const file = join(home, FILE);
  try {
    writeFileSync(`${file}.new`, `${[hex, ...keptKeys(home)].join('\n')}\n`, { mode: 0o600 });
    renameSync(`${file}.new`, file);
  } catch (error) {
    throw explainFileError(home, error);
  }
  return payloadKey(hex);
}

const newKey = (): string => randomBytes(32).toString('hex');

function keptKeys(home: string): string[] {
  const file = join(home, FILE);
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8')
    .split('\n')
    .map((line) => line.trim());
  const keys = lines.filter((line) => line !== '');
  const wrong = lines.findIndex((line) => line !== '' && !/^[0-9a-fA-F]{64}$/.test(line));
  if (wrong >= 0 || keys.length === 0)
    throw new HomeError(
      `${file} ${wrong >= 0 ? `has no key of 64 hex digits in line ${wrong + 1}` : 'is empty'}. Restore it from a backup: it opens what Temporal has stored.`,
    );
  return keys;
}

import type { Config } from '../../config.ts';
import { forgetPayloadKeys, usedPayloadKeys } from '../../store/home/payload-keys.ts';
import { readPayloadKeys, rotatePayloadKey } from '../instance/home/payload-keys.ts';
import { withStore } from '../instance/servers/with-store.ts';

/** `fetch payload-keys`: the keys that encrypt what Temporal stores. No command shows a key itself. */

const write = (text: string): void => void process.stdout.write(`${text}\n`);

export const list = (config: Config, options: { json?: boolean }): Promise<void> =>
  withStore(config, 'fetch-payload-keys', async ({ db }) => {
    const { encrypts, known } = readPayloadKeys(config);
    const used = await usedPayloadKeys(db);
    const unused = [...known.keys()].filter((id) => !used.some((each) => each.id === id));
    if (options.json) {
      const stateOf = (id: string) => (encrypts?.id === id ? 'encrypts' : known.has(id) ? 'decrypts' : 'missing');
      const keys = [
        ...used.map(({ id, first_used_at, used_at }) => ({ id, firstUsedAt: first_used_at, usedAt: used_at })),
        ...unused.map((id) => ({ id, firstUsedAt: null, usedAt: null })),
      ];
      return write(
        JSON.stringify(
          keys.map((key) => ({ ...key, state: stateOf(key.id) })),
          null,
          2,
        ),
      );
    }
    for (const { id, first_used_at, used_at } of used)
      write(
        `${id}  ${encrypts?.id === id ? 'encrypts' : known.has(id) ? 'decrypts' : 'IS NOT HERE'}  since ${day(first_used_at)}, last start ${day(used_at)}`,
      );
    for (const id of unused)
      write(`${id}  ${encrypts?.id === id ? 'encrypts from the next start on' : 'not used yet'}`);
    if (!encrypts) write('Payloads are not encrypted.');
  });

export async function rotate(config: Config): Promise<void> {
  if (config.FETCH_PAYLOAD_KEYS !== undefined)
    throw new Error(
      'The keys come from FETCH_PAYLOAD_KEYS: put the new one there, last on every machine first, then first on every machine. docs/running.md says why.',
    );
  const { id } = rotatePayloadKey(config.FETCH_HOME);
  write(
    `The new key ${id} is in ${config.FETCH_HOME}/payload-keys and encrypts from the next start on. Keep the old ones in the file: they open what is stored.`,
  );
}

export const forget = (config: Config, id: string): Promise<void> =>
  withStore(config, 'fetch-payload-keys', async ({ db }) => {
    if (!(await forgetPayloadKeys(db, id)))
      throw new Error(`No key ${id} has encrypted anything here. fetch payload-keys list shows those that have.`);
    write(`Roles start without the key ${id} now. They cannot read what it has encrypted.`);
  });

const day = (date: Date): string => date.toISOString().slice(0, 10);
